"""Where actions lead by chance: how often each action led to each place, as sparse arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skm_sim.arrays import Float32Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Chances:
    """The places that each action leads to and how likely each is, of a world in which actions slip.

    Entries go by `pair` = place × actions + action; every pair has at least one.
    """

    pair: IntArray
    place: IntArray
    """The index of a place that the pair leads to."""
    chance: FloatArray
    """How likely that is, in single precision (so that it can be sent as it is); those of a pair add up
    to 1."""

    @classmethod
    def counted(cls, counts: IntArray) -> Chances:
        """Return the chances from `counts[place, action, place]`; what was never tried leads nowhere."""
        places, actions, _ = counts.shape
        tried = counts.sum(axis=2)
        here, action = np.nonzero(tried == 0)
        known = counts.copy()
        known[here, action, here] = 1
        pair, place = np.nonzero(known.reshape(places * actions, -1))
        total = np.maximum(tried, 1).reshape(-1)[pair]
        share = known.reshape(places * actions, -1)[pair, place] / total
        return cls(pair, place, share.astype(np.float32).astype(np.float64))

    @classmethod
    def of_table(cls, table: Float32Array) -> Chances:
        """Return the chances of a table `[place, action, place]`, as `table` makes it."""
        rows = table.reshape(-1, table.shape[2])
        pair, place = np.nonzero(rows)
        return cls(pair, place, rows[pair, place].astype(np.float64))

    def table(self, places: int, actions: int) -> Float32Array:
        """Return `[place, action, place]`: how likely each action leads to each place."""
        table: Float32Array = np.zeros((places * actions, places), np.float32)
        table[self.pair, self.place] = self.chance
        return table.reshape(places, actions, places)

    @cached_property
    def _first(self) -> IntArray:
        """Where the entries of each pair begin."""
        first: IntArray = np.searchsorted(self.pair, np.arange(self.pair[-1] + 1))
        return first

    def expected(self, arriving: FloatArray) -> FloatArray:
        """Return `[u, place, action, …]`: the mean of `arriving[u, place, …]` over what follows."""
        weights = self.chance.reshape(-1, *(1,) * (arriving.ndim - 2))
        mean = np.add.reduceat(arriving[:, self.place] * weights, self._first, axis=1)
        shaped: FloatArray = mean.reshape(len(arriving), arriving.shape[1], -1, *arriving.shape[2:])
        return shaped

    def log_expected(self, arriving: FloatArray) -> FloatArray:
        """Return the same of logarithms: no mean is too small for a number."""
        chance = np.log(self.chance).reshape(-1, *(1,) * (arriving.ndim - 2))
        mean = np.logaddexp.reduceat(arriving[:, self.place] + chance, self._first, axis=1)
        shaped: FloatArray = mean.reshape(len(arriving), arriving.shape[1], -1, *arriving.shape[2:])
        return shaped

    def reached(self, actions: int) -> IntArray:
        """Return `[place, …]`: every place that some action leads to, the first again as filling."""
        source = self.pair // actions
        counts = np.bincount(source)
        rows = np.split(self.place, np.cumsum(counts)[:-1])
        most = int(counts.max())
        return np.array([np.resize(row, most) for row in rows], np.int64)
