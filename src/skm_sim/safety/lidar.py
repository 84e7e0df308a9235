"""Safety Gym's pseudo-lidar for a batch of robots: closeness of objects in bins around the robot."""

from __future__ import annotations

import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.safety.layout import BUTTONS, REGIONS, Layout

BINS = 16
RANGE = 3.0
KINDS = ("cylinder", "buttons", "regions")
"""The three lidars, in the order of the observation."""
_FIRST = np.array([0, 1, 1 + BUTTONS])
"""The first object of each kind, among all objects of an arena."""
_BIN = np.arange(BINS)


def object_positions(layout: Layout) -> FloatArray:
    """Return `(n, 7, 2)`: the cylinder, the buttons, the regions."""
    return np.concatenate(
        [layout.cylinder_position[:, None], layout.buttons, layout.regions], axis=1
    )


def pseudo_lidar(pose: FloatArray, objects: FloatArray) -> FloatArray:
    """Return `(n, 48)`: for each kind, the closeness of the closest object in each of 16 bins.

    Closeness falls from 1 at the robot's centre to 0 at 3 m. The bin that an object is in shows it
    fully; its two neighbours show a share of it, by how near the object is to them (aliasing).
    """
    gap_x = objects[..., 0] - pose[:, :1]
    gap_y = objects[..., 1] - pose[:, 1:2]
    angle = np.arctan2(gap_y, gap_x) - pose[:, 2:3]
    turn = (angle * (BINS / (2 * np.pi))) % BINS
    turn[turn >= BINS] = 0.0  # The remainder of a tiny negative number rounds up to the divisor.
    bins = turn.astype(np.int64)
    share = turn - bins
    closeness = np.maximum(0.0, RANGE - np.hypot(gap_x, gap_y)) / RANGE
    offset = (_BIN - bins[..., None]) % BINS
    shown = np.where(offset == 0, 1.0, 0.0)
    shown += np.where(offset == 1, share[..., None], 0.0)
    shown += np.where(offset == BINS - 1, 1.0 - share[..., None], 0.0)
    shown *= closeness[..., None]
    lidar: FloatArray = np.maximum.reduceat(shown, _FIRST, axis=1).reshape(len(pose), -1)
    return lidar


assert len(_FIRST) == len(KINDS)
assert _FIRST[-1] + REGIONS == 1 + BUTTONS + REGIONS
