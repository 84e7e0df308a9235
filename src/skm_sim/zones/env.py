"""Zones domain (`skm/Zones-v0`): ZoneEnv of LTL2Action, DeepLTL and GenZ-LTL, directly on MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from skm_sim.arrays import BoolArray, ByteArray, FloatArray
from skm_sim.labels import told_labels
from skm_sim.safety_gym.env import ArenaEnv, ArenaVectorEnv, given_layout
from skm_sim.safety_gym.lidar import BINS, shown_in_bins
from skm_sim.safety_gym.physics import SENSORS, SUBSTEPS, PointRobots, action_space, check_actions
from skm_sim.scene import Shape
from skm_sim.spec import DomainError
from skm_sim.zones.layout import EACH, Arena, ZoneLayout, inside, read_layout, sample_layouts
from skm_sim.zones.scene import zones_scene

# A batch of arenas of coloured zones, each with its robot; what both environments are shells of.


TIMESTEP: Final = 0.002
"""Seconds of one physics step."""
STEP_SECONDS: Final = SUBSTEPS * TIMESTEP
WALLS: Final = 4
"""Numbers of the wall sensor."""
FALL: Final = 0.5
"""How fast light falls with distance: exp(−d/2)."""
FASTEST: Final = 1.0


class ZonesWorld:
    """Robots among zones. One `step` holds the actions for `hold` steps of 0.02 s."""

    def __init__(self, count: int, colours: int, hold: int, moving: float) -> None:
        if hold < 1:
            raise DomainError(f"hold is {hold}, must be at least 1.")
        if not 0 <= moving <= FASTEST:
            raise DomainError(f"moving is {moving}, must be from 0 to {FASTEST:g} m/s.")
        self.arena = Arena(colours)
        self.hold, self.moving = hold, moving
        self.physics = PointRobots("zones", count, TIMESTEP, steps=hold * SUBSTEPS)
        self.layout = ZoneLayout(np.zeros((count, 3)), np.ones((count, colours, EACH, 2)))
        """Where everything was at the start of the episode."""
        self.zones: FloatArray = self.layout.zones.copy()
        self._velocity = np.zeros_like(self.zones)
        self._wall = np.zeros((count, WALLS))
        self._labels = np.zeros((count, colours), np.bool_)
        self.over: BoolArray = np.zeros(count, np.bool_)
        """Whose robot has met a wall."""

    def reset(self, mask: BoolArray, layout: ZoneLayout, random: np.random.Generator) -> None:
        """Start the arenas in `mask` anew; `layout` has one entry for each of them."""
        self.layout.robot[mask], self.layout.zones[mask] = layout.robot, layout.zones
        self.zones[mask] = layout.zones
        if self.moving:
            turn = random.uniform(0, 2 * np.pi, layout.zones.shape[:-1])
            self._velocity[mask] = self.moving * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        self.physics.put(np.flatnonzero(mask), layout.robot)
        self._wall[mask] = 0.0  # As ZoneEnv: the sensor says nothing before the first step.
        self._labels[mask] = layout.labels(layout.robot[..., :2])
        self.over[mask] = False

    def step(self, actions: FloatArray) -> None:
        """Hold the actions, and take note of what was touched on the way."""
        self.physics.step(actions)
        track = self.physics.track
        shown = np.empty((len(track), self.hold, self.arena.colours), np.bool_)
        for step in range(self.hold):
            if self.moving:
                self._drift()
            shown[:, step] = inside(self.zones, track[:, step, None, None, :2], self.arena.radius)
        self._labels = told_labels(self._labels, shown) if self.hold > 1 else shown[:, 0]
        out = (np.abs(track[..., :2]) >= self.arena.wall).any(axis=(1, 2))
        self.over = np.asarray(out)
        x, y = self.physics.pose[:, 0], self.physics.pose[:, 1]
        wall = self.arena.wall
        self._wall = np.exp(-np.abs(np.stack([x - wall, y + wall, x + wall, y - wall], axis=1)))

    def _drift(self) -> None:
        """Move the zones for 0.02 s; they turn back at the edge, and pass over one another."""
        self.zones = self.zones + self._velocity * STEP_SECONDS
        out = np.abs(self.zones) > self.arena.zones
        self._velocity = np.where(out, -np.sign(self.zones) * abs(self._velocity), self._velocity)

    def labels(self) -> BoolArray:
        """Return the colours of the zones that each robot's centre is in, `(count, colours)`."""
        return self._labels

    def observe(self) -> FloatArray:
        """Return what each robot sensors: motion, walls, a lidar for each colour."""
        lidar = zone_lidar(self.physics.pose, self.zones)
        return np.concatenate([self.physics.sensors, self._wall, lidar], axis=1)


def zone_lidar(pose: FloatArray, zones: FloatArray) -> FloatArray:
    """Return `(n, 16 · colours)`: for each colour, the light of its brightest zone in each bin."""
    count, colours = zones.shape[:2]
    shown, distance = shown_in_bins(pose, zones.reshape(count, -1, 2))
    shown *= np.exp(-FALL * distance)[..., None]
    brightest: FloatArray = shown.reshape(count, colours, EACH, BINS).max(2).reshape(count, -1)
    return brightest


def observations(colours: int) -> int:
    """Return how many numbers an observation has: 80 with four colours."""
    return SENSORS + WALLS + BINS * colours


# Zones domain (`skm/Zones-v0`): ZoneEnv of LTL2Action, DeepLTL and GenZ-LTL, directly on MuJoCo.
#
# Observation, 80 numbers with four colours: accelerometer, velocimeter, gyro, magnetometer (three
# each), the wall sensor (four: exp(−distance) to each wall; zeros before the first step), then a
# pseudo-lidar of 16 bins for each colour. Action: two numbers in [-1, 1], the force along the
# heading and the wanted turning speed. A step lasts 0.02 s.
#
# A proposition, a colour, holds while the robot's centre is in a zone of it. Meeting a wall ends
# the episode. Rewards are 0: they come from the reward machine.
#
# Options: `colours` (2, 4, 6, 8 or 10), `overlap` (zones may lie on one another), `moving` (metres a
# second at which zones move, straight on and back at the edge), and of the batch `hold`: steps of
# 0.02 s that one step of the batch takes, with labels as if each of them counted.


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
        """Start an episode in an arena drawn at random, or in `options["layout"]`."""
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
