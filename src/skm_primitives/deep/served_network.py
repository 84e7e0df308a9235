"""Networks at work without torch: the forward pass of an `EnsembleMLP` in plain NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skm_sim.arrays import Float32Array


class ServedMLP:
    """An `EnsembleMLP` in plain NumPy, for a few observations at a time."""

    def __init__(self, prefix: str, arrays: Mapping[str, Float32Array]) -> None:
        def part(kind: str) -> list[Float32Array]:
            names = sorted(
                (name for name in arrays if name.startswith(f"{prefix}.{kind}.")),
                key=lambda name: int(name.rsplit(".", 1)[1]),
            )
            return [np.ascontiguousarray(arrays[name], np.float32) for name in names]

        self._weights, self._biases = part("weights"), part("biases")
        self._scales, self._shifts = part("scales"), part("shifts")
        self.inputs = self._weights[0].shape[1]
        self.members = self._weights[0].shape[0]

    def __call__(self, inputs: Float32Array) -> Float32Array:
        """Return `(members, n, outputs)` for inputs `(n, inputs)` or `(members, n, inputs)`."""
        return self.outputs(self.hidden(inputs))

    def outputs(self, hidden: Float32Array) -> Float32Array:
        """Return the outputs from the last hidden layer."""
        outputs: Float32Array = hidden @ self._weights[-1] + self._biases[-1]
        return outputs

    def hidden(self, inputs: Float32Array) -> Float32Array:
        """Return the last hidden layer of every member."""
        hidden: Float32Array = inputs if inputs.ndim == 3 else inputs[None]
        for index, (scale, shift) in enumerate(zip(self._scales, self._shifts, strict=True)):
            hidden = hidden @ self._weights[index] + self._biases[index]
            hidden = hidden - hidden.mean(-1, keepdims=True)
            spread = np.sqrt(np.square(hidden).mean(-1, keepdims=True) + np.float32(1e-5))
            hidden = np.maximum(hidden / spread * scale + shift, np.float32(0))
        return hidden
