"""The grounded planner: plans with what the primitives know of the world, beyond the paper.

The paper plans on the machine alone, and so picks transitions that no state of the world satisfies,
ties that are far away, and goals from which nothing else can be reached. Here the machine is planned
together with the goals: only goals in the buffer can be achieved, and what a goal is worth is what can
be done after it. The composed skill is then a *weighted* maximum over goals,

    δ_Q(u)(s, a) = max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩),   w_u(g) = δ_r(u, g) + γ · V(δ_u(u, g), g),

of which the paper's mask is the special case w ∈ {0, 1}. With places as goals, V is exact, so the
behaviour is optimal wherever the learned values are. Where actions slip, the values of stopping are
chances, and the mean over where an action leads takes the place of the maximum.

The history c plays no part: had a violation mattered, the machine would have failed. So a mission may
start on a decoration that it must never enter.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.place_policy import PlacePolicy
from skm_primitives.planning.policy import Decision, best_option
from skm_primitives.primitives import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalValues,
    PlaceWorld,
    Skills,
)
from skm_sim.arrays import Float32Array, FloatArray, IntArray

SURE_GAMMA: Final = 0.9999
"""The discount for planning where actions slip: success is what is at stake then, not speed."""
ENDLESS_GAMMA: Final = 0.99
"""The same for missions without end, whose rewards have no end either."""


class GroundedPolicy(PlacePolicy):
    """Zero-shot execution with goal weights from planning on machine × places × visit counts."""

    def __init__(
        self, mission: Mission, skills: Skills, world: PlaceWorld, slip: float = 0.0
    ) -> None:
        super().__init__(mission, skills, world)
        gamma = self._gamma = _discount(mission, skills, world, slip)
        self._values, arriving = self._product.solve(gamma, slip)
        if not self._values[mission.machine.initial].any():
            clause = blocking_clause(mission, self._product.shown_labels(mission.machine.initial))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._weights = self._goal_weights(arriving, len(skills.goals))
        self.actions: IntArray = self._product.options(arriving).argmax(axis=2)
        """`[u, place, counter]`: what it does everywhere."""
        way = self._product.best_way(self._product.arriving_directly(self._values, gamma))
        _, destinations = self._product.next_moves(self.actions, way)
        self._pursued = self._pursued_goals(destinations)

    def _goal_weights(self, arriving: FloatArray, goals: int) -> Float32Array:
        """Return w[u, counter, goal]: what arriving at each goal is worth.

        Divided by the chance that arriving shows the goal's labels, which is a factor of its values:
        the visit counts already say which labels the next arrival shows.
        """
        machine_states, _, combinations = arriving.shape
        weights = np.zeros((machine_states, combinations, goals), np.float32)
        place, counter = np.nonzero(self._goal_at >= 0)
        weights[:, counter, self._goal_at[place, counter]] = arriving[:, place, counter]
        weights /= self._world.goal_probability
        return weights[:, :, :, None]

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin in the observed place, with no visits counted; refuse what cannot be done from here."""
        super().start(observation)
        if self._values[self.mission.machine.initial, self._place, 0] <= 0:
            raise not_from_here(observation)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do: what is worth most where it has led."""
        place, counter = self._after(observation)
        return best_option(
            self.mission.machine,
            state,
            options,
            lambda o: o.reward + self._gamma * float(self._values[o.target, place, counter]),
        )

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals that each action leads to; where actions slip,

        the mean: stopping is worth the chance of each.
        """
        weighted = values.stop * self._weights[state, self._counter]
        slips = self._world.chances is not None
        best: Float32Array = weighted.sum(axis=0) if slips else weighted.max(axis=0)
        return best

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> Float32Array:  # noqa: ARG002
        """Return what arriving at each goal is worth, for those who watch."""
        weights: Float32Array = self._weights[state, self._counter, :, 0]
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the weighted maximum, and the goal at which the machine moves next."""
        if isinstance(values, ContinuousGoalValues):
            raise SkmError("place goals go with discrete actions")
        action = int(self.composed(state, values).argmax())
        goal = int(self._pursued[state, self._place, self._counter])
        noise = 0.0 if self._world.chances is None else -math.inf  # Chance may throw a robot back.
        value = float(self._values[state, self._place, self._counter])
        return Decision(action, goal, value, noise)


def _discount(mission: Mission, skills: Skills, world: PlaceWorld, slip: float) -> float:
    """Return the discount to plan with: near 1 where actions slip."""
    if slip:
        return SURE_GAMMA
    if world.chances is None:
        return skills.gamma
    return max(ENDLESS_GAMMA, skills.gamma) if mission.machine.endless else SURE_GAMMA


def not_from_here(observation: Any) -> UnachievableMissionError:  # noqa: ANN401
    """Return the error of a mission that can be achieved, but not from where the robot is."""
    return UnachievableMissionError(
        f"the mission cannot be achieved from here (place {int(observation)}), though it can "
        "from elsewhere"
    )
