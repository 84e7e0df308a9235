"""Exact skills for Moving Targets: what perfect primitives would say, read off the true state.

They tell what a planner alone can do, and so how much of a result is owed to what was learned. Values
are γ^(steps − 1) along shortest ways that touch nothing that the goal forbids.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space

from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.goals import Goal
from skm_primitives.primitives import GoalToGoal, GoalValues
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.domain import DomainSpec
from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import (
    AGENT,
    KINDS,
    MOVES,
    NUM_CELLS,
    OBJECTS,
    TRANSITIONS,
    States,
)
from skm_sim.moving_targets.reference import UNREACHABLE, distances
from skm_sim.moving_targets.view import Frames, read_state

AVERAGE_BOARDS = 200
_AVERAGE_SEED = 90_003


class ExactPixelPrimitives:
    """Implements `skm_primitives.primitives.Primitives` with true values."""

    def __init__(self, spec: DomainSpec) -> None:
        self.domain = spec.name
        self.propositions, self.constraints = spec.propositions, spec.constraints
        self.gamma = spec.gamma
        self.goal_space = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
        self.goals: tuple[Goal, ...] = self.goal_space.goals
        self.action_space: Space[Any] = Discrete(len(MOVES))
        self.digest = "exact"
        achieved, alive = self.goal_space.achieved[:-1], self.goal_space.alive[:-1]
        self._kind = achieved.argmax(axis=0)
        self._wanted, self._forbidden = achieved.T, (~achieved & ~alive).T

    def values(self, observation: Frames, violated: frozenset[str] = frozenset()) -> GoalValues:
        """Return the true values of every goal and action in the state that a frame shows."""
        state = read_state(observation)
        steps, wanted, forbidden = self._ways(state)
        entered = TRANSITIONS[state[AGENT]]
        move = np.where(forbidden, 0, self._discounted(steps + 1))[:, entered]
        stop = wanted[:, entered].astype(np.float32)
        move = np.where(stop > 0, np.float32(self.gamma), move)
        possible = self.goal_space.masked(violated)[:, None]
        onward = self._onward(state, steps)
        return GoalValues((move * possible).astype(np.float32), stop * possible, onward)

    def _ways(self, state: States) -> tuple[IntArray, BoolArray, BoolArray]:
        """Return `(goals, cells)`: the steps to each goal, and where it is achieved and ruled out."""
        wanted = np.zeros((len(self.goals), NUM_CELLS), np.bool_)
        forbidden = np.zeros_like(wanted)
        for kind, cell in enumerate(state[OBJECTS].tolist()):
            wanted[:, cell], forbidden[:, cell] = self._wanted[:, kind], self._forbidden[:, kind]
        return distances(wanted, forbidden).astype(np.int64), wanted, forbidden

    def _discounted(self, steps: IntArray) -> FloatArray:
        return np.where(steps >= UNREACHABLE, 0.0, self.gamma ** (steps - 1.0))

    def _onward(self, state: States, steps: IntArray) -> Float32Array:
        """Return `(kinds, goals)`: the values where each kind is; its own, as it respawns: the mean."""
        there = self._discounted(steps[:, state[OBJECTS]]).T
        again = self._kind[None, :] == np.arange(len(KINDS))[:, None]
        return np.where(again, self._mean_of_goals, there).astype(np.float32)

    @cached_property
    def _mean_of_goals(self) -> Float32Array:
        """The mean value of each goal over random boards, `(goals,)`."""
        states = board.sample(np.random.default_rng(_AVERAGE_SEED), AVERAGE_BOARDS)
        found = [self._discounted(self._ways(state)[0][:, state[AGENT]]) for state in states]
        mean: Float32Array = np.mean(found, axis=0, dtype=np.float32)
        return mean

    @cached_property
    def behind_goals(self) -> GoalToGoal:
        """The mean value of each goal: where another was achieved is as good a place as any."""
        return GoalToGoal(np.tile(self._mean_of_goals, (len(self.goals), 1)))
