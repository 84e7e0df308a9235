"""Where a map lies: between metres of the map frame and the map's own rows and columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skm_sim.arrays import FloatArray


@dataclass(frozen=True)
class Frame:
    """The pose of a map's lower left corner in the map frame: metres, and radians to the left.

    *Inner* coordinates are metres along the map's own columns and rows, from that corner.
    """

    x: float
    y: float
    yaw: float = 0.0

    def to_inner(self, points: ArrayLike) -> FloatArray:
        """Return points of the map frame, `(…, 2)`, in inner coordinates."""
        moved = np.asarray(points, np.float64) - (self.x, self.y)
        return _turned(moved, -self.yaw)

    def to_frame(self, inner: ArrayLike) -> FloatArray:
        """Return inner coordinates, `(…, 2)`, as points of the map frame."""
        corner = np.array([self.x, self.y])
        points: FloatArray = _turned(np.asarray(inner, np.float64), self.yaw) + corner
        return points


def _turned(points: FloatArray, angle: float) -> FloatArray:
    if angle == 0:
        return points
    cosine, sine = math.cos(angle), math.sin(angle)
    x, y = points[..., 0], points[..., 1]
    return np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)
