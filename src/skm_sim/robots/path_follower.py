"""Ways with clearance through the cells of a map, and following them smoothly."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.floor import Floor
from skm_sim.maps.occupancy import Clearance, OccupancyMap
from skm_sim.maps.places import Places
from skm_sim.robots.pose import REST, Limits, Velocity
from skm_sim.robots.walls import Pose

# Following a path of straight pieces with a robot on two wheels: smoothly, and never far from it.
#
# The robot aims at the path a little further on. A point ahead of the wheels' axle can go any way
# at once, sideways by turning: if base_link is one, it goes straight to where it aims. If it is
# on the axle, the robot bends towards there, as if it were. It slows down in bends as far as the
# turning needs, and so that it can come to rest where the known path ends.


Point: TypeAlias = tuple[float, float]

TURN_GAIN: Final = 3.0
"""rad/s for a radian, while it turns on the spot."""
REACH: Final = 0.15
"""Stands in for the way from the axle to base_link where that is none, in metres."""
AHEAD, ON_AXLE = math.pi / 2, math.pi / 4
"""If it aims further off than this, it turns on the spot first: a base_link ahead of the axle goes any
way ahead at once, one on the axle only straight."""
BEND: Final = 0.03
"""Metres from a bend at which it is reached."""
END: Final = 0.02
"""Metres from the path's end at which the robot may rest: it has arrived."""


@dataclass(frozen=True)
class Chassis:
    """What a robot measures, in metres; base_link is the point whose pose is known."""

    axle: float = 0.0
    """From the axle of the driven wheels ahead to base_link; 0: base_link is on it, as usual."""
    radius: float = 0.22
    """Of a circle around base_link that holds the whole robot."""


@dataclass(frozen=True)
class OnPath:
    """Where a point is beside a path."""

    away: float
    """Metres to the nearest point of the path."""
    left: float
    """Metres from there to the path's end, along it."""
    piece: int
    """The piece of the path that this is on, from 0."""
    nearest: Point


def project(point: Point, path: Sequence[Point]) -> OnPath:
    """Return where a point is beside a path; of equally near places the one furthest on."""
    best: OnPath | None = None
    left = 0.0
    if len(path) == 1:
        return OnPath(math.dist(point, path[0]), 0.0, 0, path[0])
    for piece in range(len(path) - 2, -1, -1):
        (ax, ay), (bx, by) = path[piece], path[piece + 1]
        length = math.dist(path[piece], path[piece + 1])
        along = 0.0
        if length > 0:
            along = ((point[0] - ax) * (bx - ax) + (point[1] - ay) * (by - ay)) / length**2
            along = max(0.0, min(1.0, along))
        nearest = ax + along * (bx - ax), ay + along * (by - ay)
        away = math.dist(point, nearest)
        if best is None or away < best.away - 1e-9:
            best = OnPath(away, left + (1 - along) * length, piece, nearest)
        left += length
    assert best is not None
    return best


def ahead(on_path: OnPath, path: Sequence[Point], distance: float) -> Point:
    """Return the point of a path so many metres further on than a place on it, or its end."""
    here = on_path.nearest
    for there in path[on_path.piece + 1 :]:
        length = math.dist(here, there)
        if length >= distance > 0:
            part = distance / length
            return here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])
        distance -= length
        here = there
    return here


def remaining(point: Point, path: list[Point]) -> list[Point]:
    """Return a path without the pieces that are behind: a bend, once reached, is not gone back to."""
    first = project(point, path).piece
    while first + 2 < len(path) and math.dist(point, path[first + 1]) < BEND:
        first += 1
    return path[first:]


def _speed_for_bends(
    on_path: OnPath, path: Sequence[Point], chassis: Chassis, limits: Limits
) -> float:
    """Return a speed from which the robot can slow down for every bend ahead."""
    least, way, here = limits.speed, 0.0, on_path.nearest
    for number in range(on_path.piece + 1, len(path) - 1):
        (bx, by), (cx, cy) = path[number], path[number + 1]
        ax, ay = path[number - 1]
        way += math.dist(here, path[number])
        here = path[number]
        bend = math.remainder(math.atan2(cy - by, cx - bx) - math.atan2(by - ay, bx - ax), math.tau)
        through = _speed_through(abs(bend), chassis, limits)
        least = min(least, math.sqrt(through**2 + 2 * limits.acceleration * way))
    return least


