"""Deterministic Büchi automata of promises: something co-safe now, and co-safe things at every step.

A state keeps what is still owed. What is owed for a bounded time only (`G(a -> X b)`) has merely to
stay possible. Every other part of the promise (`G F a`, `G(a -> F b)`) is waited for in turn: all that
it owes at some step must be paid before the turn passes on, and a step after which the turn has been
through all parts is marked. A run that is marked again and again pays every debt.
"""

from __future__ import annotations

from typing import NamedTuple

from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.promises import Promise
from skm_machine.automata.residuals import Residuals


class Debt(NamedTuple):
    """A state of an acceptor: what is owed."""

    safe: int
    """What must stay possible."""
    turn: int
    """Whose turn it is."""
    current: int
    """What must be paid before the turn passes on."""
    later: tuple[int, ...]
    """What each part owes besides."""


class Acceptor:
    """The automaton of one promise's part that holds at every step; a state may be entered anew."""

    def __init__(self, residuals: Residuals, always: frozenset[int]) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self.bounded = ONE
        self.parts: list[int] = []
        for function in sorted(always):
            if is_bounded(residuals, function):
                self.bounded = self.diagrams.conjunction(self.bounded, function)
            else:
                self.parts.append(function)
        self._edges: dict[Debt, list[tuple[int, Debt, bool]]] = {}

    def start(self, now: int) -> Debt | None:
        """Return the state that owes `now` and all that is promised; None if that is impossible."""
        safe, current = self.bounded, now
        if is_bounded(self.residuals, now):
            safe, current = self.diagrams.conjunction(safe, now), ONE
        elif not self.parts:
            return Debt(safe, 0, current, ()) if safe != ZERO else None
        if self.parts:
            current = self.diagrams.conjunction(current, self.parts[0])
        state = Debt(safe, 0, current, (ONE,) * len(self.parts))
        return None if ZERO in (safe, current) else state

    def edges(self, state: Debt) -> list[tuple[int, Debt, bool]]:
        """Return the edges of `state`: label, target, and whether it is marked; no edge is no run."""
        found = self._edges.get(state)
        if found is None:
            found = self._edges[state] = self._compute(state)
        return found

    def _compute(self, state: Debt) -> list[tuple[int, Debt, bool]]:
        residuals, diagrams = self.residuals, self.diagrams
        owed = [
            residuals.successor(diagrams.conjunction(later, part))
            for later, part in zip(state.later, self.parts, strict=True)
        ]
        roots = (residuals.successor(state.safe), residuals.successor(state.current), *owed)
        merged: dict[tuple[Debt, bool], int] = {}
        for leaves, label in residuals.split(roots).items():
            target = self._after(state.turn, *leaves)
            if target is not None:
                merged[target] = diagrams.disjunction(merged.get(target, ZERO), label)
        return [(label, target, marked) for (target, marked), label in merged.items()]

    def _after(self, turn: int, safe: int, current: int, *owed: int) -> tuple[Debt, bool] | None:
        """Return the state with what remains of each debt, and whether the turn went through."""
        diagrams = self.diagrams
        safe = diagrams.conjunction(safe, self.bounded)
        if ZERO in (safe, current, *owed):
            return None
        marked = current == ONE and not owed
        remaining = list(owed)
        while owed and current == ONE and not marked:
            turn += 1
            if turn == len(owed):
                turn, marked = 0, True
            current, remaining[turn] = remaining[turn], ONE
        if owed and current == ONE:
            current = self.parts[turn]
        everything = current
        for index, part in enumerate(self.parts):  # drop what the other debts imply
            if self.residuals.is_eventual(part) or diagrams.implies(everything, remaining[index]):
                remaining[index] = ONE
            everything = diagrams.conjunction(everything, remaining[index])
        return Debt(safe, turn, current, tuple(remaining)), marked


class Acceptors:
    """The acceptors of one translation, one for each set of things promised at every step."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self._acceptors: dict[frozenset[int], Acceptor] = {}

    def of(self, promise: Promise) -> tuple[Acceptor, Debt] | None:
        """Return the acceptor of a promise and its state to start in."""
        acceptor = self._acceptors.get(promise.always)
        if acceptor is None:
            acceptor = self._acceptors[promise.always] = Acceptor(self.residuals, promise.always)
        start = acceptor.start(promise.now)
        return None if start is None else (acceptor, start)


def is_bounded(residuals: Residuals, function: int) -> bool:
    """Tell whether `function` has no obligation but propositions and X of these."""
    seen, stack = set[int](), [function]
    while stack:
        node = stack.pop()
        if node > ONE and node not in seen:
            seen.add(node)
            operator, _, _ = residuals.obligation_below_next(residuals.diagrams.variable[node])
            if operator != "prop":
                return False
            stack += (residuals.diagrams.low[node], residuals.diagrams.high[node])
    return True
