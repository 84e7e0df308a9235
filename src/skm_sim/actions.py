"""Actions of any space as one choice of a few or one flat box: what skills can choose from."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from skm_sim.faults import DomainError

MOST_CHOICES: Final = 1024
"""Choices of a product of choices, as of MultiDiscrete, that are still one choice: a network has an
output for each. With more, each part is chosen by the largest of its scores, numbers from −1 to 1."""


class FlatActions:
    """Actions of `whole` as actions of `space`: Discrete from 0, or a flat Box.

    Choices (MultiDiscrete, MultiBinary, a Dict or Tuple of them) become one choice, numbered as
    `numpy.unravel_index` counts. Where a part is a Box, or choices are too many, all becomes a Box:
    numbers stay numbers, and each choice is made by the largest of its scores.
    """

    def __init__(self, whole: Space[Any]) -> None:
        self.whole = whole
        self._leaves = _leaves(whole)
        counts = [part.n for part in self._leaves if isinstance(part, Discrete)]
        self._finite = len(counts) == len(self._leaves)
        self._counts = tuple(int(count) for count in counts)
        self.plain = _is_plain(whole)
        """Whether they are taken as they are."""
        if self._finite and math.prod(self._counts) > MOST_CHOICES:
            self._finite = self.plain and isinstance(whole, Discrete)
        if self.plain:
            self.space: Space[Any] = whole
        elif self._finite:
            self.space = Discrete(math.prod(self._counts))
        else:
            lows = [_bounds(part)[0] for part in self._leaves]
            highs = [_bounds(part)[1] for part in self._leaves]
            self.space = Box(np.concatenate(lows), np.concatenate(highs), dtype=np.float32)

    def to_whole(self, action: Any) -> Any:  # noqa: ANN401 - an action of any kind
        """Return the action of `whole` that an action of `space` stands for."""
        if self.plain:
            return action
        if self._finite:
            numbers = np.unravel_index(int(action), self._counts)
            starts = [part.start for part in self._leaves if isinstance(part, Discrete)]
            parts: list[Any] = [
                np.int64(number + start) for number, start in zip(numbers, starts, strict=True)
            ]
        else:
            flat, parts = np.asarray(action, np.float64), []
            for part in self._leaves:
                size = len(_bounds(part)[0])
                parts.append(_from_numbers(part, flat[:size]))
                flat = flat[size:]
        return _put_together(self.whole, iter(parts))


def _is_plain(space: Space[Any]) -> bool:
    """Tell whether skills choose from a space as it is."""
    if isinstance(space, Discrete):
        return bool(space.start == 0)
    return (
        isinstance(space, Box)
        and len(space.shape) == 1
        and space.dtype is not None
        and (space.dtype.kind == "f")
    )


def _leaves(space: Space[Any]) -> list[Discrete[Any] | Box]:
    """Return the choices and boxes that a space is made of, in order."""
    if isinstance(space, Discrete | Box):
        return [space]
    if isinstance(space, Dict | Tuple):
        return [leaf for part in _parts(space) for leaf in _leaves(part)]
    if isinstance(space, MultiDiscrete):
        starts = np.broadcast_to(space.start, space.nvec.shape)
        pairs = zip(space.nvec.ravel().tolist(), starts.ravel().tolist(), strict=True)
        return [Discrete(count, start=start) for count, start in pairs]
    if isinstance(space, MultiBinary):
        return [Discrete(2) for _ in range(math.prod(space.shape))]
    raise DomainError(
        f"actions of {space} have no fixed number of parts: skills cannot choose one."
    )


def _parts(space: Dict | Tuple[Any]) -> list[Space[Any]]:
    return list(space.spaces.values() if isinstance(space, Dict) else space.spaces)


def _bounds(leaf: Discrete[Any] | Box) -> tuple[Any, Any]:
    if isinstance(leaf, Discrete):
        return np.full(leaf.n, -1, np.float32), np.full(leaf.n, 1, np.float32)
    return leaf.low.ravel().astype(np.float32), leaf.high.ravel().astype(np.float32)


def _from_numbers(leaf: Discrete[Any] | Box, numbers: Any) -> Any:  # noqa: ANN401 - an array
    if isinstance(leaf, Discrete):
        return np.int64(int(numbers.argmax()) + leaf.start)
    held = np.clip(numbers.reshape(leaf.shape), leaf.low, leaf.high)
    return (held if np.issubdtype(leaf.dtype, np.floating) else np.rint(held)).astype(leaf.dtype)


def _put_together(space: Space[Any], parts: Any) -> Any:  # noqa: ANN401 - an iterator, an action
    """Return the action made of the actions of its leaves, taken in order."""
    if isinstance(space, Dict):
        return {name: _put_together(part, parts) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_put_together(part, parts) for part in space.spaces)
    if isinstance(space, MultiDiscrete | MultiBinary):
        count = math.prod(space.shape)
        return np.array([next(parts) for _ in range(count)], space.dtype).reshape(space.shape)
    return next(parts)
