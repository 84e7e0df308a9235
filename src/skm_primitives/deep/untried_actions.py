"""Exploration in a deterministic world: what was tried at the very same picture is not tried again.

An agent that sees again what it has seen in this episode, and would do again what it did then, learns
nothing, and may do so for the rest of the episode (walking against a wall). It does instead what it
tried there least.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import IntArray


class UntriedActions:
    """Counts what each agent tried at each picture of its episode."""

    def __init__(self, agents: int, actions: int) -> None:
        self._actions = actions
        self._tries: list[dict[bytes, IntArray]] = [{} for _ in range(agents)]

    def start(self) -> None:
        """Forget everything: new episodes begin."""
        for tries in self._tries:
            tries.clear()

    def instead(
        self, chosen: NDArray[Any], features: NDArray[Any], random: np.random.Generator
    ) -> NDArray[Any]:
        """Return what agents do, given what they chose and what they see."""
        taken = chosen.copy()
        draws = random.random(len(chosen))
        for agent, tries in enumerate(self._tries):
            blank = np.zeros(self._actions, np.int64)
            here = tries.setdefault(features[agent].tobytes(), blank)
            if here[chosen[agent]] > here.min():
                least = np.flatnonzero(here == here.min())
                taken[agent] = least[int(draws[agent] * len(least))]
            here[taken[agent]] += 1
        return taken
