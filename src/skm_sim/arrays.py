"""The types of arrays, for all packages: what a name says is what NumPy stores."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
ByteArray: TypeAlias = NDArray[np.uint8]
Uint16Array: TypeAlias = NDArray[np.uint16]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]


def distinct(values: IntArray) -> IntArray:
    """Return the different numbers in ascending order, as `np.unique` does.

    That one imports numpy.ma to check for masked arrays: 35 ms of the 650 that `skm run` takes.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    found: IntArray = ordered[first]
    return found
