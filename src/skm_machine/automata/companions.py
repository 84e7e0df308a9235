"""Finer structures than residuals alone: states that keep something besides, a *companion*.

Whether marks on the edges of a finer structure tell what is accepted is decided by `marking`, so that
companions need no proof: they only have to be good guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Final

from skm_machine.automata.acceptors import Acceptor, Debt
from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.limits import LimitReachedError
from skm_machine.automata.marking import Marking, Structure
from skm_machine.automata.residuals import Residuals

MAX_STATES: Final = 300
"""Finer structures with more states are not tried."""


@dataclass(frozen=True)
class Companion:
    """What is kept besides a state: how it starts there, and what becomes of it (None: start anew)."""

    start: Callable[[int], Hashable]
    step: Callable[[Hashable], list[tuple[int, Hashable]]]


def waiting(marking: Marking, structure: Structure) -> Companion:
    """Return the companion of what a residual waits for, if all that may last for ever does.

    Once that has come, it is taken from the residual of that moment, as at a breakpoint: made for
    recurrence formulas, in which no F, U or M has a G, R or W below it.
    """
    residuals = marking.residuals

    def step(owed: Hashable) -> list[tuple[int, Hashable]]:
        edges = residuals.edges(owed) if isinstance(owed, int) else []
        return [(label, after if after > ONE else None) for label, after in edges]

    def start(state: int) -> int:
        return marking.promises.if_all_lasts(structure.functions[state])

    return Companion(start, step)


def following(marking: Marking, structure: Structure, acceptor: Acceptor) -> Companion:
    """Return the companion that follows the promises of one acceptor."""

    def start(state: int) -> Debt | None:
        found = marking.starts(structure.functions[state])
        return next((debt for other, debt in found if other is acceptor), None)

    def step(debt: Hashable) -> list[tuple[int, Hashable]]:
        edges = acceptor.edges(debt) if isinstance(debt, Debt) else []
        return [(label, after) for label, after, _ in edges]

    return Companion(start, step)


def accompanied(
    residuals: Residuals, structure: Structure, where: Collection[int], companion: Companion
) -> Structure:
    """Return the structure with a companion to each of the states in `where`."""
    diagrams = residuals.diagrams

    def start(state: int) -> Hashable:
        return companion.start(state) if state in where else None

    numbers = {(0, start(0)): 0}
    order = list(numbers)
    rows = []
    for state, kept in order:  # grows while it is walked
        residuals.limits.check(len(order))
        if len(order) > MAX_STATES:
            raise LimitReachedError(f"more than {MAX_STATES} states")
        row: dict[tuple[int, Hashable], int] = {}

        def add(
            target: int, after: Hashable, label: int, row: dict[tuple[int, Hashable], int]
        ) -> None:
            node = (target, start(target) if after is None else after)
            row[node] = diagrams.disjunction(row.get(node, ZERO), label)

        steps = companion.step(kept) if kept is not None else []
        for label, target in structure.rows[state]:
            rest = label
            for other, after in steps if target in where else []:
                add(target, after, diagrams.conjunction(label, other), row)
                rest = diagrams.conjunction(rest, diagrams.negation(other))
            add(target, None, rest, row)
        for node, label in row.items():
            if label != ZERO and node not in numbers:
                numbers[node] = len(order)
                order.append(node)
        rows.append([(label, numbers[node]) for node, label in row.items() if label != ZERO])
    return Structure([structure.functions[state] for state, _ in order], rows)
