"""Safety Gym's pseudo-lidar: how objects show in its bins, and objects told from them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# Safety Gym's pseudo-lidar: how objects around a robot show in its bins, before they are dimmed.


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


def objects_seen(
    angle: Float32Array, distance: Float32Array, near: Float32Array, radius: float, there: BoolArray
) -> Float32Array:
    """Return 7 features for each of `(n, kinds, objects)` seen, as `(n, kinds · objects · 7)`.

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


# What a pseudo-lidar shows, told apart: the objects that explain its bins best.


_SAME: Final = np.float32(1e-4)
"""Two readings that differ by less come from the same object."""
_TINY: Final = np.float32(1e-6)
_HERE: Final = np.eye(BINS, dtype=np.float32)
_NEXT: Final = np.roll(_HERE, 1, axis=1)
_BEFORE: Final = np.roll(_HERE, -1, axis=1)


def fit_objects(
    lidars: Float32Array, counts: IntArray, known: Float32Array | None = None
) -> tuple[Float32Array, Float32Array]:
    """Return where in the bins the objects of each lidar `(n, 16)` are, and their light, `(most, n)`.

    An object shows as light s in its bin, and as a · s and (1 − a) · s in the next bin and the one
    before, where a is its place in the bin; of several objects the brightest shows. So the brightest bin
    that is not explained yet holds an object, and its place follows from either neighbour, unless
    another outshines it there: both readings are tried for every object, up to the `counts` of each
    lidar, and what explains all bins best is taken. `known` is what is explained beforehand.
    """
    rows = np.arange(len(lidars))
    shown = np.zeros((1, *lidars.shape), np.float32) if known is None else known[None]
    bins: Float32Array = np.zeros((0, 1, len(lidars)), np.float32)
    light = bins
    for turn in range(int(counts.max())):
        rest = np.where(lidars > shown + _SAME, lidars, np.float32(0))
        peak = rest.argmax(-1)
        bright = np.where(counts > turn, rest.max(-1), np.float32(0))
        scale = np.maximum(bright, _TINY)
        after = np.minimum(lidars[rows, (peak + 1) % BINS] / scale, 1)
        before = np.minimum(lidars[rows, peak - 1] / scale, 1)
        share = np.concatenate([after, 1 - before])
        peak, bright = _twice(peak, 0), _twice(bright, 0)
        bins = np.concatenate([_twice(bins, 1), (peak + share)[None]])
        light = np.concatenate([_twice(light, 1), bright[None]])
        shown = np.maximum(_twice(shown, 0), as_shown(peak, share, bright))
    best = np.abs(shown - lidars).max(-1).argmin(0)
    return bins[:, best, rows].astype(np.float32), light[:, best, rows]


def as_shown(peak: IntArray, share: Float32Array, light: Float32Array) -> Float32Array:
    """Return the lidar `(…, 16)` that a single object would give."""
    part: Float32Array = _HERE[peak]
    part += _NEXT[peak] * share[..., None]
    part += _BEFORE[peak] * (1 - share[..., None])
    return part * light[..., None]


def _twice(array: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return an array for both readings."""
    return np.concatenate([array, array], axis)
