"""The shapes of places, with exact geometry: circles and polygons, closed sets of the plane.

Points are arrays `(n, 2)` in metres of the map frame. A segment is given by its ends, and what lies
on it by the parameter t from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray


class Shape(Protocol):
    """A part of the plane."""

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in it, its edge included."""
        ...

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far the points are from it; 0 within."""
        ...

    def crossings(self, start: FloatArray, end: FloatArray) -> list[float]:
        """Return the t at which one segment meets its edge."""
        ...

    def meets(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments have a point in it."""
        ...

    def holds(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments lie in it as a whole; those that touch its edge may be left out."""
        ...

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y."""
        ...


@dataclass(frozen=True)
class Circle:
    """All points within `radius` of (x, y)."""

    x: float
    y: float
    radius: float

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in it, its edge included."""
        return self._squared(points) <= self.radius**2

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far the points are from it; 0 within."""
        return np.maximum(np.sqrt(self._squared(points)) - self.radius, 0.0)

    def _squared(self, points: FloatArray) -> FloatArray:
        away = points - (self.x, self.y)
        squared: FloatArray = (away**2).sum(axis=-1)
        return squared

    def crossings(self, start: FloatArray, end: FloatArray) -> list[float]:
        """Return the t at which one segment meets its edge."""
        along, away = end - start, start - (self.x, self.y)
        a, b, c = along @ along, along @ away, away @ away - self.radius**2
        root = float(b * b - a * c)
        if a == 0 or root < 0:
            return []
        both = float((-b - root**0.5) / a), float((-b + root**0.5) / a)
        return [t for t in both if 0 <= t <= 1]

    def meets(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments have a point in it."""
        centre = np.array([[self.x, self.y]])
        return segment_distance(centre, starts, ends) <= self.radius

    def holds(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments lie in it as a whole."""
        return self.contains(starts) & self.contains(ends)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y."""
        r = self.radius
        return self.x - r, self.y - r, self.x + r, self.y + r


@dataclass(frozen=True)
class Polygon:
    """What a closed line encloses (by the even-odd rule), the line included."""

    corners: tuple[tuple[float, float], ...]
    _starts: FloatArray = field(init=False, repr=False, compare=False)
    _ends: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = np.array(self.corners, np.float64)
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "_ends", np.roll(starts, -1, axis=0))

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in it, its edge included."""
        points = np.asarray(points, np.float64)
        inside = np.zeros(points.shape[:-1], np.bool_)
        on_edge = np.zeros_like(inside)
        x, y = points[..., 0], points[..., 1]
        for (x0, y0), (x1, y1) in zip(self._starts, self._ends, strict=True):
            side = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
            spans = (y0 > y) != (y1 > y)
            inside ^= spans & ((side > 0) == (y1 > y0))
            near = (np.minimum(x0, x1) <= x) & (x <= np.maximum(x0, x1))
            near &= (np.minimum(y0, y1) <= y) & (y <= np.maximum(y0, y1))
            on_edge |= near & (side == 0)
        return inside | on_edge

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far the points are from it; 0 within."""
        points = np.asarray(points, np.float64)
        least = np.full(points.shape[:-1], np.inf)
        for start, end in zip(self._starts, self._ends, strict=True):
            least = np.minimum(least, segment_distance(points, start, end))
        least[self.contains(points)] = 0.0
        return least

    def crossings(self, start: FloatArray, end: FloatArray) -> list[float]:
        """Return the t at which one segment meets its edge."""
        along, edges, away = end - start, self._ends - self._starts, self._starts - start
        cross = along[0] * edges[:, 1] - along[1] * edges[:, 0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = (away[:, 0] * edges[:, 1] - away[:, 1] * edges[:, 0]) / cross
            u = (away[:, 0] * along[1] - away[:, 1] * along[0]) / cross
        hit = (cross != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
        found: list[float] = t[hit].tolist()
        length = along @ along
        if length > 0:  # along an edge, its corners are where things change
            on_line = (cross == 0) & (along[0] * away[:, 1] == along[1] * away[:, 0])
            ends = np.concatenate([self._starts[on_line], self._ends[on_line]])
            found += [float(s) for s in (ends - start) @ along / length if 0 <= s <= 1]
        return found

    def meets(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments have a point in it."""
        return self.contains(starts) | self._edge_met(starts, ends)

    def holds(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments lie in it as a whole, and touch no edge."""
        return self.contains(starts) & ~self._edge_met(starts, ends)

    def _edge_met(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments meet an edge that is not parallel to them."""
        found = np.zeros(len(starts), np.bool_)
        along = ends - starts
        for corner, after in zip(self._starts, self._ends, strict=True):
            edge, away = after - corner, corner - starts
            cross = along[:, 0] * edge[1] - along[:, 1] * edge[0]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                t = (away[:, 0] * edge[1] - away[:, 1] * edge[0]) / cross
                u = (away[:, 0] * along[:, 1] - away[:, 1] * along[:, 0]) / cross
            found |= (cross != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
        return found

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y."""
        (x0, y0), (x1, y1) = self._starts.min(axis=0).tolist(), self._starts.max(axis=0).tolist()
        return x0, y0, x1, y1


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Polygon:
    """Return the rectangle with two opposite corners there, along the axes of the map frame."""
    return Polygon(((x0, y0), (x1, y0), (x1, y1), (x0, y1)))


def segment_distance(points: FloatArray, starts: FloatArray, ends: FloatArray) -> FloatArray:
    """Return how far points are from segments; the arrays are broadcast."""
    along, away = ends - starts, points - starts
    length = np.maximum((along**2).sum(axis=-1), 1e-300)
    t = np.clip((along * away).sum(axis=-1) / length, 0.0, 1.0)
    gap = away - t[..., None] * along
    distance: FloatArray = np.sqrt((gap**2).sum(axis=-1))
    return distance
