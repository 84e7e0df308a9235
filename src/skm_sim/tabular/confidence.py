"""How well transition probabilities are known from counts: Weissman's bound, and what it asks for.

After n tries of an action that has k possible outcomes, the estimated distribution is, with probability
1 − δ, within √(2 ln((2^k − 2)/δ) / n) of the true one in the L1 norm (Weissman et al., 2003). An action
with one outcome needs one try.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from skm_sim.arrays import FloatArray, IntArray

DOUBT: Final = 0.05
"""δ: the probability, for each action in each state, that the bound does not hold."""


def _spread(outcomes: int) -> float:
    """Return 2 ln((2^k − 2)/δ), without the overflow of 2^k."""
    choices = math.log(2**outcomes - 2) if outcomes < 60 else outcomes * math.log(2)
    return 2 * (choices - math.log(DOUBT))


def tries_needed(outcomes: int, error: float) -> int:
    """Return how many tries bring the bound on the L1 error down to `error`; 1 for one outcome."""
    return 1 if outcomes < 2 else math.ceil(_spread(outcomes) / error**2)


def error_bound(tries: IntArray, outcomes: int) -> FloatArray:
    """Return the bound on the L1 error after so many tries; never more than 2, the largest there is."""
    if outcomes < 2:
        return np.where(tries > 0, 0.0, 2.0)
    bound: FloatArray = np.sqrt(_spread(outcomes) / np.maximum(tries, 1))
    return np.where(tries > 0, np.minimum(bound, 2.0), 2.0)
