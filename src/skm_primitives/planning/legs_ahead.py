"""What comes after a leg, planned with values of two legs of the state at hand.

What lies behind a label set is known on the mean over worlds. Where skills also tell what it is worth
to show l and then h, the two values of one state say how far h is from l in *this* world:

    T(l, h) = max_a Q(s, a | l, then h) / max_a Q(s, a | l).

So a plan of several legs is made with T in place of the means, by value iteration on machine × label
sets. Of several places that show l it is the one from which h is best gone on to; what avoiding costs on
later legs is known on the mean only.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.lookahead import log_sum
from skm_primitives.planning.product import machine_table
from skm_sim.arrays import BoolArray, FloatArray, IntArray

LEGS: Final = 6
"""Legs that are planned together; what lies behind the last is known on the mean."""


class LegsAhead:
    """Plans the next legs of a machine; label sets are numbered as skills number them."""

    def __init__(
        self,
        machine: RewardMachine,
        label_sets: tuple[frozenset[str], ...],
        weights: FloatArray,
        means: FloatArray,
        costs: FloatArray,
        log_gamma: float,
    ) -> None:
        """All but the first are logarithms.

        `weights[u, h]`: what arriving at h is worth on the mean in the machine state u; −∞ if it is
        nothing to pursue. `means[l, h]`: the mean value of h from l with nothing to avoid; `costs[u, l,
        h]`: of avoiding on the way what u says.
        """
        self._target, self._reward = machine_table(machine, label_sets)
        self._weights, self._means, self._costs = weights, means, costs
        self._log_gamma = log_gamma
        self._near: dict[int, IntArray] = {}
        with np.errstate(divide="ignore"):
            self.paid: FloatArray = np.log(self._reward)
        """`[u, l]`: log of the reward on showing l."""

    def label_sets(self, state: int) -> BoolArray:
        """Return the label sets that a plan from a machine state is about."""
        pursued: BoolArray = np.isfinite(self._weights[self._states(state)])
        wanted: BoolArray = np.asarray(pursued.any(axis=0))
        return wanted

    def _states(self, state: int) -> IntArray:
        """Return the machine states that a plan from one comes through, that one first."""
        if state not in self._near:
            found = {state: None}
            for _ in range(LEGS):
                pursued = [self._target[u, np.isfinite(self._weights[u])] for u in found]
                found |= dict.fromkeys(np.concatenate(pursued).tolist())
            self._near[state] = np.array(list(found))
        return self._near[state]

    def continuation(self, state: int, between: FloatArray) -> FloatArray:
        """Return `[l, h]`: log of what it is worth to show l now, and then h, beside the value of both.

        `between[l, h]` is log T(l, h); not a number where it was not asked for.
        """
        states = self._states(state)
        number = np.zeros(len(self._target), np.int64)
        number[states] = np.arange(len(states))
        # The last machine states of a plan lead to others that are not in it: these stay at the mean.
        inside = np.isin(self._target[states], states)
        target = number[self._target[states]]
        reward, weights = self._reward[states], self._weights[states]
        pursued = np.isfinite(weights)
        steps = np.where(np.isnan(between), self._means, np.minimum(between, 0.0))
        ways = steps + self._costs[states]
        sets = np.arange(weights.shape[1])
        for _ in range(LEGS - 2):
            behind = (ways + weights[:, None]).max(axis=2)
            follows = log_sum(reward, self._log_gamma + behind[target, sets])
            weights = np.where(pursued & inside, follows, weights)
        there = target[0]
        continuation: FloatArray = self._costs[states[there], sets] + weights[there]
        continuation[~(pursued[0] & inside[0])] = -np.inf
        return continuation
