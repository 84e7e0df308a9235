"""Velocities and poses of a robot on two wheels: limits, and where it is from noisy, late readings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from skm_sim.robots.walls import Pose

# Velocities of a robot on two wheels, and what keeps them within its limits.


class Velocity(NamedTuple):
    """Ahead in m/s, and turning (counter-clockwise) in rad/s."""

    speed: float
    turn: float


REST: Final = Velocity(0.0, 0.0)


@dataclass(frozen=True)
class Limits:
    """What a robot may be asked for."""

    speed: float = 0.4
    """m/s"""
    turn: float = 1.5
    """rad/s"""
    acceleration: float = 0.8
    """m/s², also when it slows down for the end of its path; a stop does not keep to it."""
    turn_acceleration: float = 6.0
    """rad/s²"""

    def slowing_speed(self, way: float) -> float:
        """Return the greatest speed from which the robot comes to rest within so many metres."""
        return min(self.speed, math.sqrt(2 * self.acceleration * max(0.0, way)))

    def approach(self, present: Velocity, wanted: Velocity, seconds: float) -> Velocity:
        """Return what can be asked for after so many seconds on the way to what is wanted."""
        speed = _towards(present.speed, wanted.speed, self.acceleration * seconds)
        turn = _towards(present.turn, wanted.turn, self.turn_acceleration * seconds)
        return Velocity(_clip(speed, self.speed), _clip(turn, self.turn))


def _towards(value: float, target: float, most: float) -> float:
    return value + _clip(target - value, most)


def _clip(value: float, most: float) -> float:
    return max(-most, min(most, value))


# Where a robot is now, from readings that are noisy, late, and sometimes missing.
#
# Between readings the pose goes on with the measured velocities; a reading pulls it over by a
# part of the difference. A reading that is far off (the robot was carried, or found itself anew)
# is believed at once. Times are of a steady clock, in seconds.


POSE_ERROR: Final = 0.05
"""Metres by which a pose may be out: a robot is in a place for sure so far beyond its border. Localisers
err by centimetres, and a stack that is stopped at once leaves the robot where it is."""

JUMP: Final = 0.3
"""Metres beyond which a reading is no noise."""

FORESIGHT: Final = 0.3
"""Seconds for which a pose goes on without readings; then it is unknown."""


def moved(pose: Pose, velocity: Velocity, seconds: float) -> Pose:
    """Return where a pose goes with a velocity."""
    x, y, heading = pose
    middle = heading + velocity.turn * seconds / 2
    way = velocity.speed * seconds
    turned = math.remainder(heading + velocity.turn * seconds, 2 * math.pi)
    return x + way * math.cos(middle), y + way * math.sin(middle), turned


def combined(first: Pose, second: Pose) -> Pose:
    """Return a pose that is given in the frame of another one."""
    x, y, heading = first
    cosine, sine = math.cos(heading), math.sin(heading)
    return (
        x + cosine * second[0] - sine * second[1],
        y + sine * second[0] + cosine * second[1],
        math.remainder(heading + second[2], 2 * math.pi),
    )


def between(first: Pose, second: Pose, part: float) -> Pose:
    """Return the pose after a part of the way from one pose to another, from 0 to 1."""
    turned = math.remainder(second[2] - first[2], 2 * math.pi)
    return (
        first[0] + part * (second[0] - first[0]),
        first[1] + part * (second[1] - first[1]),
        math.remainder(first[2] + part * turned, 2 * math.pi),
    )


def inverse(pose: Pose) -> Pose:
    """Return the pose of the origin in the frame of a pose."""
    x, y, heading = pose
    cosine, sine = math.cos(heading), math.sin(heading)
    return -cosine * x - sine * y, sine * x - cosine * y, -heading


class PoseTracker:
    """The estimate of a pose; `latency` is how old readings are when they arrive."""

    def __init__(self, filter_gain: float = 0.3, latency: float = 0.0) -> None:
        """`filter_gain` is the part of a difference that a reading pulls the estimate over, 0 to 1."""
        self.filter_gain = filter_gain
        self.latency = latency
        self._pose: Pose | None = None
        self._when = -1e9
        self.velocity = REST
        self.read_at = -1e9
        """When the last reading came."""
        self.reading: Pose = (0.0, 0.0, 0.0)
        """The last reading itself."""

    @property
    def known(self) -> bool:
        """Whether there has been a reading."""
        return self._pose is not None

    def read(self, pose: Pose, velocity: Velocity, now: float) -> float:
        """Take a reading that arrives now; return how far off it is, 0 if no more than noise.

        What is far off is believed all the same: whether the robot may move then is for others to say.
        """
        self.read_at, self.reading = now, pose
        part = self.filter_gain
        self.velocity = Velocity(
            self.velocity.speed + part * (velocity.speed - self.velocity.speed),
            self.velocity.turn + part * (velocity.turn - self.velocity.turn),
        )
        seen = moved(pose, self.velocity, self.latency)
        if self._pose is None:
            self._pose, self._when = seen, now
            return 0.0
        x, y, heading = self.at(now)
        self._when = now
        jump = math.dist((x, y), seen[:2])
        if jump > JUMP:
            self._pose = seen
            return jump
        turned = math.remainder(seen[2] - heading, 2 * math.pi)
        heading = math.remainder(heading + part * turned, 2 * math.pi)
        self._pose = x + part * (seen[0] - x), y + part * (seen[1] - y), heading
        return 0.0

    def at(self, now: float) -> Pose:
        """Return the pose at a time at or after the last reading."""
        assert self._pose is not None
        return moved(self._pose, self.velocity, min(max(0.0, now - self._when), FORESIGHT))
