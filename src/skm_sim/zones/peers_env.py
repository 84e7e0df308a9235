"""A ZoneEnv of the peers' own code as an environment of the Zones domain, to run our skills in it.

LTL2Action, DeepLTL and GenZ-LTL each bring a ZoneEnv on a safety-gymnasium of their own. With a
checkout of one, make its environment and pass it on:

    env = PeersZonesEnv(SafetyGymWrapper(safety_gymnasium.make("PointLtlSafety2-v0")))
    run_episode(env, load_primitives(get_domain("zones")), policy, max_steps=1000, seed=0)

The state is read from its observations: a dictionary with the four sensors, `wall_sensor`, and a lidar
`COLOUR_zones_lidar` for each colour; `info["propositions"]` names the colours that the robot is in.
Nothing of theirs is imported here. They pin an older gymnasium than skm needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Space
from numpy.typing import ArrayLike, NDArray

from skm_sim.arrays import FloatArray
from skm_sim.safety_gym.physics import action_space, check_actions
from skm_sim.spec import DomainError
from skm_sim.zones.env import observation_space
from skm_sim.zones.layout import Arena

SENSORS: Final = ("accelerometer", "velocimeter", "gyro", "magnetometer", "wall_sensor")


class ZoneEnv(Protocol):
    """What is asked of the peers' environment, as their wrapper to gymnasium has it."""

    def reset(self, *, seed: int | None = None) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """Start an episode in an arena drawn from the seed."""
        ...

    def step(
        self, action: NDArray[Any]
    ) -> tuple[Mapping[str, Any], float, bool, bool, dict[str, Any]]:
        """Take a step of 0.02 s."""
        ...


class PeersZonesEnv(gymnasium.Env[FloatArray, FloatArray]):
    """Their robot and arenas; observations, actions and labels as those of `ZonesEnv`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, env: ZoneEnv, colours: int = 4) -> None:
        self._env = env
        self.propositions = self.constraints = Arena(colours).names
        self.observation_space = cast("Space[FloatArray]", observation_space(colours))
        self.action_space = cast("Space[FloatArray]", action_space())
        self._labels = frozenset[str]()

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        return self._labels

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Start an episode; where everything is, is up to them, so there are no options."""
        if options:
            raise DomainError(f"the peers' environment takes no option '{next(iter(options))}'.")
        super().reset(seed=seed)
        seen, info = self._env.reset(seed=seed)
        return self._numbers(seen), self._with_labels(info)

    def step(self, action: ArrayLike) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Let them simulate one step; rewards are 0: they come from the reward machine."""
        seen, _, ended, cut, info = self._env.step(check_actions(action, (2,)))
        return self._numbers(seen), 0.0, bool(ended), bool(cut), self._with_labels(info)

    def _numbers(self, seen: Mapping[str, Any]) -> FloatArray:
        """Return their observation in our order."""
        names = (*SENSORS, *(f"{colour}_zones_lidar" for colour in self.propositions))
        missing = [name for name in names if name not in seen]
        if missing:
            raise DomainError(f"the peers' environment shows no '{missing[0]}'; is it a ZoneEnv?")
        numbers = np.concatenate([np.asarray(seen[name], np.float64).ravel() for name in names])
        if numbers.shape != self.observation_space.shape:
            raise DomainError(
                f"the peers' environment shows {len(numbers)} numbers, not"
                f" {self.observation_space.shape}."
            )
        return numbers

    def _with_labels(self, info: Mapping[str, Any]) -> dict[str, Any]:
        self._labels = frozenset(info["propositions"]) & frozenset(self.propositions)
        return {"labels": self._labels}
