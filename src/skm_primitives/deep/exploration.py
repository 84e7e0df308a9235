"""Random actions that are held for a few steps, so that they lead somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

HOLD = 3.0
"""Mean steps for which an exploring agent holds its random action."""


class HeldExploration:
    """Replaces the chosen actions of some agents by random ones, for some steps in a row."""

    def __init__(
        self, agents: int, example: NDArray[Any], shares: tuple[float, float] = (0.01, 0.5)
    ) -> None:
        """`shares` are the least and the most of the agents' shares of random steps: they differ in
        it, on a geometric scale.
        """
        self._held = np.zeros((agents, *example.shape), example.dtype)
        self._holding = np.zeros(agents, np.bool_)
        self._share = np.geomspace(*shares, agents)

    def mix(
        self,
        chosen: NDArray[Any],
        candidates: NDArray[Any],
        random: np.random.Generator,
        step: int,
    ) -> NDArray[Any]:
        """Return the chosen actions, or held ones; new ones to hold are taken from `candidates`."""
        if step == 0:
            self._holding[:] = False
        count = len(chosen)
        self._holding &= random.random(count) > 1 / HOLD
        start = self._share / (HOLD * (1 - self._share) + self._share)
        begins = ~self._holding & (random.random(count) < start)
        self._held[begins] = candidates[begins]
        self._holding |= begins
        holding = self._holding.reshape(-1, *(1,) * (chosen.ndim - 1))
        return np.where(holding, self._held, chosen)
