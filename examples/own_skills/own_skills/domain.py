"""A yard with three spots: a robot that goes in four directions, seen by its position."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from skm_sim import DomainSpec, Registration, label_env

SPOTS = {"dock": (0.1, 0.1), "shelf": (0.9, 0.2), "desk": (0.5, 0.9)}
MOVES = 0.1 * np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.float32)


class Yard(gymnasium.Env[Any, Any]):
    """Anybody's environment: it knows nothing of skm."""

    observation_space, action_space = Box(0.0, 1.0, (2,), np.float32), Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin anywhere."""
        super().reset(seed=seed)
        self.place = self.np_random.random(2, np.float32)
        return self.place.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Go 0.1 in one direction, as far as the fence."""
        self.place = np.clip(self.place + MOVES[int(action)], 0.0, 1.0)
        return self.place.copy(), 0.0, False, False, {}


def labelled() -> gymnasium.Env[Any, Any]:
    """Return the yard with labels: a spot's name is true within 0.1 of it."""
    near = {
        name: lambda place, info, env, spot=spot: np.hypot(*(place - spot)) < 0.1
        for name, spot in SPOTS.items()
    }
    return label_env(Yard(), near)


YARD = DomainSpec(
    name="yard",
    env_id="own_skills/Yard-v0",
    environments=(Registration("own_skills/Yard-v0", "own_skills.domain:labelled", 200),),
    propositions=tuple(SPOTS),
    constraints=(),
    gamma=0.95,
    primitive_steps=40,
    tasks={},
)
