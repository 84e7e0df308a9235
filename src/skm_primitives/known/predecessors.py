"""A world's graph backwards: from which cells each cell can be entered."""

from __future__ import annotations

import numpy as np

from skm_sim.arrays import IntArray


class Predecessors:
    """The moves `cell × actions + action` that lead to each cell, as one array with a slice for each."""

    def __init__(
        self, successors: IntArray, moves: tuple[IntArray, IntArray] | None = None
    ) -> None:
        """`successors[cell, action]`; or `moves` and the cell that each of them leads to.

        Where actions are stochastic, a move has several entries: one for each cell that it may lead to.
        """
        cells, self._actions = successors.shape
        pairs = np.arange(successors.size)
        target = successors.reshape(-1)
        if moves is not None:
            pairs, target = moves
        order = np.argsort(target, kind="stable")
        self._moves: IntArray = pairs[order]
        counts = np.bincount(target, minlength=cells)
        self._first: IntArray = np.concatenate([[0], np.cumsum(counts)])

    def of(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Return the predecessors of some cells, and for each of them the index of its cell there."""
        moves, owner = self.moves_to(cells)
        return moves // self._actions, owner

    def moves_to(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Return the moves that lead to some cells, and for each of them the index of its cell there."""
        return expand(self._first, self._moves, cells)


def expand(first: IntArray, values: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the slices `values[first[r]:first[r + 1]]` of some rows, joined; and whose each is."""
    counts = first[rows + 1] - first[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    before = np.cumsum(counts) - counts
    inside = np.arange(len(owner)) - before[owner]
    return values[first[rows][owner] + inside], owner
