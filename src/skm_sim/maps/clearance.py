"""How far points are from the nearest obstacle of a map: exact, up to the distance that matters."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.maps.occupancy import OccupancyMap

ROUNDING: Final = 1e-9


class Clearance:
    """Tells where a robot of some radius can stand, and which straight ways it can go.

    An obstacle is the whole square of every pixel that is not free, and all that lies beyond the
    map. `reach` is the greatest distance that will be asked for.
    """

    def __init__(self, occupancy: OccupancyMap, reach: float) -> None:
        self._frame, self._pixel = occupancy.frame, occupancy.resolution
        self._pad = math.ceil(reach / self._pixel) + 3
        self._blocked: BoolArray = np.pad(~occupancy.free, self._pad, constant_values=True)
        self._coarse = _capped_distance(self._blocked, self._pad) * self._pixel
        """Between the centres of pixels: off the exact distance by a pixel's diagonal at most."""

    def at_least(self, points: FloatArray, distance: float) -> BoolArray:
        """Tell which points `(n, 2)` of the map frame are that far from every obstacle."""
        inner = self._frame.to_inner(points) / self._pixel + self._pad
        rows, columns = self._blocked.shape
        inside = ((inner >= 2) & (inner < np.array([columns, rows]) - 2)).all(axis=1)
        result = np.zeros(len(points), np.bool_)
        indices = np.flatnonzero(inside)
        column, row = np.floor(inner[indices]).astype(np.int64).T
        coarse, slack = self._coarse[row, column], math.sqrt(2) * self._pixel
        result[indices[coarse > distance + slack]] = True
        unsure = np.abs(coarse - distance) <= slack
        close = indices[unsure]
        found = self._nearest(inner[close], column[unsure], row[unsure], distance)
        result[close] = found >= distance - ROUNDING
        return result

    def _nearest(
        self, inner: FloatArray, column: IntArray, row: IntArray, distance: float
    ) -> FloatArray:
        """Return the exact distance to the squares of blocked pixels around each point."""
        span = math.ceil(distance / self._pixel) + 1
        least = np.full(len(inner), np.inf)
        rows, columns = self._blocked.shape
        for down in range(-span, span + 1):
            for right in range(-span, span + 1):
                x, y = column + right, row + down
                gap_x = np.maximum(np.maximum(x - inner[:, 0], inner[:, 0] - x - 1), 0.0)
                gap_y = np.maximum(np.maximum(y - inner[:, 1], inner[:, 1] - y - 1), 0.0)
                there = self._blocked[np.clip(y, 0, rows - 1), np.clip(x, 0, columns - 1)]
                squared = np.where(there, gap_x**2 + gap_y**2, np.inf)
                np.minimum(least, squared, out=least)
        nearest: FloatArray = np.sqrt(least) * self._pixel
        return nearest

    def ways(self, starts: FloatArray, ends: FloatArray, distance: float) -> BoolArray:
        """Tell which straight ways keep that distance from every obstacle, all along.

        Looked at in points that are half a pixel apart at most, at a distance a little greater: by
        Pythagoras, what is `distance² + (gap/2)²` away at the points is `distance` away between.
        """
        length = float(np.sqrt(((ends - starts) ** 2).sum(axis=1)).max(initial=0.0))
        pieces = max(1, math.ceil(2 * length / self._pixel))
        needed = math.hypot(distance, length / pieces / 2)
        open_ways = np.ones(len(starts), np.bool_)
        for step in range(pieces + 1):
            left = np.flatnonzero(open_ways)
            points = starts[left] + (ends[left] - starts[left]) * (step / pieces)
            wanted = distance if step in (0, pieces) else needed
            open_ways[left] = self.at_least(points, wanted)
        return open_ways


def _capped_distance(blocked: BoolArray, cap: int) -> FloatArray:
    """Return how many pixels each pixel is from the nearest blocked one; `cap` stands for more."""
    rows = np.arange(len(blocked))[:, None]
    above = np.maximum.accumulate(np.where(blocked, rows, -4 * cap - len(rows)), axis=0)
    below = np.minimum.accumulate(np.where(blocked, rows, 5 * cap + 2 * len(rows))[::-1], axis=0)[
        ::-1
    ]
    upright = np.minimum(np.minimum(rows - above, below - rows), cap).astype(np.float32) ** 2
    least = upright.copy()
    for offset in range(1, cap + 1):
        np.minimum(least[:, offset:], upright[:, :-offset] + offset**2, out=least[:, offset:])
        np.minimum(least[:, :-offset], upright[:, offset:] + offset**2, out=least[:, :-offset])
    distance: FloatArray = np.sqrt(np.minimum(least, cap**2)).astype(np.float64)
    return distance
