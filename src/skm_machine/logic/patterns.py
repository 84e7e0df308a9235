"""The 22 robotic mission patterns: each as a formula, and with its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from skm_machine.logic.formula import Formula, conjunction, negation

# The 22 robotic mission patterns as formulas.
#
# After Menghi, Tsigkanos, Pelliccione, Ghezzi and Berger, "Specification Patterns for Robotic
# Missions" (IEEE Transactions on Software Engineering, 2021). A place is a Boolean formula; each
# function returns the conjuncts of its pattern, so that the pattern can be recognised from them again.


Places = Sequence[Formula]
Conjuncts = list[Formula]
DriveConfig = Callable[..., Conjuncts]


def eventually(formula: Formula) -> Formula:
    """Return `F formula`."""
    return Formula("F", (formula,))


def always(formula: Formula) -> Formula:
    """Return `G formula`."""
    return Formula("G", (formula,))


def following(formula: Formula) -> Formula:
    """Return `X formula`."""
    return Formula("X", (formula,))


def until(left: Formula, right: Formula) -> Formula:
    """Return `left U right`."""
    return Formula("U", (left, right))


def implies(left: Formula, right: Formula) -> Formula:
    """Return `left -> right`."""
    return Formula("->", (left, right))


def chain(places: Places, end: Formula | None = None) -> Formula:
    """Return F(l1 & F(l2 & … F ln)): one after the other; after the last of them `end` holds."""
    last = places[-1] if end is None else conjunction(places[-1], end)
    formula = eventually(last)
    for place in reversed(places[:-1]):
        formula = eventually(conjunction(place, formula))
    return formula


def _pairs(places: Places, around: bool = False) -> list[tuple[Formula, Formula]]:
    """Return each place with the next one; around: the last with the first, too."""
    pairs = list(pairwise(places))
    return [*pairs, (places[-1], places[0])] if around and len(places) > 1 else pairs


# Where to go --------------------------------------------------------------------------------------


def visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """Each place, in any order."""
    return [eventually(place if end is None else conjunction(place, end)) for place in places]


def sequenced_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """One place after the other, whatever is visited in between."""
    return [chain(places, end)]


def ordered_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """One place after the other, and none before the one that it follows."""
    before = [until(negation(second), first) for first, second in _pairs(places)]
    return [chain(places, end), *before]


def strict_ordered_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """As ordered, and no place twice before the next one."""
    once = [
        until(negation(first), conjunction(first, following(until(negation(first), second))))
        for first, second in _pairs(places)
    ]
    return [*ordered_visit(places, end), *once]


def fair_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """Each place, and none again before the next one."""
    return [*visit(places, end), *_in_turns(places, "W")]


def patrol(places: Places) -> Conjuncts:
    """Each place again and again, in any order."""
    return [always(eventually(place)) for place in places]


def sequenced_patrol(places: Places) -> Conjuncts:
    """One place after the other, again and again."""
    return [always(chain(places))]


def ordered_patrol(places: Places) -> Conjuncts:
    """One place after the other, again and again, and none before the one that it follows."""
    before = [until(negation(second), first) for first, second in _pairs(places)]
    again = [
        always(implies(second, following(until(negation(second), first))))
        for first, second in _pairs(places, around=True)
    ]
    return [always(chain(places)), *before, *again]


def strict_ordered_patrol(places: Places) -> Conjuncts:
    """As ordered, and no place twice before the next one."""
    return [*ordered_patrol(places), *_in_turns(places, "U")]


def fair_patrol(places: Places) -> Conjuncts:
    """Each place again and again, and none again before the next one."""
    return [*patrol(places), *_in_turns(places, "W")]


def _in_turns(places: Places, operator: str) -> Conjuncts:
    return [turn(first, second, operator) for first, second in _pairs(places, around=True)]


def turn(first: Formula, second: Formula, operator: str) -> Formula:
    """Return that after each visit of `first`, `second` comes before it again (or never, by W)."""
    return always(implies(first, following(Formula(operator, (negation(first), second)))))


# What to avoid ------------------------------------------------------------------------------------


def past_avoidance(place: Formula, condition: Formula) -> Conjuncts:
    """Not there until the condition holds, which it will."""
    return [until(negation(place), condition)]


def global_avoidance(place: Formula) -> Conjuncts:
    """Never there."""
    return [always(negation(place))]


def future_avoidance(place: Formula, condition: Formula) -> Conjuncts:
    """Not there any more once the condition holds."""
    return [always(implies(condition, always(negation(place))))]


def at_most(place: Formula, times: int) -> Conjuncts:
    """There in at most so many steps (upper restricted avoidance)."""
    return [negation(_often(place, times + 1))]


def at_least(place: Formula, times: int) -> Conjuncts:
    """There in so many steps or more (lower restricted avoidance)."""
    return [_often(place, times)]


def exactly(place: Formula, times: int) -> Conjuncts:
    """There in just so many steps (exact restricted avoidance)."""
    if not times:
        return [always(negation(place))]
    formula = until(negation(place), conjunction(place, negation(following(eventually(place)))))
    for _ in range(times - 1):
        formula = until(negation(place), conjunction(place, following(formula)))
    return [formula]


def _often(place: Formula, times: int) -> Formula:
    formula = eventually(place)
    for _ in range(times - 1):
        formula = eventually(conjunction(place, following(formula)))
    return formula


# How to react -------------------------------------------------------------------------------------


def instantaneous_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """Whenever the cause holds, the effect does."""
    return [always(implies(cause, effect))]


def delayed_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """After each cause, some time, the effect."""
    return [always(implies(cause, eventually(effect)))]


def prompt_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """In the step after each cause, the effect."""
    return [always(implies(cause, following(effect)))]


def bound_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """The effect whenever the cause holds, and only then."""
    return [always(Formula("<->", (cause, effect)))]


def bound_delay(cause: Formula, effect: Formula) -> Conjuncts:
    """The effect in the step after each cause, and only then."""
    return [always(Formula("<->", (cause, following(effect))))]


def wait(place: Formula, condition: Formula) -> Conjuncts:
    """Stay there until the condition holds, which it will."""
    return [until(place, condition)]


VISITS: dict[str, DriveConfig] = {
    "in any order": visit,
    "in sequence": sequenced_visit,
    "in order": ordered_visit,
    "in strict order": strict_ordered_visit,
    "fairly": fair_visit,
}
"""Ways to visit places, by the words for them."""

PATROLS: dict[str, DriveConfig] = {
    "in any order": patrol,
    "in sequence": sequenced_patrol,
    "in order": ordered_patrol,
    "in strict order": strict_ordered_patrol,
    "fairly": fair_patrol,
}

COUNTS: dict[str, DriveConfig] = {
    "at most": at_most,
    "at least": at_least,
    "exactly": exactly,
}

REACTIONS: dict[tuple[str, str], DriveConfig] = {
    ("whenever", "at once"): instantaneous_reaction,
    ("whenever", ""): delayed_reaction,
    ("whenever", "in the next step"): prompt_reaction,
    ("exactly when", "at once"): bound_reaction,
    ("exactly when", "in the next step"): bound_delay,
}
"""Reactions, by how they begin and end."""


# The 22 mission patterns, each with its words and its formula.


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
