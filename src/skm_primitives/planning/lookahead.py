"""Looking ahead from where the robot is: what a goal is worth, given where it leaves the next ones.

On average, what lies behind a goal is known from `GoalToGoal`. Primitives that also serve *onward*
values say it for the state at hand: which of two goals leaves the one after it nearer. So the goals of
the next few moves of the machine are planned together, over all sequences of label sets:

    w(l₁ l₂ l₃) = r₁ + γ · onward(l₁, l₂) · (r₂ + γ · onward(l₂, l₃) · (r₃ + γ · the rest on average))

What is shown once is taken to be elsewhere afterwards (an object that was collected), so a second time
in a sequence it counts as on average. A way that is allowed to touch what the sequence needs later
might spoil it, and counts as `CARELESS_STEPS` longer for each such label set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_primitives.goals import label_sets_of
from skm_primitives.planning.goal_outcomes import GoalOutcomes
from skm_primitives.primitives import GoalToGoal, Skills
from skm_sim.arrays import Float32Array, FloatArray, IntArray

DEPTH: Final = 4
"""Moves of the machine that are planned together."""
LARGEST: Final = 600.0
"""The logarithm of the largest number of units: more would be no number."""
CARELESS_STEPS: Final = 0.5
"""By how many steps a way counts as longer for each label set needed later that it may touch."""


@dataclass(frozen=True)
class _Place:
    """One place in all sequences from a machine state; arrays are `[sequence, way]`."""

    goals: IntArray
    """The goals that show the label set at this place, one for each set V."""
    reward: FloatArray
    most: FloatArray
    """The most that the goal can be worth, for what may happen on the way to it."""
    factor: FloatArray
    """0 where the goal does not move the machine; else how careful the way to it is."""
    leg: IntArray
    """Where the value of the way here is, in the onward values followed by the averages."""

    def worth(self, rest: FloatArray, gamma: float) -> FloatArray:
        """Return what achieving each goal is worth, if `rest[sequence]` is what follows."""
        return np.minimum(self.reward + gamma * rest[:, None], self.most) * self.factor


class Lookahead:
    """Plans the next moves of a machine with the onward values of the state at hand."""

    def __init__(
        self,
        skills: Skills,
        behind: GoalToGoal,
        outcomes: GoalOutcomes,
        anywhere: FloatArray,
    ) -> None:
        """`anywhere[u]`: log of what the machine state u is worth in a typical state of the world."""
        goals, constraints = skills.goals, frozenset(skills.constraints)
        label_sets = label_sets_of(goals)
        ways = [
            [index for index, goal in enumerate(goals) if goal.labels == labels]
            for labels in label_sets
        ]
        most_ways = max(map(len, ways))
        self._goals_of: IntArray = np.array([(w + w[:1] * most_ways)[:most_ways] for w in ways])
        """`[label set, way]`; the first goal again where there are fewer ways."""
        self._touchable = np.array(
            [[labels & constraints <= goal.violated for labels in label_sets] for goal in goals]
        )
        self._average = np.asarray(behind.table, np.float64)[self._goals_of[:, 0]].ravel()
        self._gamma = skills.gamma
        self._outcomes, self._anywhere = outcomes, anywhere
        self._most = outcomes.log_most(anywhere, math.log(skills.gamma))
        self._plans: dict[int, tuple[list[_Place], FloatArray]] = {}

    def log_weights(self, state: int, onward: Float32Array) -> FloatArray:
        """Return log of what achieving each goal is worth in a machine state, where `onward` holds.

        It is worked out in units of what the state is worth, which may be too small for a number.
        """
        if state not in self._plans:
            self._plans[state] = self._plan(state)
        places, value = self._plans[state]
        legs = np.concatenate([onward.ravel(), self._average])
        for place in reversed(places[1:]):
            value = (legs[place.leg] * place.worth(value, self._gamma)).max(axis=1, initial=0.0)
        weights = np.zeros(self._outcomes.moves.shape[1])
        np.maximum.at(weights, places[0].goals, places[0].worth(value, self._gamma))
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(np.maximum(weights, 0.0)) + self._unit(state)
        return logarithms

    def _unit(self, state: int) -> float:
        """Return the logarithm of the unit in which weights in a machine state are worked out."""
        worth = float(self._anywhere[state])
        return min(worth, 0.0) if math.isfinite(worth) else 0.0

    def _plan(self, state: int) -> tuple[list[_Place], FloatArray]:
        """Return the places of all sequences that start in a machine state, and what follows them."""
        sequences, states = self._sequences(state)
        unit = self._unit(state)
        rows = np.arange(len(sequences))
        places = []
        later = np.zeros((len(sequences), len(self._goals_of)), np.bool_)
        for number in reversed(range(DEPTH)):
            labels = sequences[:, number]
            goals = self._goals_of[labels]
            here = states[:, number, None]
            spoilt = self._touchable[goals] & later[:, None, :]
            spoilt[rows, :, labels] = False
            careful = self._gamma ** (CARELESS_STEPS * spoilt.sum(axis=2))
            again = (sequences[:, :number] == labels[:, None]).any(axis=1)
            source = sequences[:, number - 1] + again * len(self._goals_of)
            places.append(
                _Place(
                    goals,
                    self._outcomes.reward[here, goals] * math.exp(min(-unit, LARGEST)),
                    np.exp(np.minimum(self._most[here, goals] - unit, LARGEST)),
                    self._outcomes.moves[here, goals] * careful,
                    source[:, None] * self._outcomes.moves.shape[1] + goals,
                )
            )
            later[rows, labels] = True
        rest = self._anywhere[states[:, DEPTH]] - unit
        return places[::-1], np.exp(np.minimum(rest, LARGEST))

    def _sequences(self, state: int) -> tuple[IntArray, IntArray]:
        """Return sequences of label sets that move the machine, and the machine states they pass.

        Where nothing moves it any more, any label set will do: it is worth nothing.
        """
        sequences = np.zeros((1, 0), np.int64)
        states = np.full((1, 1), state)
        for _ in range(DEPTH):
            moving = self._outcomes.moves[states[:, -1]][:, self._goals_of[:, 0]]
            moving[:, 0] |= ~moving.any(axis=1)
            row, labels = np.nonzero(moving)
            target = self._outcomes.target[states[row, -1], self._goals_of[labels, 0]]
            sequences = np.column_stack([sequences[row], labels])
            states = np.column_stack([states[row], target])
        return sequences, states
