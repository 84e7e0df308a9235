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
        filters = [arrays[f"{prefix}.filters.{layer}"] for layer in range(count)]
        self._filters = [np.ascontiguousarray(some.reshape(len(some), -1).T) for some in filters]
        self._offsets = [arrays[f"{prefix}.offsets.{layer}"] for layer in range(count)]
        self._head = ServedMLP(f"{prefix}.head", arrays)
        side = arrays.get(f"{prefix}.side")
        self._patch = 0 if side is None else int(side)
        """Pixels a side of the patches that lie side by side; 0: convolutions."""
        onward = arrays.get(f"{prefix}.onward")
        self._onward: tuple[Float32Array, Float32Array] | None = None
        if onward is not None:
            flat = onward.reshape(-1, *onward.shape[2:])
            self._onward = flat, arrays[f"{prefix}.onward_bias"]
        self._body = body
        fits = count > 0 and filters[0].shape[1] == body.planes
        self.inputs = body.inputs if fits else -1

    def __call__(self, pixels: NDArray[Any]) -> Float32Array:
        """Return `(members, n, outputs)` for bytes `(n, inputs)`."""
        return self._head.outputs(self._hidden(pixels))

    def onward(self, pixels: NDArray[Any]) -> Float32Array | None:
        """Return onward values `(n, label sets, goals)`, if they were learned."""
        if self._onward is None:
            return None
        hidden = self._hidden(pixels)
        flat = hidden.transpose(1, 0, 2).reshape(len(pixels), -1) / len(hidden)
        weights, bias = self._onward
        logits = (np.tensordot(flat, weights, 1) + bias).astype(np.float32)
        values: Float32Array = np.float32(1) / (np.float32(1) + np.exp(-logits))
        return values

    def _hidden(self, pixels: NDArray[Any]) -> Float32Array:
        seen = self._seen(pixels)
        for filters, offsets in zip(self._filters, self._offsets, strict=True):
            cut = _tiles(seen, self._patch) if self._patch else _windows(seen)
            seen = np.maximum(cut @ filters + offsets, np.float32(0))
        flat = seen.transpose(0, 3, 1, 2).reshape(len(seen), -1)
        return self._head.hidden(np.ascontiguousarray(flat))

    def _seen(self, pixels: NDArray[Any]) -> Float32Array:
        """Return the planes `(n, height, width, planes)` of bytes."""
        body = self._body
        picture = pixels.reshape(-1, *body.seen)
        if body.codes is None:
            scaled: Float32Array = (picture.astype(np.float32) - body.shift) * body.scale
            return scaled
        planes = np.zeros((*picture.shape[:3], body.planes), np.float32)
        index = body.codes[np.arange(body.seen[2]), picture]
        np.put_along_axis(planes, index, np.float32(1), axis=3)
        return planes


def _windows(picture: Float32Array) -> Float32Array:
    """Return what each filter of 3 × 3 sees, every second pixel: `(n, height, width, planes · 9)`."""
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    seen: Float32Array = windows.reshape(*windows.shape[:3], -1)
    return seen


def _tiles(picture: Float32Array, side: int) -> Float32Array:
    """Return patches that lie side by side: `(n, rows, columns, planes · side²)`."""
    count, height, width, planes = picture.shape
    cut = picture.reshape(count, height // side, side, width // side, side, planes)
    tiles = cut.transpose(0, 1, 3, 5, 2, 4)
    seen: Float32Array = tiles.reshape(count, height // side, width // side, -1)
    return seen
