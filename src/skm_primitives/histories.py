"""Constraint histories as small integers: which violated sets can still become which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import IntArray


class Histories:
    """Pairs (c, v): the constraints violated so far, and those that the goal wants violated.

    A violated constraint stays violated (`c' = c ∪ ((l̂ ⊕ l̂') ∩ C)`, Definition 3.1), so only pairs
    with c ⊆ v have a value at all: 3^|C| of 4^|C|. Every other pair is the one index `lost`. Sets
    of constraints are written as bits, in the order of the domain's constraints.
    """

    def __init__(self, constraints: tuple[str, ...]) -> None:
        self.constraints = constraints
        self.sets = 1 << len(constraints)
        """How many violated sets there are: 2^|C|."""
        pairs = [(c, v) for c in range(self.sets) for v in range(self.sets) if not c & ~v]
        self.lost = len(pairs)
        """The number of pairs, and the index that stands for every pair that is lost."""
        self.pair: IntArray = np.full((self.sets, self.sets), self.lost)
        """`pair[c, v]`: the index of the pair."""
        for index, (c, v) in enumerate(pairs):
            self.pair[c, v] = index
        self.fulfilled: IntArray = np.diagonal(self.pair).copy()
        """`fulfilled[v]`: the pair in which the goal's history is the agent's: stopping counts."""
        self.successor: IntArray = np.array(
            [[self.pair[c | changed, v] for c, v in pairs] for changed in range(self.sets)]
        )
        """`successor[changed, pair]`: the pair after a step on which those constraints changed."""

    def bits(self, violated: Iterable[str]) -> int:
        """Return a set of constraint names as bits."""
        return sum(1 << self.constraints.index(name) for name in violated)

    def names(self, bits: int) -> frozenset[str]:
        """Return bits as a set of constraint names."""
        return frozenset(name for i, name in enumerate(self.constraints) if bits >> i & 1)


def pack(truth: NDArray[Any]) -> IntArray:
    """Return rows of bools as integers, the first column being the lowest bit."""
    weights: IntArray = np.int64(1) << np.arange(truth.shape[-1])
    packed: IntArray = truth @ weights
    return packed
