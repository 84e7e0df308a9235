"""An `ImageNetwork` at work without torch, in plain NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from skm_primitives.deep.image_body import ImageBody
from skm_primitives.deep.served_network import ServedMLP
from skm_sim.arrays import Float32Array


class ServedImageNetwork:
    """The forward pass for a few pictures at a time."""

    def __init__(self, prefix: str, arrays: Mapping[str, Float32Array], body: ImageBody) -> None:
        count = sum(name.startswith(f"{prefix}.filters.") for name in arrays)
        self._filters = [
            np.ascontiguousarray(arrays[f"{prefix}.filters.{layer}"].reshape(-1, planes * 9).T)
            for layer in range(count)
            for planes in [arrays[f"{prefix}.filters.{layer}"].shape[1]]
        ]
        self._offsets = [arrays[f"{prefix}.offsets.{layer}"] for layer in range(count)]
        self._head = ServedMLP(f"{prefix}.head", arrays)
        self._body = body
        fits = count > 0 and len(self._filters[0]) == body.planes * 9
        self.inputs = body.inputs if fits else -1

    def __call__(self, pixels: NDArray[Any]) -> Float32Array:
        """Return `(members, n, outputs)` for bytes `(n, inputs)`."""
        hidden = self._seen(pixels)
        for filters, offsets in zip(self._filters, self._offsets, strict=True):
            hidden = np.maximum(_patches(hidden) @ filters + offsets, np.float32(0))
        flat = hidden.transpose(0, 3, 1, 2).reshape(len(hidden), -1)
        return self._head(np.ascontiguousarray(flat))

    def _seen(self, pixels: NDArray[Any]) -> Float32Array:
        """Return the planes `(n, height, width, planes)` of bytes."""
        body = self._body
        picture = pixels.reshape(-1, *body.shape)
        if body.codes is None:
            scaled: Float32Array = (picture.astype(np.float32) - body.shift) * body.scale
            return scaled
        planes = np.zeros((*picture.shape[:3], body.planes), np.float32)
        index = body.codes[np.arange(body.shape[2]), picture]
        np.put_along_axis(planes, index, np.float32(1), axis=3)
        return planes


def _patches(picture: Float32Array) -> Float32Array:
    """Return what each filter of 3 × 3 sees, every second pixel: `(n, height, width, planes · 9)`."""
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    seen: Float32Array = windows.reshape(*windows.shape[:3], -1)
    return seen
