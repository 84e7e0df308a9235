"""A robot driven through a map: poses and scans come in, states are entered, velocities go out.

This is all of the bridge but its messages: the node calls it once a control period, and so does whoever
drives a simulated robot faster than life. Whether the robot may move at all is not decided here but by
the command gate; here is what it does if it may. Times are of a steady clock, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from skm_sim.arrays import FloatArray
from skm_sim.driving.cell_walk import CellWalk, Entered
from skm_sim.driving.clear_ways import ClearWays
from skm_sim.driving.obstacle_watch import ObstacleWatch, grown
from skm_sim.driving.path_following import Chassis, follow
from skm_sim.driving.pose_tracker import PoseTracker
from skm_sim.driving.velocities import REST, Limits, Velocity
from skm_sim.maps.building import Building
from skm_sim.robots.walls import Pose, Walls, walls_of

KNOWN_WIDTH: Final = 0.15
"""Metres around the map's walls in which a laser sees nothing but them."""
STILL: Final = Velocity(0.02, 0.1)
"""A robot that is slower than this stands."""


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


class Drive:
    """Drives one robot; `walk` knows the cells, `tracker` the pose."""

    def __init__(
        self, walk: CellWalk, chassis: Chassis, limits: Limits, manner: Manner, known: Walls | None
    ) -> None:
        self.walk = walk
        self.tracker = PoseTracker(manner.trust, manner.late)
        self._chassis, self._limits, self._manner = chassis, limits, manner
        self.obstacles = ObstacleWatch(known, chassis.radius, manner.berth)
        self._velocity = REST
        self._begun = False

    def scan(
        self, distances: FloatArray, angles: FloatArray, now: float, mount: Pose = (0.0, 0.0, 0.0)
    ) -> None:
        """Take a scan of a laser that is mounted there."""
        if self.tracker.known:
            self.obstacles.look(self.tracker.at(now), distances, angles, mount)

    def states(self, now: float, *, resting: bool) -> list[Entered]:
        """Return the states that were entered since the last call; `resting`: nobody drives it.

        A robot that was brought to rest, or is far from its path, begins anew where it is.
        """
        if not self.tracker.known:
            return []
        x, y, _ = self.tracker.at(now)
        if not self._begun:
            self._begun = True
            return [self.walk.begin(x, y)]
        entered = self.walk.pass_to(x, y)
        lost = self.walk.away > self._manner.sight + self._chassis.radius
        if lost or (resting and self.stands and len(self.walk.path) > 1):
            before = entered[-1] if entered else Entered(self.walk.cell, self.walk.labels)
            anew = self.walk.begin(x, y)
            if anew != before:
                entered.append(anew)
        return entered

    @property
    def stands(self) -> bool:
        """Whether the robot does not move, as far as its readings can tell."""
        speed, turn = self.tracker.velocity
        return abs(speed) < STILL.speed and abs(turn) < STILL.turn

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        self._begun = True
        return self.walk.begin(*self.tracker.at(now)[:2])

    def halt(self) -> Velocity:
        """Return the command that stops the robot."""
        self._velocity = REST
        return REST

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period of a robot that may move."""
        limits = self._limits
        allowed = replace(limits, speed=max(1e-6, self.obstacles.speed(limits)))
        pose = self.tracker.at(now)
        wanted = follow(pose, self.walk.path, self._chassis, allowed, self._manner.sight)
        if self.obstacles.blocked:
            wanted = Velocity(0.0, wanted.turn)
        self._velocity = limits.approach(self._velocity, wanted, self._manner.period)
        if self._velocity.speed > allowed.speed:
            self._velocity = Velocity(allowed.speed, self._velocity.turn)
        return self._velocity


def drive_in(building: Building, chassis: Chassis, limits: Limits, manner: Manner) -> Drive:
    """Return the drive for a robot in a building."""
    floor, places = building.floor, building.places
    ways = ClearWays(
        floor,
        places,
        building.file.constraints,
        margin=manner.margin,
        walls=(building.occupancy, chassis.radius),
    )
    walk = CellWalk(floor, places, ways, horizon=manner.horizon)
    known = grown(walls_of(building.occupancy, unknown=True), KNOWN_WIDTH)
    return Drive(walk, chassis, limits, manner, known)
