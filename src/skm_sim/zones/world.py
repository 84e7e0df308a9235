"""A batch of arenas of coloured zones, each with its robot; what both environments are shells of."""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.domain import DomainError
from skm_sim.held_labels import told_labels
from skm_sim.point_robot import SENSORS, SUBSTEPS, PointRobots
from skm_sim.pseudo_lidar import BINS, shown_in_bins
from skm_sim.zones.layout import EACH, Arena, ZoneLayout, inside

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
        """Return what each robot senses: motion, walls, a lidar for each colour."""
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
