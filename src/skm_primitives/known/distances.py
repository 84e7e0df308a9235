"""Shortest ways in a known world, to every label set at once: breadth-first, backwards.

The cost is in proportion to cells × label sets.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_primitives.known.predecessors import Predecessors
from skm_sim.arrays import BoolArray, IntArray, Uint16Array

FAR: Final = 65535
"""Stands for a cell from which there is no way."""


def label_distances(
    successors: IntArray, label_ids: IntArray, wanted: IntArray, passable: BoolArray
) -> Uint16Array:
    """Return `[field, cell]`: the fewest steps to a cell that shows the label set `wanted[field]`.

    0 in such a cell itself. On the way, only cells in `passable[field]` are entered; where it begins
    and where it ends may be any.
    """
    cells = len(successors)
    before = Predecessors(successors)
    steps = np.full((len(wanted), cells), FAR, np.uint16)
    flat, allowed = steps.reshape(-1), passable.reshape(-1)
    mark = np.zeros(flat.shape, np.int32)
    frontier = np.flatnonzero((label_ids[None] == wanted[:, None]).reshape(-1))
    flat[frontier] = 0
    level = 0
    while len(frontier):
        level += 1
        field, cell = np.divmod(frontier, cells)
        source, owner = before.of(cell)
        reached = field[owner] * cells + source
        reached = reached[flat[reached] == FAR]
        mark[reached] = np.arange(len(reached))
        reached = reached[mark[reached] == np.arange(len(reached))]  # each once
        flat[reached] = min(level, FAR - 1)
        frontier = reached[allowed[reached]]
    return steps
