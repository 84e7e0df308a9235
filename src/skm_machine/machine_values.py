"""What the states and transitions of a reward machine are worth, exactly: the values of Algorithm 2.

The paper iterates V(u) = max over σ of δ_r(u, σ) + γ · V(δ_u(u, σ)). Here choices are improved until
none can be, and the value of choices is a sum, so that the values are those to which the paper's
iteration converges. Only diagrams are walked, never all transitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from skm_machine.automata.extremes import Extremes, values_of_choices
from skm_machine.reward_machine import Outcome, RewardMachine

TOLERANCE: Final = 1e-9
"""Values that differ by less than this share are a tie: a share, since γ^k is small where k is large."""
LEAST: Final = math.ulp(0.0)
"""What is worth less than any number is worth this: it must not be taken for what is worth nothing."""


def optimal_values(machine: RewardMachine, gamma: float) -> tuple[float, ...]:
    """Return V(u) for each state, by policy iteration from the fewest steps to a reward."""
    targets = [outcome.target for outcome in machine.outcomes]
    rewards = [outcome.reward for outcome in machine.outcomes]
    choices = _nearest_rewards(machine)
    values = values_of_choices(choices, targets, rewards, gamma)
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    improved = True
    while improved:
        improved = False
        worth = Worth(machine, tuple(values), gamma)
        for state in running:
            best, now = worth.of(state), values[state]
            if best > now + max(TOLERANCE * (1 - gamma) * abs(now), LEAST):
                choices[state] = worth.choice(state)
                improved = True
        values = values_of_choices(choices, targets, rewards, gamma)
    return tuple(values)


def _nearest_rewards(machine: RewardMachine) -> list[int]:
    """Return, for each state, the outcome to begin with on the shortest way to a reward; −1: none.

    Breadth-first and backwards on the diagrams, each part of which is walked once. Machines with
    promises begin with no choice: what may be counted there depends on the promise.
    """
    choices = [-1] * machine.num_states
    if machine.promised:
        return choices
    layout, above = machine.table.layout, _parents(machine)
    states_at: dict[int, list[int]] = {}
    for state, root in enumerate(layout.roots):
        if state not in machine.terminal:
            states_at.setdefault(root, []).append(state)
    leaves_to: dict[int, list[int]] = {}
    level: list[tuple[int, int]] = []  # a part of the diagrams, and the leaf below it that counts
    for leaf, outcome in enumerate(layout.leaves):
        leaves_to.setdefault(machine.outcomes[outcome].target, []).append(leaf)
        if machine.outcomes[outcome].reward > 0:
            level.append((leaf, outcome))
    seen = {part for part, _ in level}
    while level:
        later: list[tuple[int, int]] = []
        for part, outcome in level:  # grows while it is walked
            for state in states_at.get(part, ()):
                choices[state] = outcome
                for leaf in leaves_to.get(state, ()):
                    if leaf not in seen:
                        seen.add(leaf)
                        later.append((leaf, layout.leaves[leaf]))
            for parent in above[part]:
                if parent not in seen:
                    seen.add(parent)
                    level.append((parent, outcome))
        level = later
    return choices


def _parents(machine: RewardMachine) -> list[list[int]]:
    """Return the nodes right above each leaf and node of the machine's diagrams."""
    layout = machine.table.layout
    first = len(layout.leaves)
    above: list[list[int]] = [[] for _ in range(first + len(layout.nodes))]
    for index, children in enumerate(layout.nodes):
        for child in children:
            above[child].append(first + index)
    return above


def transition_value(
    machine: RewardMachine, state: int, outcome: Outcome, values: Sequence[float], gamma: float
) -> float:
    """Return Q(u, σ) = δ_r(u, σ) + γ · V(δ_u(u, σ)); breaking a promise is worth nothing."""
    if not machine.keeps(state, outcome):
        return 0.0
    return outcome.reward + gamma * values[outcome.target]


class Worth:
    """Q(u, σ) of each transition, for given values of the states: the best, and those worth nothing.

    A state's transitions are also those under a promise that can be made there; breaking a promise is
    worth nothing.
    """

    def __init__(self, machine: RewardMachine, values: tuple[float, ...], gamma: float) -> None:
        self.machine = machine
        self.values = values
        possible = range(machine.num_states)  # outcomes that no state has may lead nowhere
        lost = machine.terminal | machine.failure
        self._worth = [
            (outcome.reward + gamma * values[outcome.target])
            or (0.0 if outcome.target in lost else LEAST)
            if outcome.target in possible
            else 0.0
            for outcome in machine.outcomes
        ]
        self._kept_worth = [
            value if outcome.target in machine.promised else 0.0
            for value, outcome in zip(self._worth, machine.outcomes, strict=True)
        ]
        self._plain = Extremes(machine.table, self._worth)
        self._kept = Extremes(machine.table, self._kept_worth) if machine.promised else self._plain

    @cached_property
    def _losses(self) -> tuple[Extremes, Extremes]:
        """The same upside down, in states without and with a promise."""
        plain, kept = ([-value for value in worth] for worth in (self._worth, self._kept_worth))
        return Extremes(self.machine.table, plain), Extremes(self.machine.table, kept)

    def _ways(self, state: int) -> tuple[int, ...]:
        return (state, *self.machine.promises(state))

    def _gains(self, way: int) -> Extremes:
        return self._kept if way in self.machine.promised else self._plain

    def of(self, state: int) -> float:
        """Return the greatest value of a transition from `state`."""
        return max(self._gains(way).best(way) for way in self._ways(state))

    def choice(self, state: int) -> int:
        """Return the index of an outcome of that value."""
        way = max(self._ways(state), key=lambda way: self._gains(way).best(way))
        return self._gains(way).best_outcome(way)

    def best(self, state: int) -> tuple[Outcome, ...]:
        """Return the outcomes of the greatest value: several, if they tie."""
        best = self.of(state)
        least = best - TOLERANCE * best
        found = ((way, self._gains(way).outcomes(way, least)) for way in self._ways(state))
        return self._outcomes(state, found)

    def nothing(self, state: int) -> tuple[Outcome, ...]:
        """Return the outcomes from which no reward can be had any more."""
        found = (
            (way, self._losses[way in self.machine.promised].outcomes(way, 0.0))
            for way in self._ways(state)
        )
        return self._outcomes(state, found)

    def _outcomes(self, state: int, found: Iterable[tuple[int, list[int]]]) -> tuple[Outcome, ...]:
        """Return the outcomes by their indices, but for those that break a promise just made."""
        outcomes = [
            (way, self.machine.outcomes[index]) for way, indices in found for index in indices
        ]
        possible = [o for way, o in outcomes if way == state or self.machine.keeps(way, o)]
        return tuple(dict.fromkeys(possible))
