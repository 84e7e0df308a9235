"""Zones domain (`skm/Zones-v0`): ZoneEnv of LTL2Action, DeepLTL and GenZ-LTL, directly on MuJoCo.

Observation, 80 numbers with four colours: accelerometer, velocimeter, gyro, magnetometer (three each),
the wall sensor (four: exp(−distance) to each wall; zeros before the first step), then a pseudo-lidar of
16 bins for each colour. Action: two numbers in [-1, 1], the force along the heading and the wanted
turning speed. A step lasts 0.02 s.

A proposition, a colour, holds while the robot's centre is in a zone of it. Meeting a wall ends the
episode. Rewards are 0: they come from the reward machine.

Options: `colours` (4, 6, 8 or 10), `overlap` (zones may lie on one another), `moving` (metres a second
at which zones move, straight on and back at the edge), and of the batch `hold`: steps of 0.02 s that one
step of the batch takes, with labels as if each of them counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from skm_sim.arena_env import ArenaEnv, ArenaVectorEnv, given_layout
from skm_sim.arrays import BoolArray, ByteArray, FloatArray
from skm_sim.point_robot import SENSORS, action_space, check_actions
from skm_sim.shapes import Shape
from skm_sim.zones.layout import ZoneLayout, read_layout, sample_layouts
from skm_sim.zones.scene import zones_scene
from skm_sim.zones.world import ZonesWorld, observations


class ZonesEnv(ArenaEnv):
    """One robot. `reset(options={"layout": layout})` places it and the zones as given.

    With `render_mode="rgb_array"`, `render()` draws the arena from above with the path of this
    episode; nothing of it needs a screen or OpenGL.
    """

    metadata: dict[str, Any] = {**ArenaEnv.metadata, "render_fps": 50}  # noqa: RUF012
    world: ZonesWorld

    def __init__(
        self,
        colours: int = 4,
        overlap: bool = False,
        moving: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        self.world = ZonesWorld(1, colours, 1, moving)
        names = self.world.arena.names
        super().__init__(observation_space(colours), (names, names), render_mode)
        self._overlap = overlap

    @property
    def layout(self) -> ZoneLayout:
        """Where everything was at the start of the episode."""
        return self.world.layout[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Start an episode in an arena drawn by chance, or in `options["layout"]`."""
        super().reset(seed=seed)
        colours = self.world.arena.colours
        given = given_layout(options, (), partial(read_layout, colours=colours))
        random = self.np_random
        new = sample_layouts(random, 1, colours, overlap=self._overlap) if given is None else given
        self.world.reset(np.ones(1, np.bool_), new if given is None else new[None], random)
        return self._begun()

    def step(self, action: ArrayLike) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Take one step; the labels in `info` are those of the state that it leads to."""
        self.world.step(check_actions(action, (2,))[None])
        return self._entered(over=bool(self.world.over[0]))

    def render(self) -> ByteArray | None:
        """Return the picture as `(height, width, 3)` bytes, or None without a render mode."""
        if self.render_mode is None:
            return None
        from skm_sim.zones.drawing import picture  # noqa: PLC0415 (matplotlib is slow)

        return picture(self.world.zones[0], np.array(self._path))

    def scene(self) -> list[Shape]:
        """Return the arena and the robot as shapes for 3D views."""
        return zones_scene(self.world.zones[0], self.pose)


class ZonesVectorEnv(ArenaVectorEnv):
    """A batch of robots, each in an arena of its own, stepping as arrays in one process.

    See `BatchEnv`. `reset(options={"layout": layout})` says where everything is: one arena for all,
    or a `ZoneLayout` with an entry for every robot.
    """

    world: ZonesWorld

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        colours: int = 4,
        overlap: bool = False,
        moving: float = 0.0,
        hold: int = 1,
    ) -> None:
        self.world = ZonesWorld(num_envs, colours, hold, moving)
        names = self.world.arena.names
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(observation_space(colours), action_space()),
            names=(names, names),
        )
        self._overlap = overlap

    @property
    def layout(self) -> ZoneLayout:
        """Where everything was at the start of each robot's episode."""
        return self.world.layout[:]

    def _over(self) -> BoolArray:
        return self.world.over.copy()

    def _advance(self, actions: FloatArray, going: BoolArray) -> None:  # noqa: ARG002
        self.world.step(actions)

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        """Start the robots in `mask`, in the arenas given or in new ones."""
        colours, count = self.world.arena.colours, int(np.count_nonzero(mask))
        given = given_layout(options, (self.num_envs,), partial(read_layout, colours=colours))
        if not count:
            return
        random = self.np_random
        new = given[mask] if given is not None else None
        if new is None:
            new = sample_layouts(random, count, colours, overlap=self._overlap)
        self.world.reset(mask, new, random)


def observation_space(colours: int) -> Box:
    """Return the space of the observations: sensors without bounds, walls and lidars from 0 to 1."""
    size = observations(colours)
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    low[SENSORS:], high[SENSORS:] = 0.0, 1.0
    return Box(low, high, dtype=np.float64)
