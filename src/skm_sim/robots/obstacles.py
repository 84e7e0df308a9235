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
BODY = 0.85
"""Part of the robot's radius in which a return ahead counts even where the map has a wall: not all of
it, since a robot goes along walls, and its pose and its laser err by centimetres."""
REACTION = 0.05
"""Metres that a robot still goes before it brakes: two periods of 20 Hz at 0.4 m/s, and some."""
CREEP = 0.05
"""m/s at which a robot may still approach a wall of the map, to stand where its cell is."""
TOUCHING = 0.02
"""Metres before anything at all at which it goes no further."""
LASER_ERROR = 0.02
"""Metres by which a laser errs, and by which a post between two rays is closer than they say."""
NEAR = 0.6
"""Metres beyond the robot's radius within which what a laser sees may soon be grazed."""


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
        self.radius = radius
        self.margin = margin
        self.free_way = math.inf
        self.bare_way = math.inf
        """How far the robot can go ahead before it meets anything, on the map or not."""
        self.blocked = False
        """Whether the robot cannot go ahead at all."""
        self.unknown: FloatArray = np.empty((0, 2))
        """What was seen last that is not on the map, as points of the map frame."""
        self._near: FloatArray = np.empty((0, 2))
        """What was seen last around the robot, on the map or not, as points of the map frame."""

    @property
    def touching(self) -> bool:
        """Whether the robot may not go ahead at all for what is there, on the map or not."""
        return self.bare_way <= TOUCHING

    def look(self, pose: Pose, distances: FloatArray, angles: FloatArray, mount: Pose) -> None:
        """Take a scan, seen from a laser that is mounted there on a robot that is at that pose."""
        usable = np.isfinite(distances) & (distances > 0)
        reach, bearing = distances[usable], angles[usable] + mount[2]
        ahead = mount[0] + reach * np.cos(bearing)
        aside = mount[1] + reach * np.sin(bearing)
        self.bare_way = self._bare_way(ahead, aside)
        x, y, heading = pose
        cosine, sine = math.cos(heading), math.sin(heading)
        seen = np.stack([x + cosine * ahead - sine * aside, y + sine * ahead + cosine * aside], 1)
        strange = np.ones(len(seen), np.bool_)
        if self._known is not None and len(seen):
            strange = ~self._known.is_solid(seen[:, 0], seen[:, 1])
        self.unknown = seen[strange]
        away = np.hypot(ahead, aside)
        # What is seen inside of the robot's circle is the robot: it turns as it does.
        self._near = seen[(away > BODY * self.radius) & (away < self.radius + NEAR)]
        in_way = strange & (ahead > 0) & (np.abs(aside) < self.radius + self.margin / 2)
        nearest = _second(ahead[in_way])
        self.free_way = max(0.0, nearest - self.radius - self.margin)
        self.blocked = self.free_way < (FREE_AGAIN if self.blocked else BLOCKED)

    def stands_in_way(self, pose: Pose) -> bool:
        """Tell whether something that is not on the map would block a robot that is at that pose."""
        ahead, aside = _seen_from(pose, self.unknown)
        in_way = (ahead > 0) & (np.abs(aside) < self.radius + self.margin / 2)
        return _second(ahead[in_way]) - self.radius - self.margin < BLOCKED

    def way(self, pose: Pose) -> float:
        """Return how far a robot at that pose can go straight ahead before it grazes anything it sees.

        It keeps `LASER_ERROR` more than its radius from it. What is closer already it may pass, but not
        come closer to.
        """
        ahead, aside = _seen_from(pose, self._near)
        reach = np.minimum(self.radius + LASER_ERROR, np.hypot(ahead, aside))
        in_way = (ahead > 0) & (np.abs(aside) < reach)
        front = np.sqrt(reach[in_way] ** 2 - aside[in_way] ** 2)
        return _second(ahead[in_way] - front)

    def _bare_way(self, ahead: FloatArray, aside: FloatArray) -> float:
        """Return how far the robot's own circle can go ahead, whatever the map says."""
        body = (ahead > 0) & (np.abs(aside) < BODY * self.radius)
        front = np.sqrt(self.radius**2 - aside[body] ** 2)
        return max(0.0, _second(ahead[body] - front))

    def speed(self, limits: Limits) -> float:
        """Return how fast the robot may go ahead.

        What is not on the map is kept at a distance. Walls of the map may be approached, but never
        faster than the robot can stop before what it really sees: the pose by which they are known may
        be wrong.
        """
        before_walls = 0.0
        if not self.touching:
            before_walls = max(CREEP, limits.slowing_speed(self.bare_way - REACTION))
        return min(limits.slowing_speed(self.free_way), before_walls)


def _seen_from(pose: Pose, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far ahead and how far to the left of a pose some points are."""
    x, y, heading = pose
    cosine, sine = math.cos(heading), math.sin(heading)
    dx, dy = points[:, 0] - x, points[:, 1] - y
    return cosine * dx + sine * dy, cosine * dy - sine * dx


def _second(values: FloatArray) -> float:
    """Return the second least of some numbers: a single return is noise; infinite if there is none."""
    return (
        float(np.partition(values, LEAST_RAYS - 1)[LEAST_RAYS - 1])
        if len(values) >= LEAST_RAYS
        else math.inf
    )
