"""How a learner sees and moves in a domain: features of observations, and a warp of actions.

The environment stays as it is; a *body* sits on the learner's side. `GenericBody` fits any domain
with vectors of numbers to observe, and actions that are a choice or a box; a domain that deserves
better names its own in its spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_sim.arrays import Float32Array
from skm_sim.domain import DomainSpec
from skm_sim.observation_parts import is_image

GRID_DIMENSIONS = 4
"""Dimensions up to which a box of actions is also offered as a grid of choices."""
FAR = 50.0
"""Where scaled observations are cut off, in standard deviations."""
LONGEST_WAVE = np.pi / 2
"""The frequency of the longest wave: four standard deviations long."""


class Body(Protocol):
    """The learner's side of a robot that observes a vector of numbers."""

    inputs: int
    """How many features there are."""
    observations: int
    """How many numbers an observation has."""
    actions: Float32Array
    """`(count, dimensions)`: a choice of actions, for learners with discrete ones; may be empty."""

    def features(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the networks' inputs `(n, inputs)` for observations `(n, observations)`."""
        ...

    def action(self, controls: Float32Array) -> Float32Array:
        """Return environment actions for a continuous learner's controls, `(n, dimensions)`.

        Controls are in [-1, 1]; where the actuators respond unevenly, this evens them out.
        """
        ...

    def commands(self, actions: Float32Array) -> NDArray[Any]:
        """Return actions `(n, dimensions)` as the environment takes them."""
        ...

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return options for the reset of a batch in training, such as which worlds to start in."""
        ...


class GenericBody:
    """Observations scaled to their usual range; actions as they are, or a grid of three a dimension.

    What the usual range is, `look` finds out before learning begins, and checkpoints hold it.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        seen, acted = env.observation_space, env.action_space
        if not isinstance(seen, Box) or len(seen.shape) != 1:
            raise SkmError(f"the network learner wants a flat box of observations, not {seen}.")
        self.inputs = self.observations = seen.shape[0]
        self.waves = 0
        self.shift: Float32Array = np.zeros(self.inputs, np.float32)
        self.scale: Float32Array = np.ones(self.inputs, np.float32)
        self._act(acted)

    def _act(self, acted: Space[Any]) -> None:
        """Take note of the actions: choices, or a box of them."""
        if isinstance(acted, Discrete):
            if acted.start != 0:
                raise SkmError(f"the network learner wants choices from 0, not {acted}.")
            self.discrete = True
            self.actions: Float32Array = np.arange(acted.n, dtype=np.float32)[:, None]
            return
        self.discrete = False
        if not isinstance(acted, Box) or len(acted.shape) != 1:
            raise SkmError(f"the network learner wants a choice or a flat box to act, not {acted}.")
        if not acted.is_bounded():
            raise SkmError(f"the network learner wants actions with bounds, not {acted}.")
        self._low, self._high = acted.low.astype(np.float32), acted.high.astype(np.float32)
        self.actions = coarse_grid(self._low, self._high)

    def sharpen(self, waves: int) -> None:
        """Add sines and cosines of every number to the inputs, each wave half as long as the last.

        Values that jump, as at a wall between two corridors, are told apart by them far sooner.
        """
        self.waves = waves
        self.inputs = self.observations * (1 + 2 * waves)

    def look(self, observations: NDArray[Any]) -> None:
        """Scale features by the mean and the spread of observations `(n, observations)`."""
        seen = np.asarray(observations, np.float64)
        spread = seen.std(0)
        usual = np.maximum(np.abs(seen).max(0), 1.0)
        self.shift = seen.mean(0).astype(np.float32)
        self.scale = np.where(
            spread > 1e-6 * usual, 1 / np.maximum(spread, 1e-6), 1 / usual
        ).astype(np.float32)

    def arrays(self) -> dict[str, Float32Array]:
        """Return the range, and how many waves there are, for a checkpoint."""
        waves = {"input_waves": np.array([self.waves], np.float32)} if self.waves else {}
        return {"input_shift": self.shift.copy(), "input_scale": self.scale.copy(), **waves}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave; older checkpoints have none, and none was used."""
        if "input_shift" in arrays:
            self.shift, self.scale = arrays["input_shift"], arrays["input_scale"]
        if "input_waves" in arrays:
            self.sharpen(int(arrays["input_waves"][0]))

    def features(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the observations, scaled, and their waves."""
        scaled = (np.asarray(observations, np.float32) - self.shift) * self.scale
        bounded: Float32Array = np.clip(scaled, -FAR, FAR)
        if not self.waves:
            return bounded
        turns = [np.float32(LONGEST_WAVE * 2**wave) * bounded for wave in range(self.waves)]
        parts = [bounded, *(wave(turn) for turn in turns for wave in (np.sin, np.cos))]
        return np.concatenate(parts, axis=-1)

    def action(self, controls: Float32Array) -> Float32Array:
        """Return the controls, scaled to the box."""
        scaled: Float32Array = self._low + (controls + 1) / 2 * (self._high - self._low)
        return scaled

    def commands(self, actions: Float32Array) -> NDArray[Any]:
        """Return numbers of choices, or the actions as they are."""
        return actions[:, 0].astype(np.int64) if self.discrete else actions

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:  # noqa: ARG002
        """Return none: the environment draws its own worlds."""
        return {}


def coarse_grid(low: Float32Array, high: Float32Array) -> Float32Array:
    """Return all combinations of least, middle and most; none, where they would be too many."""
    if len(low) > GRID_DIMENSIONS:
        return np.zeros((0, len(low)), np.float32)
    axes = [np.linspace(least, most, 3) for least, most in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return grid.reshape(-1, len(axes)).astype(np.float32)


def body_for(spec: DomainSpec) -> Body:
    """Return the body of a domain."""
    own = spec.part("body")
    if own is not None:
        body: Body = own()
        return body
    env = spec.make()
    try:
        if is_image(env.observation_space):
            from skm_primitives.deep.image_body import ImageBody  # noqa: PLC0415

            return ImageBody(env.unwrapped)
        return GenericBody(env.unwrapped)
    finally:
        env.close()
