"""What of a machine is drawn: all of it, what can happen in a world, or what is near to a state.

In a world that shows some label sets only, edges that none of them takes are left out, and so are states
that nothing leads to; labels say no more than what tells these label sets apart. Large machines are
folded: the way so far, the present state with what can happen next, and the best way on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from skm_machine.machine_values import optimal_values, transition_value
from skm_machine.possible import Shown, possible_label, possible_outcomes
from skm_machine.reward_machine import Edge, Outcome, RewardMachine

MOST_BEFORE: Final = 4
MOST_NEXT: Final = 6
MOST_AHEAD: Final = 8
"""States that a folded picture shows: of the way so far, next, and of the best way on."""
GAMMA: Final = 0.9


@dataclass(frozen=True)
class DrawnMachine:
    """States and edges to draw; states are numbered from 0, in the order of the machine's."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """What each state is called in the machine."""
    initial: int
    """-1 if it is not shown."""
    terminal: frozenset[int]
    failure: frozenset[int]
    edges: tuple[Edge, ...]
    promise_edges: tuple[Edge, ...] = ()
    hidden: dict[int, int] = field(default_factory=dict)
    """How many edges of a state lead to what is not shown."""

    @property
    def num_states(self) -> int:
        """How many are shown."""
        return len(self.names)


def whole_machine(machine: RewardMachine) -> DrawnMachine:
    """Return all of a machine."""
    return DrawnMachine(
        machine.names,
        tuple(range(machine.num_states)),
        machine.initial,
        machine.terminal,
        machine.failure,
        machine.edges,
        machine.promise_edges,
    )


class MachineParts:
    """A machine in a world that shows some label sets only, or in any world."""

    def __init__(
        self, machine: RewardMachine, shown: Shown | Collection[frozenset[str]] = ()
    ) -> None:
        """`shown`: the label sets that can show, in each state or in all; (): any."""
        self.machine = machine
        self._shown = shown
        self._outcomes: dict[int, list[Outcome]] = {}

    def outcomes(self, state: int) -> list[Outcome]:
        """Return what can happen in a state; nothing where the mission has ended."""
        if state not in self._outcomes:
            machine = self.machine
            found: list[Outcome] = []
            if state not in machine.terminal and state not in machine.failure:
                found = (
                    possible_outcomes(machine, state, {state: self._sets(state)})
                    if self._shown
                    else machine.successors(state)
                )
            self._outcomes[state] = found
        return self._outcomes[state]

    def _sets(self, state: int) -> Collection[frozenset[str]]:
        """Return the label sets that can show in a state."""
        return self._shown.get(state, ()) if isinstance(self._shown, Mapping) else self._shown

    @cached_property
    def reachable(self) -> list[int]:
        """The states that anything leads to."""
        found = [self.machine.initial]
        known = set(found)
        for state in found:
            promises = self.machine.promises(state)
            if isinstance(self._shown, Mapping) and self._shown:
                promises = tuple(promise for promise in promises if promise in self._shown)
            ways = [*(o.target for o in self.outcomes(state)), *promises]
            fresh = sorted(set(ways) - known)
            known.update(fresh)
            found += fresh
        return sorted(found)

    def whole(self) -> DrawnMachine:
        """Return all that can happen."""
        return self._part(self.reachable)

    def around(self, state: int, way: Sequence[int]) -> DrawnMachine:
        """Return what is near to a state, to which `way` led."""
        kept = {state, *list(dict.fromkeys(reversed(way)))[:MOST_BEFORE]}
        ranked = sorted(self.outcomes(state), key=lambda outcome: -self._worth(state, outcome))
        targets = [outcome.target for outcome in ranked if outcome.target != state]
        kept.update(list(dict.fromkeys(targets))[:MOST_NEXT])
        ahead = state
        for _ in range(MOST_AHEAD):
            ways = [outcome for outcome in self.outcomes(ahead) if outcome.target != ahead]
            if not ways:
                break
            ahead = max(ways, key=lambda outcome: self._worth(ahead, outcome)).target
            kept.add(ahead)
        kept.update(self.machine.promises(state))
        return self._part(sorted(kept))

    @cached_property
    def _values(self) -> tuple[float, ...]:
        return optimal_values(self.machine, GAMMA)

    def _worth(self, state: int, outcome: Outcome) -> float:
        return transition_value(self.machine, state, outcome, self._values, GAMMA)

    def _part(self, states: Sequence[int]) -> DrawnMachine:
        machine = self.machine
        number = {state: index for index, state in enumerate(states)}
        edges, hidden = [], {}
        for state in states:
            shown = [outcome for outcome in self.outcomes(state) if outcome.target in number]
            left_out = len(self.outcomes(state)) - len(shown)
            if left_out:
                hidden[number[state]] = left_out
            for outcome in shown:
                label = (
                    possible_label(machine, state, [outcome], self._sets(state))
                    if self._shown
                    else machine.label(state, [outcome])
                )
                edges.append(Edge(number[state], number[outcome.target], label, outcome.reward))
        return DrawnMachine(
            tuple(machine.names[state] for state in states),
            tuple(states),
            number.get(machine.initial, -1),
            frozenset(number[state] for state in states if state in machine.terminal),
            frozenset(number[state] for state in states if state in machine.failure),
            tuple(edges),
            tuple(
                Edge(number[edge.source], number[edge.target], edge.label, 0.0, promise=True)
                for edge in machine.promise_edges
                if edge.source in number and edge.target in number
            ),
            hidden,
        )
