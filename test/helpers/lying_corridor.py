"""A corridor with a locked door, and skills that do not know of it, for tests."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues, GoalToGoal, GoalValues, RemoteSkills

GAMMA = 0.99
DOOR = 4
"""The cells 0 … 4 can be entered; `left` holds at 0, and `right` would hold behind the door."""


class LockedCorridor(gymnasium.Env):
    """Starts in the middle; an action moves to the left (0, or below 0) or the right."""

    def __init__(self, continuous):
        self.observation_space = Box(0, DOOR, (1,), np.int64)
        self.action_space = Box(-1.0, 1.0, (1,)) if continuous else Discrete(2)
        self.continuous = continuous

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 2
        return self._seen()

    def step(self, action):
        way = int(np.rint(action[0])) if self.continuous else (-1, 1)[action]
        self.cell = min(max(self.cell + way, 0), DOOR)
        observation, info = self._seen()
        return observation, 0.0, False, False, info

    def _seen(self):
        labels = frozenset({"left"}) if self.cell == 0 else frozenset()
        return np.array([self.cell]), {"labels": labels}


class Skills(RemoteSkills):
    """The skills of a corridor without a door: `right` is promised one step behind it.

    `goes(cell, goal)` may say otherwise where a goal's skill goes: -1, 0 or 1; `value(cell, goal)`
    what its value is.
    """

    def values(self, observation, violated):
        cell = int(observation[0])
        value = np.array([self.value(cell, goal) for goal in range(2)], np.float32)
        way = [self.goes(cell, goal) for goal in range(2)]
        if isinstance(self.action_space, Box):
            action = np.array(way, np.float32)[:, None]
            return ContinuousGoalValues(action, value, np.zeros(2, np.float32), -action)
        move = np.array([[GAMMA**2, 1.0] if towards > 0 else [1.0, GAMMA**2] for towards in way])
        move = (move * value[:, None]).astype(np.float32)
        return GoalValues(move, np.zeros_like(move))

    def value(self, cell, goal):
        return GAMMA ** (DOOR - cell if goal else 3 * cell)

    def goes(self, cell, goal):
        return 1 if goal else -1


def lying_skills(continuous, cls=Skills, approximate=True):
    names = ("left", "right")
    return cls(
        domain="locked",
        checkpoint="",
        digest="",
        propositions=names,
        constraints=(),
        goals=tuple(Goal(frozenset({name})) for name in names),
        world_model=GoalToGoal(np.full((2, 2), 0.9, np.float32), approximate),
        gamma=GAMMA,
        observation_space=Box(0, DOOR, (1,), np.int64),
        action_space=Box(-1.0, 1.0, (1,)) if continuous else Discrete(2),
    )
