"""The grounded planner: plans with what the primitives know of the world, beyond the paper.

The paper plans on the machine alone, and so picks transitions that no state of the world satisfies,
ties that are far away, and goals from which nothing else can be reached. Here the machine is planned
together with the goals: only goals in the buffer can be achieved, and what a goal is worth is what can
be done after it. The composed skill is then a *weighted* maximum over goals,

    δ_Q(u)(s, a) = max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩),   w_u(g) = δ_r(u, g) + γ · V(δ_u(u, g), g),

of which the paper's mask is the special case w ∈ {0, 1}. With places as goals, V is exact, so the
behaviour is optimal wherever the learned values are.

The history c plays no part: had a violation mattered, the machine would have failed. So a mission may
start on a decoration that it must never enter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.mission_product import mission_product
from skm_primitives.planning.policy import Decision
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


class GroundedPolicy:
    """Zero-shot execution with goal weights from planning on machine × places × visit counts."""

    planner = "grounded"

    def __init__(
        self, mission: Mission, skills: Skills, world: PlaceWorld, slip: float = 0.0
    ) -> None:
        self.mission = mission
        self._world = world
        if not world.places:
            raise SkmError(f"the skills of '{skills.domain}' know no place: train them first")
        self._product = mission_product(mission.machine, self._world)
        gamma = SURE_GAMMA if slip else skills.gamma
        self._values, arriving = self._product.solve(gamma, slip)
        if not self._values[mission.machine.initial].any():
            clause = blocking_clause(mission, self._product.shown_labels(mission.machine.initial))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._goal_at = self._goals_of_arrivals(skills)
        self._weights = self._goal_weights(arriving, len(skills.goals))
        destinations = self._product.destinations(arriving)
        self._pursued = np.where(destinations >= 0, self._goal_at.reshape(-1)[destinations], -1)
        self._place_number = {place: index for index, place in enumerate(self._world.places)}
        self._place = 0
        self._counter = 0

    def _goals_of_arrivals(self, skills: Skills) -> IntArray:
        """Return the goal that each arrival [place, counter] achieves; −1 if it is in no buffer."""
        number = {
            (goal.place, goal.labels): index
            for index, goal in enumerate(skills.goals)
            if not goal.violated
        }
        rows = zip(self._world.places, self._product.labels, strict=True)
        return np.array(
            [[number.get((place, shown), -1) for shown in labels] for place, labels in rows]
        )

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
        self._place = self._number_of(observation)
        self._counter = 0
        initial = self.mission.machine.initial
        if self._values[initial, self._place, 0] <= 0:
            raise UnachievableMissionError(
                f"the mission cannot be achieved from here (place {int(observation)}), though it can "
                "from elsewhere"
            )

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401, ARG002
        """Count the visit."""
        self._place = self._number_of(observation)
        self._counter = int(self._product.counter[self._place, self._counter])

    def _number_of(self, observation: Any) -> int:  # noqa: ANN401
        try:
            return self._place_number[int(observation)]
        except KeyError:
            raise SkmError(f"place {int(observation)} was never seen while learning") from None

    def history(self, tracker: MissionTracker) -> frozenset[str]:  # noqa: ARG002
        """Return no constraint: the machine knows which violations mattered."""
        return frozenset()

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals that each action leads to."""
        best: Float32Array = (values.stop * self._weights[state, self._counter]).max(axis=0)
        return best

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the weighted maximum, and the goal at which the machine moves next."""
        if isinstance(values, ContinuousGoalValues):
            raise SkmError("place goals go with discrete actions")
        action = int(self.composed(state, values).argmax())
        goal = int(self._pursued[state, self._place, self._counter])
        return Decision(action, goal, float(self._values[state, self._place, self._counter]))

    def doubt(self) -> None:
        """Do as before: in a world that is as it was learned, there is no better way."""
