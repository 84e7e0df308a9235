"""Tell whether chance plays a part in the steps of an environment: whether it is stochastic.

Two ways to find out, and either will do: the same actions from the same start, with other chance (the
environment's generator is another after the reset); and, where observations are numbers of cells, an
action that led from one cell to two.
"""

from __future__ import annotations

from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import data_equivalence

STEPS: Final = 200
EPISODES: Final = 4
STOCHASTIC: Final = (
    "The world is stochastic: the same action in the same state can lead to different states"
    " ({how}). Tables learn how often, and the grounded planner counts on that; networks learn means."
)


def chance_notes(env: gymnasium.Env[Any, Any]) -> list[str]:
    """Return a sentence if chance plays a part in steps; none where it was not seen to."""
    if (how := _two_ways(env)) or (how := _other_chance(env)):
        return [STOCHASTIC.format(how=how)]
    return []


def _two_ways(env: gymnasium.Env[Any, Any]) -> str:
    """Return which action led from one cell to two."""
    if not isinstance(env.observation_space, Discrete) or not isinstance(
        env.action_space, Discrete
    ):
        return ""
    led: dict[tuple[int, int], int] = {}
    for seed in range(EPISODES):
        env.action_space.seed(seed)
        here, _ = env.reset(seed=seed)
        for _ in range(STEPS):
            action = env.action_space.sample()
            there, _, terminated, truncated, _ = env.step(action)
            before = led.setdefault((int(here), int(action)), int(there))
            if before != int(there):
                return f"action {action} in {int(here)} led to {before} and to {int(there)}"
            here = there
            if terminated or truncated:
                break
    return ""


def _other_chance(env: gymnasium.Env[Any, Any]) -> str:
    """Return that the same actions had other results, with the generator another after the reset."""
    for seed in range(EPISODES):
        if not data_equivalence(_with_chance(env, seed, 1), _with_chance(env, seed, 2)):
            return "seen with the same actions and other chance"
    return ""


def _with_chance(env: gymnasium.Env[Any, Any], seed: int, chance: int) -> list[Any]:
    """Return what is seen in an episode with that seed, all chance after its reset being of another."""
    env.action_space.seed(seed)
    seen = [np.array(env.reset(seed=seed)[0], copy=True)]
    layer: Any = env
    while layer is not None:
        if isinstance(layer, gymnasium.Env):
            layer.np_random = np.random.default_rng(chance)
        layer = getattr(layer, "env", None)
    for _ in range(STEPS):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append(np.array(observation, copy=True))
        if terminated or truncated:
            break
    return seen