def _speed_through(bend: float, chassis: Chassis, limits: Limits) -> float:
    if not chassis.axle:
        return limits.speed * max(0.0, math.cos(bend))
    if bend > AHEAD:
        return 0.0
    return min(limits.speed, limits.turn * chassis.axle / max(math.sin(bend), 1e-9))


def turn_towards(off: float, limits: Limits) -> Velocity:
    """Return the velocity of a robot that turns where it stands, by so much."""
    return Velocity(0.0, max(-limits.turn, min(limits.turn, TURN_GAIN * off)))


def follow(
    pose: Pose, path: Sequence[Point], chassis: Chassis, limits: Limits, lookahead_distance: float
) -> Velocity:
    """Return the velocity with which to follow a path.

    `lookahead_distance` is how far ahead on it to aim.
    """
    x, y, heading = pose
    point = x, y
    on_path = project(point, path)
    target = ahead(on_path, path, lookahead_distance)
    to_target = math.dist(point, target)
    if to_target < END and on_path.left < END:
        return REST
    bearing = math.atan2(target[1] - point[1], target[0] - point[0])
    off = math.remainder(bearing - heading, 2 * math.pi)
    speed = limits.slowing_speed(max(on_path.left, to_target))
    speed = min(speed, _speed_for_bends(on_path, path, chassis, limits))
    if abs(off) > (AHEAD if chassis.axle else ON_AXLE):
        return turn_towards(off, limits)
    turn = speed * math.sin(off) / (chassis.axle or REACH)
    slowed = min(1.0, limits.turn / abs(turn)) if turn else 1.0
    return Velocity(slowed * speed * math.cos(off), slowed * turn)


# Ways from cell to cell for a robot that is never exactly on them: with room to what must not be
# met.
#
# A move of a map's floor leads from centre to centre, and may pass very close to a forbidden place. A
# robot strays by centimetres. So each cell has a point to go through, near its centre, around
# which its labels hold and no further constraint does, with some room to walls, and a way that
# passes a constraint too closely bends away from it. Where walls leave no room, the centre and the
# straight way stay as they are.


DIRECTIONS: Final = 8
RINGS: Final = 3
"""Around a centre, the points that are looked at are on so many circles, `DIRECTIONS` on each."""
KEPT: Final = 50_000
ROUNDING: Final = 1e-6
WALL_ROOM: Final = 0.05
"""Metres to keep from walls beyond the robot's radius, where there are: a pose errs by half of that."""
BESIDE_WALL, CONSTRAINED = 3.0, 4.0
"""What it counts as to be closer to a wall than that, and to have a constraint at a point around: so
many points around at which only a place's own labels do not hold."""
PIECES: Final = 8
"""Of a way: as many as are looked at for what is near."""


