"""Pictures made smaller by averaging, with weights by area, so that any size becomes any smaller one."""

from __future__ import annotations

import numpy as np

from skm_sim.arrays import ByteArray, Float32Array


def averaging(pixels: int, small: int) -> Float32Array:
    """Return the matrix `(small, pixels)` that averages a line of pixels by area."""
    width = pixels / small
    start = np.arange(small)[:, None] * width
    pixel = np.arange(pixels)
    overlap = np.minimum(start + width, pixel + 1) - np.maximum(start, pixel)
    matrix: Float32Array = (np.clip(overlap, 0, None) / width).astype(np.float32)
    return matrix


class Shrinking:
    """From pictures `(n, height, width, channels)` of bytes to smaller ones, of bytes."""

    def __init__(self, shape: tuple[int, int, int], small: tuple[int, int]) -> None:
        self.shape = (*small, shape[2])
        self._down = averaging(shape[0], small[0])
        across = averaging(shape[1], small[1]).T
        self._across: Float32Array = np.kron(across, np.eye(shape[2], dtype=np.float32))
        """Averages the columns of all channels at once."""

    def __call__(self, pictures: ByteArray) -> ByteArray:
        """Return the averages, rounded."""
        lines = pictures.reshape(*pictures.shape[:2], -1).astype(np.float32)
        rows = self._down @ lines
        averages = rows.reshape(-1, len(self._across)) @ self._across
        rounded: ByteArray = (averages + np.float32(0.5)).astype(np.uint8)
        return rounded.reshape(len(pictures), *self.shape)
