"""Exploration in a deterministic world: what was tried at the very same picture is not tried again.

An agent that sees again what it has seen in this episode, and would do again what it did then, learns
nothing, and may do so for the rest of the episode (walking against a wall). It does instead what it
tried there least. *Explorers* always do, and keep off what changes the world (collecting something), so
that their episodes show more of it before it does.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, IntArray

KEPT_OFF: Final = 1000
"""How often an action counts as tried that is to be kept off."""


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
        self,
        chosen: NDArray[Any],
        features: NDArray[Any],
        random: np.random.Generator,
        kept_off: BoolArray,
    ) -> NDArray[Any]:
        """Return what agents do, given what they chose and what they see.

        The first of them are explorers, for whom `kept_off` says which actions are none of theirs.
        """
        taken = chosen.copy()
        draws = random.random(len(chosen))
        for agent, tries in enumerate(self._tries):
            blank = np.zeros(self._actions, np.int64)
            here = tries.setdefault(features[agent].tobytes(), blank)
            cost = here
            if explorer := agent < len(kept_off):
                cost = here + KEPT_OFF * kept_off[agent]
            if explorer or here[chosen[agent]] > here.min():
                least = np.flatnonzero(cost == cost.min())
                taken[agent] = least[int(draws[agent] * len(least))]
            here[taken[agent]] += 1
        return taken
