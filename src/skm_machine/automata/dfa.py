"""Deterministic, complete automata on finite traces, with symbolic edges; their minimisation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from skm_machine.automata.mtbdd import DecisionTable
from skm_machine.logic.formula import Formula

# Deterministic, complete automata on finite traces, with symbolic edges.


@dataclass(frozen=True)
class AutomatonEdge:
    """An edge: from `source` to `target` on every label set that satisfies the Boolean `label`."""

    source: int
    """The state that it leaves."""
    target: int
    """The state that it leads to."""
    label: Formula
    """What has to hold for it to be taken."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """A deterministic, complete finite automaton; state 0 is the initial one.

    The edges that leave a state exclude each other and cover every label set, one edge per target.
    """

    table: DecisionTable
    """The next state for each state and label set."""

    accepting: frozenset[int]
    """The states in which a trace may end."""

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


# The minimal automaton of a language, by partition refinement on decision diagrams (Hopcroft).


def minimise(table: DecisionTable, initial: int, accepting: Collection[int]) -> Automaton:
    """Merge the states that accept the same continuations; number them breadth first from 0."""
    states = table.reachable(initial)
    block = _blocks(table, states, accepting)
    number: dict[int, int] = {}
    representatives = []
    for state in states:
        if block[state] not in number:
            number[block[state]] = len(number)
            representatives.append(state)
    merged = table.mapped(representatives, lambda state: number[block[state]])
    return Automaton(merged, frozenset(number[block[s]] for s in states if s in accepting))


def _blocks(
    table: DecisionTable, states: Sequence[int], accepting: Collection[int]
) -> dict[int, int]:
    """Return the number of the block of each state: those in one block accept the same continuations.

    Only states that lead into a block which was just split off are looked at again, and of the parts of
    a block the largest keeps its number: a chain of n states takes n steps, not n².
    """
    block = {state: int(state in accepting) for state in states}
    members: list[set[int]] = [set(), set()]
    for state in states:
        members[block[state]].add(state)
    known = frozenset(states)
    unsettled: Collection[int] = states
    while unsettled:
        rows = table.mapped(unsettled, block.__getitem__)
        parts: dict[int, dict[int, list[int]]] = {}
        for index, state in enumerate(unsettled):
            parts.setdefault(block[state], {}).setdefault(rows.same_as(index), []).append(state)
        moved: list[int] = []
        for number, found in parts.items():
            rest = members[number].difference(*found.values())
            sizes = sorted(found.values(), key=len)
            leaving = sizes if len(rest) >= len(sizes[-1]) else [list(rest), *sizes[:-1]]
            for part in filter(None, leaving):
                members[number].difference_update(part)
                block.update(dict.fromkeys(part, len(members)))
                members.append(set(part))
                moved += part
        unsettled = sorted(table.sources(moved) & known)
    return block
