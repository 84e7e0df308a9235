"""Deterministic, complete automata on finite traces, with symbolic edges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from skm_machine.automata.decision import DecisionTable
from skm_machine.logic.syntax import Formula


@dataclass(frozen=True)
class AutomatonEdge:
    """An edge: from `source` to `target` on every label set that satisfies the Boolean `label`."""

    source: int
    target: int
    label: Formula


@dataclass(frozen=True, eq=False)
class Automaton:
    """A deterministic, complete finite automaton; state 0 is the initial one.

    The edges that leave a state exclude each other and cover every label set, one edge per target.
    """

    table: DecisionTable
    """The next state for each state and label set."""

    accepting: frozenset[int]

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that the edges may read."""
        return self.table.propositions

    @property
    def num_states(self) -> int:
        """The number of states, dead ones included."""
        return len(self.table)

    @property
    def initial(self) -> int:
        """The initial state."""
        return 0

    @cached_property
    def transitions(self) -> tuple[AutomatonEdge, ...]:
        """All edges, by source and then by target."""
        return tuple(
            AutomatonEdge(source, target, label)
            for source in range(self.num_states)
            for target, label in self.table.edges(source).items()
        )

    def step(self, state: int, labels: Collection[str]) -> int:
        """Return the state after reading one label set."""
        return self.table.outcome(state, labels)

    def run(self, trace: Sequence[Collection[str]]) -> list[int]:
        """Return the state after each label set of `trace`."""
        states, state = [], self.initial
        for labels in trace:
            state = self.step(state, labels)
            states.append(state)
        return states

    def accepts(self, trace: Sequence[Collection[str]]) -> bool:
        """Tell whether the trace is accepted; the empty trace never is."""
        return bool(trace) and self.run(trace)[-1] in self.accepting

    @cached_property
    def dead(self) -> frozenset[int]:
        """The states from which no continuation is accepted."""
        return frozenset(range(self.num_states)) - self._reaching(self.accepting)

    @cached_property
    def settled(self) -> frozenset[int]:
        """The accepting states that every continuation keeps accepting."""
        states = frozenset(range(self.num_states))
        return states - self._reaching(states - self.accepting)

    def _reaching(self, targets: frozenset[int]) -> frozenset[int]:
        return targets | self.table.reaching(targets)
