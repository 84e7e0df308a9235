"""Two or three point robots in one arena of zones.

Each robot is a body of its own in MuJoCo, among the same zones: bodies do not touch, they would pass
through each other. Two centres nearer than two radii are a collision, which the team's runner has
to count. Nothing in the observation of Zones says where other robots are. It can be made to: `observe`
shows them to a robot in the lidar of a colour, in place of the zones of that colour, so that a skill
that avoids the colour keeps clear of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.safety_gym.brake import braking
from skm_sim.spec import DomainError
from skm_sim.zones.env import ZonesWorld, zone_lidar
from skm_sim.zones.layout import EACH, ZoneLayout, sample_layouts

RADIUS: Final = 0.1
"""Of Safety Gym's point robot."""
KEPT: Final = 0.22
"""Metres between centres at which the zone begins as which a robot is shown: zones are larger than
robots. Nearer robots are not shown: a skill has no way out of what it avoids."""
MOST: Final = EACH + 1
"""Robots: the lidar of a colour shows as many others as there are zones of it."""
TRIES: Final = 10_000


class ZonesTeam:
    """Robots in an arena of four colours; see the module."""

    radius = RADIUS

    def __init__(self, names: Sequence[str]) -> None:
        if len(names) > MOST:
            raise DomainError(f"there are {len(names)} robots; an arena takes {MOST}")
        self.names = tuple(names)
        self._world = ZonesWorld(len(names), 4, 1, 0.0)
        self._out: BoolArray = np.zeros(len(names), np.bool_)

    def reset(self, seed: int, starts: Mapping[str, Sequence[float]]) -> None:
        """Begin in an arena drawn as that of one robot, the others as far from zones, and apart."""
        arena, count = self._world.arena, len(self.names)
        random = np.random.default_rng(seed)
        drawn = sample_layouts(random, 1)[0]
        robots = np.tile(drawn.robot, (count, 1))
        placed: list[int] = []
        for name, start in starts.items():
            number = self.names.index(name)
            robots[number, : len(start)] = start
            for other in placed:
                if np.hypot(*(robots[number] - robots[other])[:2]) < 2 * RADIUS:
                    raise DomainError(
                        f"{self.names[other]} and {name} begin too close to each other"
                    )
            placed.append(number)
        for number in (n for n in range(count) if n not in placed):
            place, heading = drawn.robot[:2], drawn.robot[2]
            for _ in range(TRIES):
                apart = np.hypot(*(robots[placed, :2] - place).T)
                gaps = np.hypot(*np.moveaxis(drawn.zones - place, -1, 0))
                if gaps.min() >= arena.clearance and apart.min(initial=np.inf) >= 4 * RADIUS:
                    break
                place = random.uniform(-arena.robot, arena.robot, 2)
                heading = random.uniform(0, 2 * np.pi)
            robots[number] = *place, heading
            placed.append(number)
        layout = ZoneLayout(robots, np.tile(drawn.zones, (count, 1, 1, 1)))
        self._world.reset(np.ones(count, np.bool_), layout, random)
        self._out[:] = False

    def step(self, actions: FloatArray) -> None:
        """Take a step of 0.02 s; a robot that has met a wall stands where it did."""
        self._world.step(np.where(self._out[:, None], 0.0, actions))
        self._out |= self._world.over

    def labels(self) -> list[frozenset[str]]:
        """Return the colours of the zones that each robot is in."""
        names = self._world.arena.names
        return [
            frozenset(name for name, holds in zip(names, row, strict=True) if holds)
            for row in self._world.labels().tolist()
        ]

    def observe(self, shown_as: Sequence[str]) -> FloatArray:
        """Return the observations, with the other robots as zones of a colour where one is named."""
        seen = self._world.observe()
        zones = self._world.zones.copy()
        where, names = self.positions, self._world.arena.names
        for robot, colour in enumerate(shown_as):
            if colour:
                gap = np.delete(where, robot, axis=0) - where[robot]
                away = np.maximum(np.hypot(*gap.T), 1e-9)[:, None]
                shown = where[robot] + gap * (1 + (self._world.arena.radius - KEPT) / away)
                shown = shown[away[:, 0] > KEPT]
                if len(shown):
                    zones[robot, names.index(colour)] = shown[np.arange(EACH) % len(shown)]
        lidar = zone_lidar(self._world.physics.pose, zones)
        seen[:, -lidar.shape[1] :] = lidar
        return seen

    def brakes(self) -> FloatArray:
        """Return the actions that bring the robots to rest."""
        return np.stack([braking(self._world.physics, robot) for robot in range(len(self.names))])

    @property
    def positions(self) -> FloatArray:
        """`(robots, 2)`: where they are, in metres."""
        where: FloatArray = self._world.physics.pose[:, :2].copy()
        return where

    @property
    def ended(self) -> BoolArray:
        """`(robots,)`: who has met a wall."""
        return self._out.copy()

    def as_dict(self) -> dict[str, Any]:
        """Return where the zones are, and where the robots began."""
        layout = self._world.layout
        return {"zones": layout.zones[0].tolist(), "robots": layout.robot.tolist()}
