"""How the generic learner sees pictures: bytes as they are, remembered as bytes.

Most pictures are intensities, scaled by the mean and the spread of each channel. Small ones with few
different bytes, such as MiniGrid's, are *codes*: a 6 is not more than a 5 but something else, so each
code of each channel becomes a plane of its own. Which it is, `look` finds out before learning begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives.deep.bodies import GenericBody
from skm_primitives.deep.shrinking import Shrinking
from skm_sim.arrays import ByteArray, Float32Array, IntArray
from skm_sim.observation_parts import is_image

MOST_CODES: Final = 16
"""Different bytes of a channel up to which they are codes."""
CODED_SIDE: Final = 32
"""Pixels a side up to which a picture may be one of codes."""
PLAIN_SIDE: Final = 48
"""Pixels a side up to which a picture is seen as it is, if nobody says how large it should be."""


class ImageBody(GenericBody):
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