class ClearancePlanner:
    """Points to go through, and ways between them; worked out where they are needed."""

    def __init__(
        self,
        floor: Floor,
        places: Places,
        constraints: Collection[str] = (),
        *,
        margin: float = 0.1,
        walls: tuple[OccupancyMap, float] | None = None,
    ) -> None:
        """`margin` is the room to keep; `walls` are a map, and the robot's radius to keep from them."""
        self._floor, self._places, self._margin = floor, places, margin
        self._forbidden = np.array([name in constraints for name in places.names], np.bool_)
        self._radius = 0.0
        self._clearance: Clearance | None = None
        if walls is not None:
            occupancy, self._radius = walls
            reach = self._radius + WALL_ROOM + 2 * occupancy.resolution
            self._clearance = Clearance(occupancy, reach)
        angles = np.arange(DIRECTIONS) * math.tau / DIRECTIONS
        self._circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.adjust(margin)

    def adjust(self, margin: float) -> None:
        """Take another margin for all ways from now on."""
        self._margin = margin
        self.through = lru_cache(maxsize=KEPT)(self._through)
        self.way = lru_cache(maxsize=KEPT)(self._way)

    def _through(self, cell: int) -> Point:
        """Return the point by which to go through a cell."""
        centre = self._floor.centres[cell]
        labels = self._places.labels_of(centre[None])[0]
        if self._is_free(centre[None], WALL_ROOM)[0] and not self._faults(centre[None], labels)[0]:
            return float(centre[0]), float(centre[1])
        sizes = np.arange(1, RINGS + 1)[:, None, None] / RINGS * self._margin
        tried = np.concatenate([[centre], (centre + sizes * self._circle).reshape(-1, 2)])
        faults = self._faults(tried, labels)
        faults += np.where(self._is_free(tried, WALL_ROOM), 0.0, BESIDE_WALL)
        best = int(np.where(self._is_free(tried), faults, np.inf).argmin())
        x, y = tried[best] if np.isfinite(faults[best]) else centre
        return float(x), float(y)

    def _faults(self, points: FloatArray, labels: BoolArray) -> FloatArray:
        """Return for each point at how many points around it the labels are not as they should be.

        What holds must hold there, and no constraint that does not hold, which counts more; a point that
        is wrong itself is none.
        """
        around = (points[:, None] + self._margin * self._circle).reshape(-1, 2)
        here, there = self._places.labels_of(points), self._places.labels_of(around)
        missing, unwanted = (
            part.reshape(len(points), -1).sum(axis=1) for part in self._wrong(there, labels)
        )
        wrong = np.logical_or(*self._wrong(here, labels))
        return np.where(wrong, np.inf, missing + CONSTRAINED * unwanted)

    def _wrong(self, found: BoolArray, labels: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Tell where labels are missing, and where there are constraints that should not be."""
        missing, unwanted = labels & ~found, found & ~labels & self._forbidden
        return np.asarray(missing.any(axis=1)), np.asarray(unwanted.any(axis=1))

    def _is_free(self, points: FloatArray, room: float = 0.0) -> BoolArray:
        if self._clearance is None:
            return np.ones(len(points), np.bool_)
        return self._clearance.at_least(points, self._radius + room)

    def is_clear(self, start: Point, end: Point) -> bool:
        """Tell whether a straight way comes no nearer to a constraint than it may, or starts.

        Those that one of its ends is in are not meant.
        """
        parts = np.linspace(0, 1, PIECES + 1)[:, None]
        points = np.array(start) + parts * (np.array(end) - np.array(start))
        ends = self._places.labels_of(points[[0, -1]]).any(axis=0)
        gaps = self._places.distances(points)[:, self._forbidden & ~ends]
        return bool((gaps.min(axis=0) >= np.minimum(self._margin, gaps[0]) - ROUNDING).all())

    def _way(self, here: int, there: int) -> tuple[Point, ...]:
        """Return the points after the one of `here` by which to go on to `there`."""
        start, end = np.array(self.through(here)), np.array(self.through(there))
        ends = self._places.labels_of(np.stack([start, end])).any(axis=0)
        avoided = np.flatnonzero(self._forbidden & ~ends)
        last = float(end[0]), float(end[1])
        if not len(avoided):
            return (last,)
        parts = np.linspace(0, 1, PIECES + 1)[1:-1, None]
        points = start + parts * (end - start)
        gaps = self._places.distances(points)[:, avoided].min(axis=1)
        nearest = points[gaps.argmin()]
        if gaps.min() >= self._margin:
            return (last,)
        sizes = np.arange(1, RINGS + 1)[:, None, None] / RINGS * self._margin
        tried = (nearest + sizes * self._circle).reshape(-1, 2)
        room = np.minimum(self._places.distances(tried)[:, avoided].min(axis=1), self._margin)
        best = int(np.where(self._is_free(tried), room, -1.0).argmax())
        if room[best] <= gaps.min() or not self._is_free(tried[best : best + 1])[0]:
            return (last,)
        return (float(tried[best, 0]), float(tried[best, 1])), last
