"""What stands in a robot's way, as a grid: boxes to bump into, and what a laser sees of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.occupancy import UNKNOWN, OccupancyMap

Pose: TypeAlias = tuple[float, float, float]
"""x and y in metres, heading in radians, counter-clockwise from the x axis."""

RAY_STEP = 0.7
"""Part of a cell's side after which a ray looks again: less than a diagonal, so walls have no gaps."""


@dataclass(frozen=True)
class Box:
    """A rectangle of wall: centre, and half of its sides along the grid's axes."""

    x: float
    y: float
    half_x: float
    half_y: float


@dataclass(frozen=True, eq=False)
class Walls:
    """A grid of cells that are solid or not; `solid[0, 0]` has its lower left corner at `origin`."""

    solid: BoolArray
    """Rows from the bottom up."""
    resolution: float
    """Side of a cell, in metres."""
    origin: Pose = (0.0, 0.0, 0.0)

    def with_disc(self, x: float, y: float, radius: float) -> Walls:
        """Return these walls and a round pillar."""
        rows, columns = np.indices(self.solid.shape)
        centre_x, centre_y = self._in_grid(x, y)
        side = self.resolution
        away = np.hypot((columns + 0.5) * side - centre_x, (rows + 0.5) * side - centre_y)
        return Walls(self.solid | (away <= radius), side, self.origin)

    def is_solid(self, x: ArrayLike, y: ArrayLike) -> BoolArray:
        """Tell of each point whether it is in a wall; outside the grid nothing is."""
        along, across = self._in_grid(np.asarray(x, float), np.asarray(y, float))
        column = np.floor(along / self.resolution).astype(np.int64)
        row = np.floor(across / self.resolution).astype(np.int64)
        height, width = self.solid.shape
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        found: BoolArray = inside & self.solid[row.clip(0, height - 1), column.clip(0, width - 1)]
        return found

    def distances(self, pose: Pose, angles: FloatArray, limit: float) -> FloatArray:
        """Return how far rays go from a pose, at angles from its heading; infinite beyond `limit`."""
        x, y, heading = pose
        steps = np.arange(0.0, limit, RAY_STEP * self.resolution)
        directions = heading + angles
        ray_x = x + np.outer(np.cos(directions), steps)
        ray_y = y + np.outer(np.sin(directions), steps)
        hits = self.is_solid(ray_x, ray_y)
        first = hits.argmax(axis=1)
        return np.where(hits.any(axis=1), steps[first], np.inf)

    def boxes(self) -> tuple[Box, ...]:
        """Return rectangles that cover the solid cells which something can touch; in the grid's axes.

        Runs of cells in a row, and equal runs in the rows above joined to them. Cells with none but
        solid ones around them are left out.
        """
        shell = self.solid & ~_surrounded(self.solid)
        open_runs: dict[tuple[int, int], int] = {}
        found: list[Box] = []
        rows = len(shell)
        for row in range(rows + 1):
            runs = set(_runs(shell[row])) if row < rows else set()
            for run in [run for run in open_runs if run not in runs]:
                found.append(self._box(*run, open_runs.pop(run), row))
            for run in runs:
                open_runs.setdefault(run, row)
        return tuple(found)

    def _box(self, first: int, end: int, bottom: int, top: int) -> Box:
        side = self.resolution
        half_x, half_y = side * (end - first) / 2, side * (top - bottom) / 2
        along, across = side * first + half_x, side * bottom + half_y
        x0, y0, yaw = self.origin
        cosine, sine = math.cos(yaw), math.sin(yaw)
        x, y = x0 + cosine * along - sine * across, y0 + sine * along + cosine * across
        return Box(x, y, half_x, half_y)

    def _in_grid(
        self, x: FloatArray | float, y: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """Return points in the grid's own axes, from its lower left corner."""
        x0, y0, yaw = self.origin
        cosine, sine = math.cos(yaw), math.sin(yaw)
        right, up = np.asarray(x) - x0, np.asarray(y) - y0
        return cosine * right + sine * up, cosine * up - sine * right


def _surrounded(solid: BoolArray) -> BoolArray:
    """Return the cells whose four neighbours are solid, too; the grid's edge counts as open."""
    padded = np.pad(solid, 1)
    middle = padded[1:-1, :-2] & padded[1:-1, 2:] & padded[:-2, 1:-1] & padded[2:, 1:-1]
    return np.asarray(middle)


def _runs(row: BoolArray) -> list[tuple[int, int]]:
    """Return first and end (exclusive) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
    return [(int(first), int(end)) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def walls_of(occupancy: OccupancyMap, *, unknown: bool = False) -> Walls:
    """Return the walls of a map: all that is known not to be free; what is unknown too, if asked for."""
    frame = occupancy.frame
    solid = ~occupancy.free
    if not unknown:
        solid &= occupancy.values != UNKNOWN
    return Walls(solid, occupancy.resolution, (frame.x, frame.y, frame.yaw))
