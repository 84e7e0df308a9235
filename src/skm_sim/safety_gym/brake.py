"""How the point robot comes to rest: it is driven by a force, so to stop takes one, too.

The motor pushes along the heading only. Its force is the one that ends the forward speed within one
step, as far as its limit allows; meanwhile the robot turns its axis into the direction in which it
still slides, so that the motor can end that as well. What is left goes by friction.
"""

from __future__ import annotations

import math
from typing import Any, Final

import gymnasium
import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.safety_gym.physics import SUBSTEPS, PointRobots

MASS: Final = 4 / 3 * math.pi * 0.1**3 + 0.1**3
"""Of ball and nose, with the model's density of 1."""
DAMPING: Final = 0.01
GEAR: Final = 0.3
LIMIT: Final = 0.05
"""The largest control that makes a difference: the motor's force is limited."""
AT_REST: Final = 0.06
"""Metres a second below which the robot counts as standing: what is left is the turning motor, which
chatters about its axis without moving it."""


def brake(env: gymnasium.Env[Any, Any]) -> FloatArray:
    """Return the action that brings the robot to rest as fast as its motor can."""
    return braking(env.world.physics)  # type: ignore[attr-defined]


def braking(physics: PointRobots, robot: int = 0) -> FloatArray:
    """Return the same for one of a batch."""
    _, _, _, heading, vx, vy, _ = physics.state[robot].tolist()
    ahead, aside = math.cos(heading), math.sin(heading)
    forward, left = vx * ahead + vy * aside, vy * ahead - vx * aside
    decay = math.exp(-DAMPING * SUBSTEPS * physics.timestep / MASS)
    force = -forward * DAMPING * decay / ((1 - decay) * GEAR)
    turn = 0.0
    if math.hypot(forward, left) > AT_REST:
        slip = math.atan2(left, forward)  # of the motion, from the heading; the axis has two ends
        axis = slip - math.pi * round(slip / math.pi)
        turn = max(-1.0, min(1.0, 2.0 * axis))
    return np.array([max(-LIMIT, min(LIMIT, force)), turn])
