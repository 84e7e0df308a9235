"""Missions drawn at random over what a domain shows: sequences, choices, and what is avoided.

Four kinds, in turn:

- a sequence, `F(a & X F(b & X F c))`;
- a choice at each step, `F((a | b) & X F c)`;
- a sequence before whose first step something is avoided, `(!x U a) & F(a & X F b)`;
- a sequence with something avoided always, `F(a & X F b) & G !x`.

a, b, c are conditions on the labels that some state satisfies; those avoided are the domain's
constraints where it has some. Which of them can be done is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.mission import Mission, compile_mission

LONGEST: Final = 4
ATTEMPTS: Final = 60
"""Missions drawn for each that is wanted, before it is given up."""


def random_missions(
    label_sets: Sequence[frozenset[str]],
    propositions: Sequence[str],
    constraints: Sequence[str],
    count: int,
    seed: int,
    feasible: Callable[[Mission], bool],
) -> list[Mission]:
    """Return that many different missions that are feasible, the same for the same seed."""
    rng = np.random.default_rng(seed)
    shown = sorted((labels for labels in label_sets if labels), key=sorted)
    if not shown:
        raise SkmError("no state of the domain shows a label: there are no missions to draw.")
    drawn: dict[str, Mission] = {}
    tried: set[str] = set()
    for attempt in range(ATTEMPTS * count):
        text = _formula(shown, constraints, len(drawn) + attempt // ATTEMPTS, rng)
        if text in tried:
            continue
        tried.add(text)
        mission = compile_mission(text, propositions=tuple(propositions))
        if feasible(mission):
            drawn[text] = mission
        if len(drawn) == count:
            return list(drawn.values())
    raise SkmError(
        f"only {len(drawn)} of {count} missions that were drawn can be done in this domain."
    )


def _formula(
    shown: list[frozenset[str]], constraints: Sequence[str], kind: int, rng: np.random.Generator
) -> str:
    """Return a formula of one of the four kinds."""
    kind %= 4
    names = sorted({name for labels in shown for name in labels})
    avoidable = [name for name in constraints if name in names] or names
    avoided = str(rng.choice(avoidable))
    targets = shown
    if kind in (2, 3):
        targets = [labels for labels in shown if avoided not in labels] or shown
    length = int(rng.integers(1 if kind else 2, LONGEST + 1))
    steps = [_condition(targets, rng) for _ in range(length)]
    if kind == 1:
        steps = [_choice(steps[0], targets, rng), *steps[1:]]
    sequence = _sequence(steps)
    if kind == 2:
        return f"(!{avoided} U {_grouped(steps[0])}) & {sequence}"
    return f"{sequence} & G !{avoided}" if kind == 3 else sequence


def _condition(targets: list[frozenset[str]], rng: np.random.Generator) -> str:
    """Return a condition that some label set satisfies: mostly a name, now and then two."""
    labels = sorted(targets[int(rng.integers(len(targets)))])
    name = str(rng.choice(labels))
    others = [other for other in labels if other != name]
    if others and rng.random() < 0.5:
        return f"{name} & {rng.choice(others)}"
    absent = sorted({n for found in targets for n in found if name in found} - set(labels))
    if absent and rng.random() < 0.3:
        return f"{name} & !{rng.choice(absent)}"
    return name


def _choice(first: str, targets: list[frozenset[str]], rng: np.random.Generator) -> str:
    """Return a condition, or another one."""
    other = next((c for c in (_condition(targets, rng) for _ in range(8)) if c != first), first)
    return first if other == first else f"{_grouped(first)} | {_grouped(other)}"


def _sequence(steps: list[str]) -> str:
    formula = f"F {_grouped(steps[-1])}"
    for step in reversed(steps[:-1]):
        formula = f"F({_grouped(step)} & X {formula})"
    return formula


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text
