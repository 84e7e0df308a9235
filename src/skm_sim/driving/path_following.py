"""Following a path of straight pieces with a robot on two wheels: smoothly, and never far from it.

The robot aims at the path a little further on. A point ahead of the wheels' axle can go any way at once,
sideways by turning: if base_link is one, it goes straight to where it aims. If it is on the axle, the
robot bends towards there, as if it were. It slows down in bends as far as the turning needs, and so that
it can come to rest where the known path ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from skm_sim.driving.velocities import REST, Limits, Velocity
from skm_sim.robots.walls import Pose

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


def follow(
    pose: Pose, path: Sequence[Point], chassis: Chassis, limits: Limits, sight: float
) -> Velocity:
    """Return the velocity with which to follow a path; `sight` is how far ahead on it to aim."""
    x, y, heading = pose
    point = x, y
    on_path = project(point, path)
    target = ahead(on_path, path, sight)
    to_target = math.dist(point, target)
    if to_target < END and on_path.left < END:
        return REST
    bearing = math.atan2(target[1] - point[1], target[0] - point[0])
    off = math.remainder(bearing - heading, 2 * math.pi)
    speed = limits.slowing_speed(max(on_path.left, to_target))
    speed = min(speed, _speed_for_bends(on_path, path, chassis, limits))
    if abs(off) > (AHEAD if chassis.axle else ON_AXLE):
        turn = max(-limits.turn, min(limits.turn, TURN_GAIN * off))
        return Velocity(0.0, turn)
    turn = speed * math.sin(off) / (chassis.axle or REACH)
    slowed = min(1.0, limits.turn / abs(turn)) if turn else 1.0
    return Velocity(slowed * speed * math.cos(off), slowed * turn)
