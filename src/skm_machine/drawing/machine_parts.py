"""What of a machine is drawn: all of it, what can happen in a world, or what is near to a state.

In a world that shows some label sets only, edges that none of them takes are left out, and so are states
that nothing leads to; labels say no more than what tells these label sets apart. Large machines are
folded: the way so far, the present state with what can happen next, and the best way on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from skm_machine.logic.syntax import (
    TRUE,
    Formula,
    conjunction,
    disjunction,
    evaluate,
)
from skm_machine.machine_values import optimal_values, transition_value
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
    """A machine in a world that shows these label sets; in any world, if there are none."""

    def __init__(self, machine: RewardMachine, label_sets: Collection[frozenset[str]] = ()) -> None:
        self.machine = machine
        self._label_sets = sorted(label_sets, key=sorted)
        self._outcomes: dict[int, list[Outcome]] = {}

    def outcomes(self, state: int) -> list[Outcome]:
        """Return what can happen in a state; nothing where the mission has ended."""
        if state not in self._outcomes:
            machine = self.machine
            found: list[Outcome] = []
            if state not in machine.terminal and state not in machine.failure:
                found = machine.successors(state)
                if self._label_sets:
                    possible = {
                        o for shown in self._label_sets for o in machine.options(state, shown)
                    }
                    found = [outcome for outcome in found if outcome in possible]
            self._outcomes[state] = found
        return self._outcomes[state]

    @cached_property
    def reachable(self) -> list[int]:
        """The states that anything leads to."""
        found = [self.machine.initial]
        known = set(found)
        for state in found:
            ways = [*(o.target for o in self.outcomes(state)), *self.machine.promises(state)]
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
                label = self._shortened(machine.label(state, [outcome]))
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

    def _shortened(self, label: Formula) -> Formula:
        """Return a shorter formula that is true on the same of the label sets."""
        if not self._label_sets or label.operator not in ("&", "|"):
            return label
        wanted = [evaluate(label, shown) for shown in self._label_sets]
        operands = list(label.operands)
        join = conjunction if label.operator == "&" else disjunction

        def fits(parts: Sequence[Formula]) -> bool:
            formula = join(*parts)
            return [evaluate(formula, shown) for shown in self._label_sets] == wanted

        # What is false first: what must not hold is the less telling half.
        for operand in sorted(operands, key=lambda part: (part.operator != "!", str(part))):
            rest = [part for part in operands if part is not operand]
            if rest and fits(rest):
                operands = rest
        if label.operator == "|":
            operands = [self._shortened_part(part, operands, fits) for part in operands]
        return join(*operands) if operands else TRUE

    @staticmethod
    def _shortened_part(
        part: Formula, among: list[Formula], fits: Callable[[Sequence[Formula]], bool]
    ) -> Formula:
        """Return one of several alternatives with what is not needed left out of it."""
        if part.operator != "&":
            return part
        others = [other for other in among if other is not part]
        literals = list(part.operands)
        for literal in sorted(literals, key=lambda each: (each.operator != "!", str(each))):
            rest = [each for each in literals if each is not literal]
            if rest and fits([*others, conjunction(*rest)]):
                literals = rest
        return conjunction(*literals)
