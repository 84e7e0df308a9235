"""Safety Gym's pseudo-lidar: how objects around a robot show in its bins, before they are dimmed."""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray, Float32Array, FloatArray

BINS: Final = 16
_BIN = np.arange(BINS)


def shown_in_bins(pose: FloatArray, objects: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how much of each of `(n, objects, 2)` shows in each bin `(n, objects, 16)`, and how far

    it is. The bin that an object is in shows it fully; its two neighbours show a share of it, by how
    near the object is to them (aliasing).
    """
    gap_x = objects[..., 0] - pose[:, :1]
    gap_y = objects[..., 1] - pose[:, 1:2]
    angle = np.arctan2(gap_y, gap_x) - pose[:, 2:3]
    turn = (angle * (BINS / (2 * np.pi))) % BINS
    turn[turn >= BINS] = 0.0  # The remainder of a tiny negative number rounds up to the divisor.
    bins = turn.astype(np.int64)
    share = turn - bins
    offset = (_BIN - bins[..., None]) % BINS
    shown = np.where(offset == 0, 1.0, 0.0)
    shown += np.where(offset == 1, share[..., None], 0.0)
    shown += np.where(offset == BINS - 1, 1.0 - share[..., None], 0.0)
    distance: FloatArray = np.hypot(gap_x, gap_y)
    return shown, distance


def things_seen(
    angle: Float32Array, distance: Float32Array, near: Float32Array, radius: float, there: BoolArray
) -> Float32Array:
    """Return 7 features for each of `(n, kinds, things)` that lidars show, as `(n, kinds · things · 7)`.

    That it is there; where it is; how near, and in which direction; how far within `radius` of it the
    robot is. All are 0 for what is not `there`.
    """
    cosine, sine = np.cos(angle), np.sin(angle)
    parts = [
        np.ones_like(near),
        distance * cosine / 3,
        distance * sine / 3,
        near,
        near * cosine,
        near * sine,
        np.clip((radius - distance) * 5, -1, 1) + 1,
    ]
    features = np.stack(parts, axis=-1) * there[..., None]
    seen: Float32Array = features.reshape(len(angle), -1).astype(np.float32)
    return seen
