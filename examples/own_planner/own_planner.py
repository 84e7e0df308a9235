"""A planner of one's own: of all goals that bring the mission nearer to its end, the nearest first."""

from __future__ import annotations

import numpy as np

from skm_machine import Mission
from skm_primitives import (
    BasePolicy,
    ContinuousGoalValues,
    Decision,
    Goal,
    GoalValues,
    Skills,
)


class NearestFirst(BasePolicy):
    """Greedy: it never asks what comes after the goal that it goes for."""

    def __init__(self, mission: Mission, skills: Skills) -> None:
        super().__init__(mission, skills)
        states = range(mission.machine.num_states)
        self.weights = np.array([[self._weight(u, goal) for goal in skills.goals] for u in states])

    def _weight(self, state: int, goal: Goal) -> float:
        """Return 1 for a goal that brings the mission forward, and 0 for others.

        Where a constraint is touched on the way it is next to nothing: better than to stand still.
        """
        step, worth = self.mission.machine.step(state, goal.labels), self.machine_values
        forward = step.reward > 0 or worth[step.target] > worth[state]
        return forward * (1e-6 if goal.violated else 1.0)

    def choose(self, state: int, values: GoalValues | ContinuousGoalValues) -> Decision:
        """Return the action towards the goal of the greatest weight × value: the nearest."""
        if isinstance(values, ContinuousGoalValues):
            goal = int((self.weights[state] * values.value).argmax())
            return Decision(values.action[goal], goal, float(values.value[goal]))
        table = np.maximum(values.move, values.stop)
        best = (self.weights[state][:, None] * table).argmax()
        goal, action = (int(index) for index in np.unravel_index(best, table.shape))
        return Decision(action, goal, float(table[goal, action]))
