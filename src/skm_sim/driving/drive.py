"""A robot driven through a map: poses and scans come in, states are entered, velocities go out.

This is all of the bridge but its messages: the node calls it once a control period, and so does whoever
drives a simulated robot faster than life. Whether the robot may move at all is not decided here but by
the command gate; here is what it does if it may. Times are of a steady clock, in seconds.
"""

from __future__ import annotations

from typing import Final

from skm_sim.driving.cell_walk import CellWalk
from skm_sim.driving.clear_ways import ClearWays
from skm_sim.driving.obstacle_watch import grown
from skm_sim.driving.path_following import Chassis, follow
from skm_sim.driving.robot_drive import Entered, Manner, RobotDrive
from skm_sim.driving.velocities import Limits, Velocity
from skm_sim.maps.building import Building
from skm_sim.robots.walls import Walls, walls_of

KNOWN_WIDTH: Final = 0.15
"""Metres around the map's walls in which a laser sees nothing but them."""


class Drive(RobotDrive):
    """Drives one robot; `walk` knows the cells, `tracker` the pose."""

    def __init__(
        self, walk: CellWalk, chassis: Chassis, limits: Limits, manner: Manner, known: Walls | None
    ) -> None:
        super().__init__(chassis, limits, manner, known)
        self.walk = walk

    def take(self, action: int, now: float) -> None:  # noqa: ARG002 - as other drives
        """Take the action to the present state: the path goes on with it."""
        self.walk.take(int(action))

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

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        self._begun = True
        return self.walk.begin(*self.tracker.at(now)[:2])

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period of a robot that may move."""
        pose = self.tracker.at(now)
        wanted = follow(pose, self.walk.path, self._chassis, self._allowed, self._manner.sight)
        return self._commanded(wanted)


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
