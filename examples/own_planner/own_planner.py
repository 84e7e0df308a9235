"""A planner of one's own: of all goals that bring the mission nearer to its end, the nearest first."""

from __future__ import annotations

import numpy as np

from skm_machine import Mission
from skm_primitives import BasePolicy, ContinuousGoalValues, Decision, GoalValues, Skills


class NearestFirst(BasePolicy):
    """Greedy: it never asks what comes after the goal that it goes for."""

    def __init__(self, mission: Mission, skills: Skills) -> None:
        super().__init__(mission, skills)
        self.useful = [self._useful(state) for state in range(mission.machine.num_states)]

    def _useful(self, state: int) -> np.ndarray:
        """Return the indices of the goals that bring the mission forward and touch no constraint."""
        worth, useful = self.machine_values, []
        for index, goal in enumerate(self.skills.goals):
            step = self.mission.machine.step(state, goal.labels)
            forward = step.reward > 0 or worth[step.target] > worth[state]
            if forward and not goal.violated:
                useful.append(index)
        return np.array(useful, int)

    def choose(self, state: int, values: GoalValues | ContinuousGoalValues) -> Decision:
        """Return the action towards the useful goal of the greatest value, which is the nearest."""
        goals = self.useful[state]
        if not len(goals):
            return Decision(self.skills.action_space.sample(), goal=-1, value=0.0)
        if isinstance(values, ContinuousGoalValues):
            goal = max(goals, key=lambda goal: values.value[goal])
            return Decision(values.action[goal], int(goal), float(values.value[goal]))
        worth = np.maximum(values.move, values.stop)[goals]
        best, action = np.unravel_index(worth.argmax(), worth.shape)
        return Decision(int(action), int(goals[best]), float(worth.max()))
