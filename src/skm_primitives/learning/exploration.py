"""Random actions that are held for a few steps, so that they lead somewhere."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, IntArray

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


# Exploration in a deterministic world: what was tried at the very same picture is not tried
# again.
#
# An agent that sees again what it has seen in this episode, and would do again what it did then,
# learns nothing, and may do so for the rest of the episode (walking against a wall). It does
# instead what it tried there least. *Explorers* always do, and avoid what changes the world
# (collecting something), so that their episodes show more of it before it does.


AVOIDED: Final = 1000
"""How often an action counts as tried that is to be avoided."""


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
        avoided: BoolArray,
    ) -> NDArray[Any]:
        """Return what agents do, given what they chose and what they see.

        The first of them are explorers, for whom `avoided` says which actions are none of theirs.
        """
        taken = chosen.copy()
        draws = random.random(len(chosen))
        for agent, tries in enumerate(self._tries):
            blank = np.zeros(self._actions, np.int64)
            here = tries.setdefault(features[agent].tobytes(), blank)
            cost = here
            if explorer := agent < len(avoided):
                cost = here + AVOIDED * avoided[agent]
            if explorer or here[chosen[agent]] > here.min():
                least = np.flatnonzero(cost == cost.min())
                taken[agent] = least[int(draws[agent] * len(least))]
            here[taken[agent]] += 1
        return taken
