"""Velocities of a robot on two wheels, and what keeps them within its limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple


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
