"""How skills see and move: features of observations (vectors and images), and a warp of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_sim.arrays import ByteArray, Float32Array, IntArray
from skm_sim.observations import is_image
from skm_sim.spec import DomainSpec

# Pictures made smaller by averaging, with weights by area, so that any size becomes any smaller
# one.


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


# How a learner sees and moves in a domain: features of observations, and a warp of actions.
#
# The environment stays as it is; an *encoder* sits on the learner's side. `VectorEncoder` fits any
# domain with vectors of numbers to observe, and actions that are a choice or a box; a domain that
# deserves better names its own in its spec.


GRID_DIMENSIONS = 4
"""Dimensions up to which a box of actions is also offered as a grid of choices."""
FAR = 50.0
"""Where scaled observations are cut off, in standard deviations."""
LONGEST_WAVE = np.pi / 2
"""The frequency of the longest wave: four standard deviations long."""


class ObservationEncoder(Protocol):
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


class VectorEncoder:
    """Observations scaled to their usual range; actions as they are, or a grid of three a dimension.

    What the usual range is, `look` finds out before learning begins, and checkpoints hold it.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        seen, acted = env.observation_space, env.action_space
        if not isinstance(seen, Box) or len(seen.shape) != 1:
            raise SkmError(f"the network learner requires a 1-D Box of observations, not {seen}.")
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
            raise SkmError(
                f"the network learner requires Discrete or 1-D Box actions, not {acted}."
            )
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


def encoder_for(spec: DomainSpec) -> ObservationEncoder:
    """Return the observation encoder of a domain."""
    own = spec.part("encoder")
    if own is not None:
        encoder: ObservationEncoder = own()
        return encoder
    env = spec.make()
    try:
        if is_image(env.observation_space):
            return ImageEncoder(env.unwrapped)
        return VectorEncoder(env.unwrapped)
    finally:
        env.close()


# How the generic learner sees pictures: bytes as they are, remembered as bytes.
#
# Most pictures are intensities, scaled by the mean and the spread of each channel. Small ones
# with few different bytes, such as MiniGrid's, are *codes*: a 6 is not more than a 5 but
# something else, so each code of each channel becomes a plane of its own. Which it is, `look`
# finds out before learning begins.


MOST_CODES: Final = 16
"""Different bytes of a channel up to which they are codes."""
CODED_SIDE: Final = 32
"""Pixels a side up to which a picture may be one of codes."""
PLAIN_SIDE: Final = 48
"""Pixels a side up to which a picture is seen as it is, by default."""


class ImageEncoder(VectorEncoder):
    """Pictures `(height, width, channels)` of bytes, with a choice of actions."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        seen, acted = env.observation_space, env.action_space
        if not is_image(seen) or not isinstance(acted, Discrete):
            raise SkmError(f"pictures are learned from with choices, not {seen} with {acted}.")
        shape = seen.shape
        assert shape is not None
        self.shape: tuple[int, int, int] = (shape[0], shape[1], shape[2])
        self.seen = self.shape
        """The shape of the pictures that networks see."""
        self._shrinking: Shrinking | None = None
        self.inputs = self.observations = int(np.prod(shape))
        self.waves = 0
        self.shift: Float32Array = np.zeros(shape[2], np.float32)
        self.scale: Float32Array = np.full(shape[2], 1 / 255, np.float32)
        self.codes: IntArray | None = None
        """`[channel, byte]`: the plane of each code; None where bytes are intensities."""
        self._act(acted)

    @property
    def planes(self) -> int:
        """How many planes the network sees."""
        return self.seen[2] if self.codes is None else int(self.codes.max()) + 1

    def sharpen(self, waves: int) -> None:  # noqa: ARG002
        """Refuse: waves are of numbers."""
        raise SkmError("the setting waves is for vectors of numbers, not for pictures.")

    def shrink(self, pixels: int) -> None:
        """Let networks see pictures averaged to so many pixels along the longer side; 0: as they like.

        What is up to `PLAIN_SIDE` pixels a side they like to see as it is, and else as half that or
        a little more.
        """
        longest = max(self.shape[:2])
        if not pixels:
            pixels = longest
            while pixels > PLAIN_SIDE:
                pixels = (pixels + 1) // 2
        if pixels < longest:
            height, width = (max(1, round(side * pixels / longest)) for side in self.shape[:2])
            self._shrink_to((height, width))

    def _shrink_to(self, small: tuple[int, int]) -> None:
        self._shrinking = Shrinking(self.shape, small)
        self.seen = self._shrinking.shape
        self.inputs = int(np.prod(self.seen))

    def look(self, observations: NDArray[Any]) -> None:
        """Find out whether these pictures `(n, …)` hold codes, and of what range they are."""
        pixels = self.features(observations).reshape(-1, self.seen[2])
        spread = pixels.std(axis=0)
        self.shift = pixels.mean(axis=0).astype(np.float32)
        self.scale = (1 / np.maximum(spread, 1.0)).astype(np.float32)
        if pixels.max() <= 1:  # Bits are planes already.
            self.shift[:], self.scale[:] = 0, 1
            return
        found = [np.unique(channel) for channel in pixels.T]
        small = max(self.shape[:2]) <= CODED_SIDE and self._shrinking is None
        if small and max(map(len, found)) <= MOST_CODES:
            self.codes = _planes(found)

    def arrays(self) -> dict[str, Any]:
        """Return range and codes, for a checkpoint."""
        coded = {} if self.codes is None else {"input_codes": self.codes.astype(np.int32)}
        small = {} if self._shrinking is None else {"input_sides": np.array(self.seen[:2])}
        return {**super().arrays(), **coded, **small}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave."""
        super().restore(arrays)
        if "input_sides" in arrays:
            height, width = arrays["input_sides"].tolist()
            self._shrink_to((height, width))
        if "input_codes" in arrays:
            self.codes = arrays["input_codes"].astype(np.int64)

    def features(self, observations: NDArray[Any]) -> ByteArray:
        """Return the bytes of each picture in a row, averaged where it is made smaller."""
        seen: ByteArray = np.asarray(observations, np.uint8)
        if self._shrinking is not None:
            seen = self._shrinking(seen)
        return np.ascontiguousarray(seen.reshape(len(seen), self.inputs))


def _planes(found: list[NDArray[Any]]) -> IntArray:
    """Return a plane for each byte found in each channel, and one for all that were not."""
    codes: IntArray = np.zeros((len(found), 256), np.int64)
    first = 0
    for channel, values in enumerate(found):
        codes[channel] = first + len(values)
        codes[channel, values] = first + np.arange(len(values))
        first += len(values) + 1
    return codes
