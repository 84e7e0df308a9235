"""Safety Gym's pseudo-lidar for a batch of robots: closeness of objects in bins around the robot."""

from __future__ import annotations

import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.pseudo_lidar import shown_in_bins
from skm_sim.safety.layout import BUTTONS, REGIONS, Layout

RANGE = 3.0
KINDS = ("cylinder", "buttons", "regions")
"""The three lidars, in the order of the observation."""
_FIRST = np.array([0, 1, 1 + BUTTONS])
"""The first object of each kind, among all objects of an arena."""


def object_positions(layout: Layout) -> FloatArray:
    """Return `(n, 7, 2)`: the cylinder, the buttons, the regions."""
    return np.concatenate(
        [layout.cylinder_position[:, None], layout.buttons, layout.regions], axis=1
    )


def pseudo_lidar(pose: FloatArray, objects: FloatArray) -> FloatArray:
    """Return `(n, 48)`: for each kind, the closeness of the closest object in each of 16 bins.

    Closeness falls from 1 at the robot's centre to 0 at 3 m.
    """
    shown, distance = shown_in_bins(pose, objects)
    closeness = np.maximum(0.0, RANGE - distance) / RANGE
    shown *= closeness[..., None]
    lidar: FloatArray = np.maximum.reduceat(shown, _FIRST, axis=1).reshape(len(pose), -1)
    return lidar


assert len(_FIRST) == len(KINDS)
assert _FIRST[-1] + REGIONS == 1 + BUTTONS + REGIONS
