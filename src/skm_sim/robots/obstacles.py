"""What a laser sees that is not on the map, and how fast a robot may go towards it."""

from __future__ import annotations

import math

import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.robots.pose import Limits
from skm_sim.robots.walls import Pose, Walls

LEAST_RAYS = 2
"""So many rays must end in the same obstacle's way: a single one is noise."""
BLOCKED, FREE_AGAIN = 0.03, 0.1
"""Metres of free way below which the way is blocked, and above which it is free again."""


def grown(walls: Walls, distance: float) -> Walls:
    """Return walls that reach so much further, along rows and columns, and slantwise."""
    solid = walls.solid
    for _ in range(math.ceil(distance / walls.resolution)):
        padded = np.pad(solid, 1)
        rows = padded[:-2] | padded[1:-1] | padded[2:]
        solid = rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:]
    return Walls(solid, walls.resolution, walls.origin)


class ObstacleMonitor:
    """Looks at scans; `free_way` is how far the robot can go ahead before it meets the unknown."""

    def __init__(self, known: Walls | None, radius: float, margin: float = 0.1) -> None:
        """`known` are the map's walls, as wide as they may look; `radius` is the robot's."""
        self._known = known
        self._radius = radius
        self._margin = margin
        self.free_way = math.inf
        self.blocked = False
        """Whether the robot cannot go ahead at all."""

    def look(self, pose: Pose, distances: FloatArray, angles: FloatArray, mount: Pose) -> None:
        """Take a scan, seen from a laser that is mounted there on a robot that is at that pose."""
        usable = np.isfinite(distances) & (distances > 0)
        reach, bearing = distances[usable], angles[usable] + mount[2]
        ahead = mount[0] + reach * np.cos(bearing)
        aside = mount[1] + reach * np.sin(bearing)
        in_way = (ahead > 0) & (np.abs(aside) < self._radius + self._margin / 2)
        ahead, aside = ahead[in_way], aside[in_way]
        if self._known is not None and len(ahead):
            x, y, heading = pose
            cosine, sine = math.cos(heading), math.sin(heading)
            seen_x = x + cosine * ahead - sine * aside
            seen_y = y + sine * ahead + cosine * aside
            ahead = ahead[~self._known.is_solid(seen_x, seen_y)]
        ordered = np.sort(ahead)
        nearest = ordered[LEAST_RAYS - 1] if len(ordered) >= LEAST_RAYS else math.inf
        self.free_way = max(0.0, float(nearest) - self._radius - self._margin)
        self.blocked = self.free_way < (FREE_AGAIN if self.blocked else BLOCKED)

    def speed(self, limits: Limits) -> float:
        """Return how fast the robot may go ahead."""
        return limits.slowing_speed(self.free_way)
