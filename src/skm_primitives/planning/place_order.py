"""In which order to visit places: a tour through groups of junctions, one of each.

A place has many cells, and which of them is visited matters as much as the order: so an order is
measured exactly, by the best choice of one junction for each of its places (dynamic programming, many
orders at once). It is improved by turning and moving parts of it (2-opt, or-opt), from orders that are
shaken a little where no such move helps (iterated local search). What happens on the way between two
places is left out: the caller tries the order with the whole mission.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from skm_sim.arrays import FloatArray, IntArray

BATCH: Final = 48
"""Orders that are measured at once: the most promising moves, by the nearest cells of places."""
SLACK: Final = 8.0
"""Steps by which a move may look longer by the nearest cells, and still be measured."""
SHAKEN: Final = 8
"""Two neighbouring parts of at most so many places are swapped to shake an order."""
MOST_TABLE: Final = 4_000_000
"""Numbers in the table of ways between junctions: with more, only some junctions of places count."""
UNREACHED: Final = 1e6
"""Stands for an infinite way, so that sums can be compared."""


class PlaceOrders:
    """Measures and improves orders of some places, from one start."""

    def __init__(
        self,
        places: Sequence[IntArray],
        first: FloatArray,
        ways: FloatArray,
        works: Callable[[list[int]], bool],
    ) -> None:
        """Take each place's junctions, the ways to junctions from the start and between them.

        `works` tells whether the mission may be done in an order of places, given by their numbers.
        """
        self._works = works
        self._rng = np.random.default_rng(0)
        count = len(places)
        self.places = self._fewer(places, ways)
        most = max(map(len, self.places))
        self._table = np.full((count, count, most, most), UNREACHED, np.float32)
        self._first = np.full((count, most), UNREACHED, np.float32)
        for a, here in enumerate(self.places):
            self._first[a, : len(here)] = np.minimum(first[here], UNREACHED)
            for b, there in enumerate(self.places):
                found = np.minimum(ways[np.ix_(here, there)], UNREACHED)
                self._table[a, b, : len(here), : len(there)] = found
        # The start is row and column 0; its column is the open end, which costs nothing to go to.
        self._nearest: FloatArray = np.zeros((count + 1, count + 1))
        self._nearest[1:, 1:] = self._table.min(axis=(2, 3))
        self._nearest[0, 1:] = self._first.min(axis=1)

    @staticmethod
    def _fewer(places: Sequence[IntArray], ways: FloatArray) -> list[IntArray]:
        """Return the junctions of places; of large ones those that are nearest to another place."""
        if (len(places) * max(map(len, places))) ** 2 <= MOST_TABLE:
            return list(places)
        found = []
        for here in places:
            nearest = (
                here[ways[np.ix_(here, there)].min(axis=1).argmin()]
                for there in places
                if there is not here
            )
            found.append(np.unique(np.fromiter(nearest, np.int64)) if len(places) > 1 else here[:1])
        return found

    def lengths(self, orders: IntArray) -> FloatArray:
        """Return how many steps each order takes; a row for each, of numbers of places."""
        reached = self._first[orders[:, 0]]
        for here, there in zip(orders.T[:-1], orders.T[1:], strict=True):
            reached = (reached[:, :, None] + self._table[here, there]).min(axis=1)
        found: FloatArray = reached.min(axis=1).astype(np.float64)
        return found

    def junctions(self, order: Sequence[int]) -> list[int]:
        """Return the junction of each place in an order by which it is as short as it can be."""
        reached, came_from = self._first[order[0]], list[IntArray]()
        for here, there in pairwise(order):
            total = reached[:, None] + self._table[here, there]
            came_from.append(total.argmin(axis=0))
            reached = total.min(axis=0)
        index = int(reached.argmin())
        chosen = [index]
        for before in reversed(came_from):
            index = int(before[index])
            chosen.append(index)
        return [int(self.places[p][i]) for p, i in zip(order, reversed(chosen), strict=True)]

    def improved(self, order: Sequence[int], until: float) -> tuple[list[int], float]:
        """Return the best order that is found from one until a CPU time, and its length."""
        best = np.array(order)
        length = float(self.lengths(best[None])[0])
        best, length = self._local_optimum(best, length, until)
        while time.thread_time() < until and len(best) > 3:
            shaken = self._shaken(best)
            found, steps = self._local_optimum(shaken, float(self.lengths(shaken[None])[0]), until)
            if steps <= length and self._works(found.tolist()):
                best, length = found, steps
        return best.tolist(), length

    def _shaken(self, order: IntArray) -> IntArray:
        """Return an order with two neighbouring parts swapped."""
        most = min(SHAKEN, len(order) // 2)
        sizes = self._rng.integers(1, most + 1, 2)
        first = int(self._rng.integers(0, len(order) - int(sizes.sum()) + 1))
        second, end = first + int(sizes[0]), first + int(sizes.sum())
        parts = order[:first], order[second:end], order[first:second], order[end:]
        return np.concatenate(parts)

    def _local_optimum(
        self, order: IntArray, length: float, until: float
    ) -> tuple[IntArray, float]:
        """Return an order that none of its most promising moves makes shorter."""
        while time.thread_time() < until:
            changed = self._moves(order)
            if not len(changed):
                break
            lengths = self.lengths(changed)
            for index in np.argsort(lengths, kind="stable").tolist():
                if lengths[index] >= length:
                    return order, length
                if self._works(changed[index].tolist()):
                    order, length = changed[index], float(lengths[index])
                    break
            else:
                break
        return order, length

    def _moves(self, order: IntArray) -> IntArray:
        """Return the orders that a move leads to and that are promising by the nearest cells."""
        count = len(order)
        stops = np.concatenate([[0], order + 1, [0]])
        way = self._nearest[np.ix_(stops, stops)]
        way[:, -1] = 0.0
        legs = np.append(way[np.arange(count + 1), np.arange(1, count + 2)], 0.0)
        gains, moves = list[FloatArray](), list[IntArray]()
        # 2-opt: the stops from i to j are turned round; ways are as long there as back.
        pairs = np.triu_indices(count, 1)
        i, j = np.asarray(pairs[0] + 1), np.asarray(pairs[1] + 1)
        change = way[i - 1, j] + way[i, j + 1] - legs[i - 1] - legs[j]
        gains.append(change)
        moves.append(np.stack([i, j, np.zeros_like(i), np.zeros_like(i)], axis=1))
        # or-opt: the stops from i to j are moved to between k and k + 1, turned or not.
        for size in range(1, min(3, count - 1) + 1):
            grid = np.meshgrid(np.arange(1, count - size + 2), np.arange(count + 1), indexing="ij")
            i, k = grid[0].reshape(-1), grid[1].reshape(-1)
            j = i + size - 1
            elsewhere = (k < i - 1) | (k > j)
            i, j, k = i[elsewhere], j[elsewhere], k[elsewhere]
            out = way[i - 1, j + 1] - legs[i - 1] - legs[j] - legs[k]
            for turned in range(1 if size == 1 else 2):
                head, tail = (j, i) if turned else (i, j)
                gains.append(out + way[k, head] + way[tail, k + 1])
                moves.append(np.stack([i, j, k, np.full_like(i, 1 + turned)], axis=1))
        change, chosen = np.concatenate(gains), np.concatenate(moves)
        promising = np.flatnonzero(change < SLACK)
        promising = promising[np.argsort(change[promising], kind="stable")[:BATCH]]
        rows = [_moved(stops[1:-1] - 1, *chosen[index].tolist()) for index in promising.tolist()]
        return np.array(rows).reshape(len(rows), count)


def _moved(order: IntArray, first: int, last: int, after: int, kind: int) -> IntArray:
    """Return an order with the stops from `first` to `last`, from 1, turned or moved after another."""
    part = order[first - 1 : last]
    if kind == 0:
        return np.concatenate([order[: first - 1], part[::-1], order[last:]])
    rest = np.concatenate([order[: first - 1], order[last:]])
    place = after if after < first else after - len(part)
    return np.concatenate([rest[:place], part if kind == 1 else part[::-1], rest[place:]])
