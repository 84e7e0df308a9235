"""What the states and transitions of a reward machine are worth, exactly: the values of Algorithm 2.

The paper iterates V(u) = max over σ of δ_r(u, σ) + γ · V(δ_u(u, σ)). Here choices are improved until
none can be, and the value of choices is a sum, so that the values are those to which the paper's
iteration converges. Only diagrams are walked, never all transitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from skm_machine.automata.extremes import Extremes, values_of_choices
from skm_machine.reward_machine import Outcome, RewardMachine

TOLERANCE: Final = 1e-9
"""Values closer than this are a tie."""


def optimal_values(machine: RewardMachine, gamma: float) -> tuple[float, ...]:
    """Return V(u) for each state."""
    targets = [outcome.target for outcome in machine.outcomes]
    rewards = [outcome.reward for outcome in machine.outcomes]
    choices = [-1] * machine.num_states
    values = [0.0] * machine.num_states
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    improved = True
    while improved:
        improved = False
        worth = Worth(machine, tuple(values), gamma)
        for state in running:
            if worth.of(state) > values[state] + TOLERANCE * (1 - gamma):
                choices[state] = worth.choice(state)
                improved = True
        values = values_of_choices(choices, targets, rewards, gamma)
    return tuple(values)


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
        self._worth = [
            outcome.reward + gamma * values[outcome.target] if outcome.target in possible else 0.0
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
