"""A domain's environment as a simulator runs it: episodes counted, labels at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.wrappers import OrderEnforcing

from skm_machine.documents import read_json
from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.faults import environment_faults, making_faults
from skm_sim.scene import Shape, scene_of
from skm_sim.spec import DomainError, DomainSpec


class World:
    """The present state of one environment, with its place in the count of episodes and steps."""

    def __init__(self, spec: DomainSpec, seed: int, *, pictures: bool = False) -> None:
        """Make the environment and begin the first episode; `pictures` asks for `picture()`."""
        self.spec = spec
        """The domain that it is a world of."""
        mode = "rgb_array" if pictures and draws(spec) else None
        env = spec.make(mode, disable_env_checker=True)
        # Nothing is done here before a reset: it need not be checked at every step.
        self._env = env.env if isinstance(env, OrderEnforcing) else env
        self.draws = mode is not None
        """Whether it makes pictures."""
        self.episode = 0
        """How often it was reset."""
        self.reset(seed)

    @property
    def observation_space(self) -> Space[Any]:
        """What is observed."""
        return self._env.observation_space

    @property
    def action_space(self) -> Space[Any]:
        """What can be done."""
        return self._env.action_space

    @property
    def can_wait(self) -> bool:
        """Whether an action is a whole move, so that the robot is at rest between two of them."""
        return not isinstance(self._env.action_space, Box)

    def brake(self) -> Any:  # noqa: ANN401 - an action of the domain
        """Return the action that brings the robot to rest; None where the world itself can wait.

        It depends on how the robot moves now: ask again for every step.
        """
        space = self._env.action_space
        if not isinstance(space, Box):
            return None
        own = self.spec.part("brake")
        return np.clip(0, space.low, space.high) if own is None else own(self._env.unwrapped)

    @property
    def ended(self) -> bool:
        """Whether no action can be taken until a reset."""
        return self.terminated or self.truncated

    def reset(self, seed: int | None = None, options: str = "") -> None:
        """Begin an episode; `options` are the domain's, as JSON. If refused, the state stays."""
        given = _read_options(options)
        try:
            self.observation, info = self._env.reset(seed=seed, options=given)
        except (TypeError, ValueError, KeyError) as error:
            raise DomainError(f"the domain refuses the reset options {options}: {error}") from error
        self.labels: frozenset[str] = info["labels"]
        self.terminated = self.truncated = False
        self.episode += 1
        self.step_number = 0

    def step(self, action: Any) -> None:  # noqa: ANN401 - an action of the domain
        """Take a step."""
        self.observation, _, self.terminated, self.truncated, info = self._env.step(action)
        self.labels = info["labels"]
        self.step_number += 1

    def picture(self) -> ByteArray | None:
        """Return what a camera would see, where the domain draws and pictures were asked for."""
        if not self.draws:
            return None
        with environment_faults(self.spec.name, "render()"):
            picture: ByteArray | None = self._env.render()  # type: ignore[assignment]
        return picture

    def pose(self) -> tuple[float, float, float] | None:
        """Return x, y in metres and heading of the robot, 0 where it has none; None if unknown."""
        pose = getattr(self._env.unwrapped, "pose", None)
        if pose is None:
            return None
        return float(pose[0]), float(pose[1]), float(pose[2]) if len(pose) > 2 else 0.0

    def positions(self) -> FloatArray | None:
        """Return x and y of each state that can be observed; None if unknown."""
        found: FloatArray | None = getattr(self._env.unwrapped, "positions", None)
        return found

    def scene(self) -> Sequence[Shape]:
        """Return the shapes of the world for a 3D view, empty where the domain has none."""
        return scene_of(self.spec, self._env)

    def close(self) -> None:
        """Let the environment go."""
        self._env.close()


def draws(spec: DomainSpec) -> bool:
    """Tell whether a domain's environment can return pictures."""
    with making_faults(spec.name, spec.env_id, spec.extra):
        entry = gymnasium.spec(spec.env_id).entry_point
        made = (
            gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        )
    if not hasattr(made, "metadata"):  # A function that makes it, as with `label_env`.
        env = spec.make()
        env.close()
        return "rgb_array" in env.metadata.get("render_modes", ())
    return "rgb_array" in getattr(made, "metadata", {}).get("render_modes", ())


def _read_options(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    try:
        options = read_json(text)
    except ValueError as error:
        raise DomainError(f"reset options are no JSON: {str(error)[:200]}") from None
    if not isinstance(options, dict):
        raise DomainError(
            f'reset options are a JSON object such as {{"cell": 3}}, not {text[:200]}'
        )
    return options
