"""How agents explore: by held random actions, by what was not tried yet, from where skills lead."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_primitives.skills.goal_space import GoalSpace
from skm_sim.arrays import BoolArray, FloatArray, IntArray

HOLD = 3.0
"""Mean steps for which an exploring agent holds its random action."""


class HeldExploration:
    """Replaces the chosen actions of some agents by random ones, for some steps in a row."""

    def __init__(
        self, agents: int, example: NDArray[Any], shares: tuple[float, float] = (0.01, 0.5)
    ) -> None:
        """`shares` are the least and the most of the agents' shares of random steps.

        They differ in it, on a geometric scale.
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
        shares: FloatArray | None = None,
    ) -> NDArray[Any]:
        """Return the chosen actions, or held ones; new ones to hold are taken from `candidates`.

        `shares` are those of this step; not a number where an agent has its own.
        """
        if step == 0:
            self._holding[:] = False
        share = self._share if shares is None else np.where(np.isnan(shares), self._share, shares)
        count = len(chosen)
        self._holding &= (random.random(count) > 1 / HOLD) & (share > 0)
        start = share / (HOLD * (1 - share) + share)
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
        some: BoolArray | None = None,
    ) -> NDArray[Any]:
        """Return what agents do, or `some` of them, given what they chose and what they see.

        The first of them are explorers, for whom `avoided` says which actions are none of theirs.
        """
        taken = chosen.copy()
        draws = random.random(len(chosen))
        for agent in range(len(chosen)) if some is None else np.flatnonzero(some).tolist():
            tries = self._tries[agent]
            blank = np.zeros(self._actions, np.int64)
            here = tries.setdefault(_digest(features[agent]), blank)
            cost = here
            if explorer := agent < len(avoided):
                cost = here + AVOIDED * avoided[agent]
            if explorer or here[chosen[agent]] > here.min():
                least = np.flatnonzero(cost == cost.min())
                taken[agent] = least[int(draws[agent] * len(least))]
            here[taken[agent]] += 1
        return taken


def _digest(features: NDArray[Any]) -> bytes:
    """Return a few bytes that stand for a picture, of which many are kept."""
    return blake2b(features.tobytes(), digest_size=12).digest()


# Exploration from what was learned: first return, then explore (as in Go-Explore; Ecoffet et al., 2021).
#
# In a world that needs a sequence to be opened, such as a key before its door, random actions from the
# start find the first label set of it, hardly ever the next. So some episodes begin with a skill, to a
# label set that is reached reliably and was shown rarely, and explore from there on. There is as much
# of that as skills fail: where every proposition is reached reliably, there is nothing left to open.


FREELY: Final = 0.9
"""The share of random steps of an agent that explores from where a skill has led it."""
KEPT_RATE: Final = 0.9
"""What share of a round's counts of returns is left a round later: skills get better."""
LEAST_NEEDED: Final = 0.05
"""How much there is to open at least, as far as anybody knows."""
LONGEST_RETURN: Final = 0.5
"""The share of an episode after which an agent explores from wherever it has come to."""


class ReturnAndExplore:
    """Which agents are on their way to a label set, and which explore from there."""

    def __init__(self, agents: int, share: float, steps: int) -> None:
        self._share = share
        self._longest = max(1, int(LONGEST_RETURN * steps))
        self._target: IntArray = np.full(agents, -1)
        self._since: IntArray = np.zeros(agents, np.int64)
        self.exploring: BoolArray = np.zeros(agents, np.bool_)
        """Agents that explore from where they are."""
        self._tried: FloatArray = np.zeros(0)
        self._arrived: FloatArray = np.zeros(0)

    @property
    def returning(self) -> BoolArray:
        """Agents that are on their way."""
        on_the_way: BoolArray = self._target >= 0
        return on_the_way

    def start(self, space: GoalSpace, seen: IntArray, random: np.random.Generator) -> None:
        """Begin a round: episodes of all agents begin; `seen` is how often each goal was achieved."""
        self._fit(space)
        self._tried *= KEPT_RATE
        self._arrived *= KEPT_RATE
        self._target[:], self.exploring[:] = -1, False
        self._send(np.ones(len(self._target), np.bool_), space, seen, random)

    def step(
        self,
        space: GoalSpace,
        seen: IntArray,
        slots: IntArray,
        over: BoolArray,
        random: np.random.Generator,
    ) -> None:
        """Note what label sets a step has led to, and which episodes were over with it."""
        self._fit(space)
        self._since += 1
        there = self.returning & (self._target == slots)
        lost = self.returning & ~there & (over | (self._since >= self._longest))
        np.add.at(self._tried, self._target[there | lost], 1)
        np.add.at(self._arrived, self._target[there], 1)
        self.exploring |= there | lost
        self._target[there | lost] = -1
        self.exploring &= ~over
        self._send(over, space, seen, random)

    def masks(self, masks: BoolArray, space: GoalSpace) -> BoolArray:
        """Return what agents pursue: those on their way their label set, whatever else is shown."""
        rows = np.flatnonzero(self.returning)
        sent = masks.copy()
        sent[rows] = False
        sent[rows, self._target[rows], int(space.violations.argmax())] = True
        return sent

    def shares(self) -> FloatArray:
        """Return the share of random steps of each agent; not a number for those that do neither."""
        return np.where(self.exploring, FREELY, np.where(self.returning, 0.0, np.nan))

    def _rates(self) -> FloatArray:
        """Return how reliably each label set is reached; as if it were, where it was not tried."""
        return (self._arrived + 1) / (self._tried + 1)

    def _needed(self, space: GoalSpace) -> float:
        """Return how much there is to open: how often the hardest proposition is not reached.

        One that was never shown is never reached. A little is always tried, to notice what is unlearned.
        """
        best = np.where(space.label_rows(), self._rates()[:, None], 0.0).max(axis=0, initial=0.0)
        return max(float(1 - best.min(initial=1.0)), LEAST_NEEDED)

    def _send(
        self, begins: BoolArray, space: GoalSpace, seen: IntArray, random: np.random.Generator
    ) -> None:
        """Send some of the agents whose episode begins to a label set, one rarely seen the likelier."""
        labelled = np.array(space.label_bits) != 0
        weight = labelled * self._rates() / np.sqrt(1 + seen.max(axis=1)[: len(space)])
        sent = begins & (random.random(len(begins)) < self._share * self._needed(space))
        if not (sent.any() and weight.any()):
            return
        to = random.choice(len(space), size=len(begins), p=weight / weight.sum())
        self._target[sent], self._since[sent] = to[sent], 0

    def _fit(self, space: GoalSpace) -> None:
        more = len(space) - len(self._tried)
        self._tried, self._arrived = (
            np.pad(self._tried, (0, more)),
            np.pad(self._arrived, (0, more)),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what later rounds depend on, for a checkpoint."""
        return {"returns/tried": self._tried, "returns/arrived": self._arrived}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave; runs from before there was this have none."""
        if "returns/tried" in arrays:
            self._tried = np.array(arrays["returns/tried"])
            self._arrived = np.array(arrays["returns/arrived"])
