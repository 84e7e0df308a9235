"""The 22 mission patterns, each with its words and its formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Pattern:
    """A robotic mission pattern, as `skm patterns` lists it."""

    name: str
    group: str
    """What it is about: movement, avoidance or trigger."""
    meaning: str
    words: str
    formula: str
    """What the words say."""


def _group(group: str, *rows: tuple[str, str, str, str]) -> tuple[Pattern, ...]:
    return tuple(Pattern(name, group, *rest) for name, *rest in rows)


PATTERNS: Final = (
    *_group(
        "movement",
        (
            "visit",
            "each place, in any order",
            "visit A, B",
            "F A & F B",
        ),
        (
            "sequenced visit",
            "one place after the other, whatever comes in between",
            "visit A, B in sequence",
            "F(A & F B)",
        ),
        (
            "ordered visit",
            "one place after the other, none before the one that it follows",
            "visit A, B in order",
            "F(A & F B) & (!B U A)",
        ),
        (
            "strict ordered visit",
            "as ordered, and no place twice before the next one",
            "visit A, B in strict order",
            "F(A & F B) & (!B U A) & (!A U (A & X(!A U B)))",
        ),
        (
            "fair visit",
            "each place, none again before the next one",
            "visit A, B fairly",
            "F A & F B & G(A -> X(!A W B)) & G(B -> X(!B W A))",
        ),
        (
            "patrolling",
            "each place again and again, in any order",
            "patrol A, B",
            "G F A & G F B",
        ),
        (
            "sequenced patrolling",
            "one place after the other, again and again",
            "patrol A, B in sequence",
            "G F(A & F B)",
        ),
        (
            "ordered patrolling",
            "again and again, none before the one that it follows",
            "patrol A, B in order",
            "G F(A & F B) & (!B U A) & G(B -> X(!B U A)) & G(A -> X(!A U B))",
        ),
        (
            "strict ordered patrolling",
            "as ordered, and no place twice before the next one",
            "patrol A, B, C in strict order",
            "G F(A & F(B & F C)) & (!B U A) & (!C U B) & G(B -> X(!B U A)) & G(C -> X(!C U B))"
            " & G(A -> X(!A U C)) & G(A -> X(!A U B)) & G(B -> X(!B U C)) & G(C -> X(!C U A))",
        ),
        (
            "fair patrolling",
            "each place again and again, none again before the next one",
            "patrol A, B fairly",
            "G F A & G F B & G(A -> X(!A W B)) & G(B -> X(!B W A))",
        ),
    ),
    *_group(
        "avoidance",
        (
            "past avoidance",
            "not there until something holds, which it will",
            "avoid A until p",
            "!A U p",
        ),
        (
            "global avoidance",
            "never there",
            "never A",
            "G !A",
        ),
        (
            "future avoidance",
            "not there any more once something holds",
            "never A after p",
            "G(p -> G !A)",
        ),
        (
            "upper restricted avoidance",
            "there in at most so many steps",
            "visit A at most 2 times",
            "!F(A & X F(A & X F A))",
        ),
        (
            "lower restricted avoidance",
            "there in so many steps or more",
            "visit A at least 2 times",
            "F(A & X F A)",
        ),
        (
            "exact restricted avoidance",
            "there in just so many steps",
            "visit A exactly 2 times",
            "!A U (A & X(!A U (A & !X F A)))",
        ),
    ),
    *_group(
        "trigger",
        (
            "instantaneous reaction",
            "whenever the cause holds, the effect does",
            "whenever p do q at once",
            "G(p -> q)",
        ),
        (
            "delayed reaction",
            "after each cause, some time, the effect",
            "whenever p do q",
            "G(p -> F q)",
        ),
        (
            "prompt reaction",
            "in the step after each cause, the effect",
            "whenever p do q in the next step",
            "G(p -> X q)",
        ),
        (
            "bound reaction",
            "the effect whenever the cause holds, and only then",
            "exactly when p do q at once",
            "G(p <-> q)",
        ),
        (
            "bound delay",
            "the effect in the step after each cause, and only then",
            "exactly when p do q in the next step",
            "G(p <-> X q)",
        ),
        (
            "wait",
            "stay there until something holds, which it will",
            "wait at A until p",
            "A U p",
        ),
    ),
)
