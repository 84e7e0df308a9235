"""Ways from cell to cell for a robot that is never exactly on them: with room to what must not be met.

A move of a map's floor leads from centre to centre, and may pass a forbidden place by a hair. A robot
strays by centimetres. So each cell has a point to go through, near its centre, around which its labels
hold and no further constraint does, and a way that passes a constraint too closely bends away from it.
Where walls leave no room, the centre and the straight way stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache
from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.driving.path_following import Point
from skm_sim.maps.clearance import Clearance
from skm_sim.maps.floor import Floor
from skm_sim.maps.occupancy import OccupancyMap
from skm_sim.maps.places import Places

DIRECTIONS: Final = 8
RINGS: Final = 3
"""Around a centre, the points that are looked at are on so many circles, `DIRECTIONS` on each."""
KEPT: Final = 50_000
ROUNDING: Final = 1e-6
PIECES: Final = 8
"""Of a way: as many as are looked at for what is near."""


class ClearWays:
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
            self._clearance = Clearance(occupancy, self._radius + 2 * occupancy.resolution)
        angles = np.arange(DIRECTIONS) * math.tau / DIRECTIONS
        self._circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.through = lru_cache(maxsize=KEPT)(self._through)
        self.way = lru_cache(maxsize=KEPT)(self._way)

    def _through(self, cell: int) -> Point:
        """Return the point by which to go through a cell."""
        centre = self._floor.centres[cell]
        labels = self._places.labels_of(centre[None])[0]
        sizes = np.arange(1, RINGS + 1)[:, None, None] / RINGS * self._margin
        tried = np.concatenate([[centre], (centre + sizes * self._circle).reshape(-1, 2)])
        faults = self._faults(tried, labels)
        if not faults[0]:
            return float(centre[0]), float(centre[1])
        best = int(np.where(self._is_free(tried), faults, len(self._circle) + 1.0).argmin())
        x, y = tried[best]
        return float(x), float(y)

    def _faults(self, points: FloatArray, labels: BoolArray) -> FloatArray:
        """Return for each point at how many points around it the labels are not as they should be.

        What holds must hold there, and no constraint that does not hold; a point that is wrong
        itself is as bad as can be.
        """
        around = (points[:, None] + self._margin * self._circle).reshape(-1, 2)
        here, there = self._places.labels_of(points), self._places.labels_of(around)
        wrong = self._wrong(there, labels).reshape(len(points), -1).sum(axis=1).astype(float)
        return np.where(self._wrong(here, labels), float(len(self._circle)), wrong)

    def _wrong(self, found: BoolArray, labels: BoolArray) -> BoolArray:
        missing, unwanted = labels & ~found, found & ~labels & self._forbidden
        return np.asarray((missing | unwanted).any(axis=1))

    def _is_free(self, points: FloatArray) -> BoolArray:
        if self._clearance is None:
            return np.ones(len(points), np.bool_)
        return self._clearance.at_least(points, self._radius)

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
