"""The point robot as a learner sees it that has to keep off each kind of thing: lidars told exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import Float32Array
from skm_sim.lidar_fit import as_shown, fit_objects
from skm_sim.point_robot import SENSORS
from skm_sim.pseudo_lidar import BINS, things_seen
from skm_sim.safety.body import RANGE, SafetyBody, scaled_sensors
from skm_sim.safety.layout import BUTTONS, REGIONS

_OTHERS = np.array([BUTTONS - 1, REGIONS])
"""How many objects are told by fitting: the buttons but that under the cylinder, the regions."""


class AvoidBody(SafetyBody):
    """As `SafetyBody`, with the objects that explain the lidars best (`lidar_fit`).

    What is taken away one after the other, the brightest first, misplaces a third of the second nearest
    buttons, which does little harm where only the nearest matters.
    """

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return scaled sensors, the lidars, and the objects decoded from them."""
        seen = np.asarray(observations, np.float32)
        objects = decode(seen[:, SENSORS:].reshape(len(seen), -1, BINS))
        return np.concatenate([scaled_sensors(seen), seen[:, SENSORS:], objects], axis=1)


def decode(lidars: Float32Array) -> Float32Array:
    """Return `(n, 7 · 7)`: the objects that the lidars `(n, 3, 16)` show, of each kind nearest first.

    For each: whether it is seen, its egocentric position, its nearness (also along the axes), and
    on which side of the 0.3 m of a label it is. The cylinder is alone, so it is told exactly; it stands
    on a button, which is the first one, and the other three are those that explain what is left.
    """
    count = len(lidars)
    alone, bright = fit_objects(lidars[:, 0], np.ones(count, np.int64))
    peak = alone[0].astype(np.int64)
    known = np.zeros((count, 2, BINS), np.float32)
    known[:, 0] = as_shown(peak, alone[0] - peak, bright[0])
    others = np.tile(_OTHERS, count)
    bins, light = fit_objects(lidars[:, 1:].reshape(-1, BINS), others, known.reshape(-1, BINS))
    parts = [
        np.concatenate([first, first, rest[:, ::2], rest[:REGIONS, 1::2]]).T
        for first, rest in ((alone, bins), (bright, light))
    ]
    angle = parts[0] * np.float32(2 * np.pi / BINS)
    distance = np.float32(RANGE) * (1 - parts[1])
    near = np.exp(-distance / np.float32(0.4))
    return things_seen(angle, distance, near, 0.3, parts[1] > 0)
