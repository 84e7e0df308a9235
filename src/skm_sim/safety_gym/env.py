"""What the environments of Safety Gym's point robot share: how it is asked, seen and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

import gymnasium
from gymnasium.spaces import Box, Space
from numpy.typing import ArrayLike

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.safety_gym.physics import PointRobots, action_space, check_actions
from skm_sim.spec import DomainError
from skm_sim.vector import BatchEnv

L = TypeVar("L")


class ArenaWorld(Protocol):
    """Robots, each in an arena of its own, as arrays."""

    @property
    def physics(self) -> PointRobots:
        """Where the robots are, and how they move."""
        ...

    def observe(self) -> FloatArray:
        """Return what each robot senses."""
        ...

    def labels(self) -> BoolArray:
        """Return what is true where each robot is."""
        ...


class ArenaEnv(gymnasium.Env[FloatArray, FloatArray]):
    """One robot in a world of one."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (as Gymnasium has it)
    world: ArenaWorld

    def __init__(
        self,
        seen: Box,
        names: tuple[tuple[str, ...], tuple[str, ...]],
        render_mode: str | None,
    ) -> None:
        """`names`: those of the propositions, and of the constraints among them."""
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise DomainError(f"no render_mode '{render_mode}'{did_you_mean(render_mode, modes)}")
        self.render_mode = render_mode
        self.propositions, self.constraints = names
        self.observation_space = cast("Space[FloatArray]", seen)
        self.action_space = cast("Space[FloatArray]", action_space())
        self._path: list[FloatArray] = []

    @property
    def pose(self) -> FloatArray:
        """The robot's x, y and heading."""
        pose: FloatArray = self.world.physics.pose[0].copy()
        return pose

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        true = self.world.labels()[0].tolist()
        return frozenset(name for name, holds in zip(self.propositions, true, strict=True) if holds)

    def _begun(self) -> tuple[FloatArray, dict[str, Any]]:
        """Return what `reset` does: the path begins here."""
        self._path = [self.pose]
        return self.world.observe()[0], {"labels": self.labels()}

    def _entered(self, over: bool) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Return what `step` does: the path goes on, if it is ever drawn."""
        if self.render_mode is not None:
            self._path.append(self.pose)
        return self.world.observe()[0], 0.0, over, False, {"labels": self.labels()}


class ArenaVectorEnv(BatchEnv[FloatArray]):
    """A batch of robots, each in an arena of its own, stepping as arrays in one process."""

    world: ArenaWorld

    @property
    def pose(self) -> FloatArray:
        """`(num_envs, 3)`: x, y and heading of every robot."""
        return self.world.physics.pose.copy()

    def labels(self) -> BoolArray:
        """Return what is true in the current states, `(num_envs, propositions)`."""
        return self.world.labels().copy()

    def _observe(self) -> FloatArray:
        return self.world.observe()

    def _checked(self, actions: ArrayLike) -> FloatArray:
        return check_actions(actions, (self.num_envs, 2))


def given_layout(
    options: Mapping[str, Any] | None,
    shape: tuple[int, ...],
    read: Callable[[object, tuple[int, ...]], L],
) -> L | None:
    """Return `options["layout"]`, read as a layout of that shape, or None if chance is to decide."""
    for key in options or {}:
        if key != "layout":
            hint = did_you_mean(key, ["layout", "reset_mask"] if shape else ["layout"])
            raise DomainError(f"unknown reset option '{key}'{hint}")
    return read(options["layout"], shape) if options else None
