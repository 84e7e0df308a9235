"""What every way to drive a robot has in common: its pose, its laser, its limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from skm_sim.arrays import FloatArray
from skm_sim.driving.obstacle_watch import ObstacleWatch
from skm_sim.driving.path_following import Chassis
from skm_sim.driving.pose_tracker import PoseTracker
from skm_sim.driving.velocities import REST, Limits, Velocity
from skm_sim.robots.walls import Pose, Walls

STILL: Final = Velocity(0.02, 0.1)
"""A robot that is slower than this stands."""


@dataclass(frozen=True)
class Entered:
    """A state that has been entered."""

    value: Any
    """What is observed: the index of a cell, or numbers."""
    labels: frozenset[str]


@dataclass(frozen=True)
class Manner:
    """How to drive: all that is not the robot's own."""

    period: float = 0.05
    """Seconds between two velocities."""
    sight: float = 0.15
    """How far ahead on the path to aim, in metres."""
    trust: float = 0.3
    """The part of a difference by which a reading of the pose counts."""
    late: float = 0.0
    """How old readings of the pose are when they arrive, in seconds."""
    berth: float = 0.1
    """Metres to keep from what is not on the map."""
    horizon: float = 0.5
    """Metres ahead of the robot at which a cell may count as reached: see `cell_walk`."""
    margin: float = 0.1
    """Metres to keep from constraints: see `clear_ways`."""
    step: float = 0.4
    """Seconds that a step of a domain's own robot takes this one: see `role_drive`."""


class Driving(Protocol):
    """What the bridge asks of a drive: poses and scans in, states entered, velocities out."""

    tracker: PoseTracker
    obstacles: ObstacleWatch

    def scan(self, distances: FloatArray, angles: FloatArray, now: float, mount: Pose) -> None:
        """Take a scan of a laser that is mounted there."""
        ...

    @property
    def stands(self) -> bool:
        """Whether the robot does not move, as far as its readings can tell."""
        ...

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        ...

    def take(self, action: Any, now: float) -> None:  # noqa: ANN401 - of the domain
        """Take the action to the present state."""
        ...

    def states(self, now: float, *, resting: bool) -> list[Entered]:
        """Return the states that were entered since the last call; `resting`: nobody drives it."""
        ...

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period of a robot that may move."""
        ...

    def halt(self) -> Velocity:
        """Return the command that stops the robot."""
        ...


class RobotDrive:
    """Where the robot is, what stands in its way, and how its velocity may change."""

    def __init__(
        self, chassis: Chassis, limits: Limits, manner: Manner, known: Walls | None
    ) -> None:
        self.tracker = PoseTracker(manner.trust, manner.late)
        self.obstacles = ObstacleWatch(known, chassis.radius, manner.berth)
        self._chassis, self._limits, self._manner = chassis, limits, manner
        self._velocity = REST
        self._begun = False

    def scan(
        self, distances: FloatArray, angles: FloatArray, now: float, mount: Pose = (0.0, 0.0, 0.0)
    ) -> None:
        """Take a scan of a laser that is mounted there."""
        if self.tracker.known:
            self.obstacles.look(self.tracker.at(now), distances, angles, mount)

    @property
    def stands(self) -> bool:
        """Whether the robot does not move, as far as its readings can tell."""
        speed, turn = self.tracker.velocity
        return abs(speed) < STILL.speed and abs(turn) < STILL.turn

    def halt(self) -> Velocity:
        """Return the command that stops the robot."""
        self._velocity = REST
        return REST

    @property
    def _allowed(self) -> Limits:
        """The limits, with no more speed than what stands ahead leaves room for."""
        return replace(self._limits, speed=max(1e-6, self.obstacles.speed(self._limits)))

    def _commanded(self, wanted: Velocity) -> Velocity:
        """Return what can be asked for on the way to what is wanted."""
        if self.obstacles.blocked:
            wanted = Velocity(min(0.0, wanted.speed), wanted.turn)
        self._velocity = self._limits.approach(self._velocity, wanted, self._manner.period)
        most = self._allowed.speed
        if self._velocity.speed > most:
            self._velocity = Velocity(most, self._velocity.turn)
        return self._velocity
