"""Localisation checks: the pose lies on the map's floor, and the scans fit the map.

Everything else trusts the pose: labels, ways, and which returns of a laser are walls. So a pose that
cannot be right stops the robot, and it goes on when something else than the pose itself says that it is
right again: scans that fit the map there, or a person. There is no ROS here; times are of a steady
clock.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.floor import NO_CELL, Floor
from skm_sim.robots.pose import combined
from skm_sim.robots.walls import Pose, Walls

MOST_RAYS: Final = 60
"""Rays of a scan that are compared with the map: 0.5 ms a scan, and one in three of 180 tells the
same."""
FIT: Final = 0.3
"""Metres between a ray's length and the map's beyond which they disagree: a localiser is right to 0.1 m,
a map to a cell, and a ray along a wall errs by more."""
LOST, FOUND = 0.4, 0.6
"""Shares of agreeing rays below which a robot is not where it is believed to be, and from which it is.
Measured at 400 poses of the hall with noise: 0.69 to 1.00 where the pose is right to 0.1 m, 0.63 or more
beside a pillar that is on no map; 0.55 or less in 95 of 100 cases where it is wrong by half a metre,
0.43 by a metre, and 0.35 at a pose drawn at random."""
BAD_SCANS: Final = 3
"""So many scans in a row must not fit: people who pass by hide the walls for a moment."""
GOOD_SCANS: Final = 2
LEAST_RAYS: Final = 10
"""With fewer rays than this to compare, a scan says nothing about the pose."""


class Localisation:
    """Looks at poses and scans; `problem` says why the pose cannot be right, if it cannot."""

    def __init__(self, floor: Floor | None, walls: Walls | None, radius: float) -> None:
        """`floor` and `walls` are the map's; without them only jumps are noticed."""
        self._floor, self._walls, self._radius = floor, walls, radius
        self._off_floor = self._jump = ""
        self._bad = self._good = 0
        self._share = 1.0

    @property
    def problem(self) -> str:
        """Why the robot must not trust its pose; empty if nothing speaks against it."""
        if self._off_floor:
            return self._off_floor
        if self._bad >= BAD_SCANS:
            return (
                f"the scan does not fit the map: {self._share:.0%} of its rays end where the map has"
                " walls; is the robot where it is believed to be, and are scan_x, scan_y and scan_yaw"
                " right?"
            )
        return self._jump

    def read(self, pose: Pose, jump: float = 0.0) -> None:
        """Take a pose; `jump` is how far it is from where the robot can have driven, 0 if it can."""
        x, y, _ = pose
        if jump > 0:
            self._good = 0
            self._jump = (
                f"the pose has jumped by {jump:.2f} m: waiting for scans that fit the map there, or for"
                " somebody to call resume"
            )
        self._off_floor = ""
        if self._floor is None or self._floor.cell_at(x, y) != NO_CELL:
            return
        _, away = self._floor.nearest_cell(x, y)
        # A robot may stand closer to a wall than its radius says; inside of one it cannot be.
        if away > 0.75 * self._floor.cell + self._radius:
            self._off_floor = (
                f"the pose ({x:.2f}, {y:.2f}) is {away:.2f} m off the floor of the map: the robot cannot"
                " be there"
            )

    def look(
        self, pose: Pose, distances: FloatArray, angles: FloatArray, limit: float, mount: Pose
    ) -> None:
        """Take a scan of a laser that sees so far and is mounted there, on a robot at that pose."""
        if self._walls is None:
            return
        share = self.agreement(pose, distances, angles, limit, mount)
        if share is None:
            return
        self._share = share
        self._bad = self._bad + 1 if share < LOST or (self._bad and share < FOUND) else 0
        self._good = self._good + 1 if share >= FOUND else 0
        if self._good >= GOOD_SCANS:
            self._jump = ""

    def agreement(
        self, pose: Pose, distances: FloatArray, angles: FloatArray, limit: float, mount: Pose
    ) -> float | None:
        """Return the share of rays that are as the map has them; None where too few can tell.

        A ray agrees if it is as long as on the map, or ends at a wall and passes through none. One that
        sees nothing agrees where the map has nothing in reach.
        """
        assert self._walls is not None
        every = max(1, math.ceil(len(distances) / MOST_RAYS))
        seen, bearing = distances[::every], angles[::every]
        laser = combined(pose, mount)
        expected = self._walls.distances(laser, bearing, limit)
        # Where neither sees anything, nothing is compared: outdoors that would be all of it.
        telling = np.isfinite(seen) | (expected < limit - FIT)
        if telling.sum() < LEAST_RAYS:
            return None
        seen, expected, bearing = seen[telling], expected[telling], bearing[telling]
        close = np.abs(np.where(np.isfinite(seen), seen, limit) - np.minimum(expected, limit)) < FIT
        agrees = close | (self._ends_at_wall(laser, seen, bearing) & (seen < expected + FIT))
        return float(agrees.mean())

    def _ends_at_wall(self, laser: Pose, seen: FloatArray, bearing: FloatArray) -> BoolArray:
        """Tell which rays end within `FIT` of a wall, before it or behind its face."""
        assert self._walls is not None
        found = np.zeros(len(seen), np.bool_)
        finite = np.isfinite(seen)
        x, y, heading = laser
        for beyond in (0.0, FIT / 2, FIT):
            reach = np.where(finite, seen, 0.0) + beyond
            along, across = np.cos(heading + bearing), np.sin(heading + bearing)
            found |= self._walls.is_solid(x + reach * along, y + reach * across)
        return found & finite

    def confirm(self) -> bool:
        """Take a person's word that the pose is right after a jump; what contradicts it still counts.

        Tell whether that was asked for.
        """
        asked, self._jump = bool(self._jump), ""
        return asked
