"""The machine of a standing order: it goes in rounds.

A round is complete when every p of a recurrence `G F p` has been seen, in any order, and what else is
asked for has been accepted once more (`watch`). So a run satisfies the mission exactly if it completes
rounds for ever, without breaking a promise again and again.

**Promises.** Where the automaton that is watched jumps, the machine does: its states then hold both the
state without a promise and that under it. A step that breaks the promise leads back to the former, and
the round starts anew; nothing is lost but time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from skm_machine.automata.bdd import ZERO, Diagrams
from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.limits import Limits
from skm_machine.logic.syntax import Formula
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.watch import Credit, Watch

NO_PROMISE = -1


class _State(NamedTuple):
    watched: int
    promise: int
    """The state under a promise; `NO_PROMISE`."""
    seen: frozenset[int]
    """The recurrences seen in this round, by number; one number more for a marked move."""


class Rounds:
    """The product of what is watched with the recurrences seen in this round."""

    def __init__(
        self,
        recurrences: Sequence[Formula],
        watch: Watch,
        names: tuple[str, ...],
        limits: Limits,
    ) -> None:
        self.watch = watch
        self.names = names
        self.limits = limits
        self.diagrams = Diagrams(limits.check)
        self.variables = [names.index(name) for name in watch.table.propositions]
        self.recurrences = [self._function(p) for p in recurrences]
        self.mark = len(self.recurrences)
        self.outcomes: dict[Outcome, int] = {}
        self.states: list[_State | None] = []
        self.numbers: dict[_State | None, int] = {}
        self.rounds: dict[tuple[_State, bool, int], int] = {}
        self.conditions: dict[int, dict[int, int]] = {}

    def _function(self, formula: Formula) -> int:
        return self.diagrams.of_formula(
            formula, lambda atom: self.diagrams.literal(self.names.index(atom.name))
        )

    def machine(self) -> RewardMachine:
        """Explore the product from its initial state."""
        start = self.watch.initial
        self._number(None if start in self.watch.dead else self._state(start))
        roots, jumps = [], []
        for state in self.states:  # grows while it is walked
            roots.append(self._leaf(None) if state is None else self._root(state))
            jumps.append(() if state is None else self._jumps(state))
            self.limits.check(len(roots))
        numbered = list(enumerate(self.states))
        return RewardMachine(
            DecisionTable(self.names, self.diagrams, tuple(roots)),
            tuple(self.outcomes),
            0,
            frozenset(number for number, state in numbered if state is None),
            endless=True,
            jumps=tuple(jumps) if any(jumps) else (),
            promised=frozenset(n for n, state in numbered if state and state.promise >= 0),
            calm=frozenset(n for n, state in numbered if state and self._is_calm(state)),
        )

    def _is_calm(self, state: _State) -> bool:
        return state.watched in self.watch.calm

    def _state(
        self, watched: int, promise: int = NO_PROMISE, seen: frozenset[int] = frozenset()
    ) -> _State:
        """Return a product state; of states with the same future, the first."""
        same = self.watch.table.same_as
        if not self.watch.jumps:
            watched = same(watched)
        return _State(watched, promise if promise < 0 else same(promise), seen)

    def _number(self, state: _State | None) -> int:
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    def _leaf(self, state: _State | None, reward: bool = False) -> int:
        outcome = Outcome(self._number(state), float(reward))
        return self.diagrams.leaf(self.outcomes.setdefault(outcome, len(self.outcomes)))

    def _jumps(self, state: _State) -> tuple[int, ...]:
        """Return the states under a promise that may be made here; under one, the way out of it."""
        if state.promise >= 0:
            return (self._number(self._state(state.watched)),)
        found = self.watch.jumps_from(state.watched)
        return tuple(dict.fromkeys(self._number(self._state(state.watched, to)) for to in found))

    def _conditions(self, watched: int) -> dict[int, int]:
        """Return the function of each outcome of a state that is watched."""
        if watched not in self.conditions:
            table = self.watch.table
            self.conditions[watched] = {
                outcome: table.condition(watched, outcome, self.diagrams, self.variables)
                for outcome in table.outcomes(watched)
            }
        return self.conditions[watched]

    def _root(self, state: _State) -> int:
        """Return the diagram of one product state."""
        table = self.watch.table
        branches = {}
        for outcome in table.outcomes(state.watched):
            target = self.watch.target(outcome)
            if target is None:
                branches[outcome] = self._leaf(None)
            elif state.promise < 0:
                credit = self.watch.credits[state.watched, outcome]
                branches[outcome] = self._after(credit, target, NO_PROMISE, state.seen)
            else:
                where = self._conditions(state.watched)[outcome]
                branches[outcome] = self._under_promise(state, target, where)
        return table.grafted(state.watched, branches.__getitem__, self.diagrams, self.variables)

    def _under_promise(self, state: _State, target: int, where: int) -> int:
        """Return the diagram of what is under a promise, `where` what is without it goes to `target`."""
        branch = self._leaf(self._state(target))
        for outcome, condition in self._conditions(state.promise).items():
            kept = self.watch.target(outcome)
            if kept is not None and self.diagrams.conjunction(where, condition) != ZERO:
                credit = self.watch.credits[state.promise, outcome]
                after = self._after(credit, target, kept, state.seen)
                branch = self.diagrams.if_then_else(condition, after, branch)
        return branch

    def _after(self, credit: Credit, watched: int, promise: int, seen: frozenset[int]) -> int:
        """Return the diagram of a move with this credit, by which recurrences hold now."""
        if credit is Credit.NONE:
            return self._leaf(self._state(watched, promise))
        if credit is Credit.MARK:
            seen |= {self.mark}
        elif credit is Credit.ALWAYS:
            seen -= {self.mark}
        return self._round(self._state(watched, promise, seen), credit is Credit.ALWAYS, 0)

    def _round(self, state: _State, always: bool, index: int) -> int:
        """Return the diagram that adds to `seen` every recurrence from `index` on that holds now."""
        if index == self.mark:
            if len(state.seen) + always <= self.mark:
                return self._leaf(state)
            return self._leaf(self._state(state.watched, state.promise), reward=True)
        key = (state, always, index)
        if key not in self.rounds:
            more = state._replace(seen=state.seen | {index})
            self.rounds[key] = self.diagrams.if_then_else(
                self.recurrences[index],
                self._round(more, always, index + 1),
                self._round(state, always, index + 1),
            )
        return self.rounds[key]
