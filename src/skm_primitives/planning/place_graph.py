"""The places that matter to a mission in a known world, and the exact ways between them.

Most cells of a map show nothing that a mission reads. A plan is a sequence of arrivals at those that do,
so a search needs only these, its *junctions*, and how many steps lead from one to the next through cells
that show nothing. How far a label may be passed on the way is the search's to say: it goes from junction
to junction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skm_primitives.skills.values import Skills
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.finite_world import FiniteWorld

MOST_JUNCTIONS: Final = 500
"""With more cells that show something, only those at the edges of places are junctions: the table of
ways grows with their square."""
FAR: Final = np.inf


@dataclass(frozen=True, eq=False)
class Cells:
    """All that the planners of large missions and of teams ask of a world: cells, moves and labels."""

    successors: IntArray
    """`[cell, action]`: where each action leads."""
    labels: tuple[frozenset[str], ...]
    """What each cell shows."""
    closed: frozenset[int] = frozenset()
    """Cells that must not be entered: the world ends there."""


def cells_of(skills: Skills) -> Cells | None:
    """Return the world behind skills as cells; None where it is not known, or not certain."""
    world = skills.world_model
    if not isinstance(world, FiniteWorld) or world.state_of is not None:
        return None
    if world.chances is not None or world.visits:
        return None
    ended = np.zeros(len(world.successors), np.bool_) if world.ended is None else world.ended
    if world.tried is not None and not (world.tried | ended[:, None]).all():
        return None
    labels = tuple(world.label_sets[index] for index in world.label_ids.tolist())
    return Cells(world.successors, labels, frozenset(np.flatnonzero(ended).tolist()))


class PlaceGraph:
    """The junctions of a world for the propositions of a mission, and the ways between them."""

    def __init__(self, cells: Cells, propositions: Collection[str], start: int) -> None:
        """Take a world, what the mission reads, and the cell that it begins in."""
        self.cells = cells
        names = frozenset(propositions)
        numbers: dict[frozenset[str], int] = {frozenset(): 0}
        self.class_of: IntArray = np.array(
            [numbers.setdefault(labels & names, len(numbers)) for labels in cells.labels], np.int64
        )
        """`[cell]`: the class of label sets that the mission cannot tell apart; 0 shows nothing."""
        self.classes: tuple[frozenset[str], ...] = tuple(numbers)
        successors = cells.successors
        closed = np.isin(np.arange(len(successors)), sorted(cells.closed))
        self.successors = np.where(
            closed[successors], np.arange(len(successors))[:, None], successors
        )
        shows = (self.class_of > 0) & ~closed
        if shows.sum() > MOST_JUNCTIONS:
            # Within a large place nothing changes from cell to cell, but where the robot begins.
            begins = np.isin(np.arange(len(successors)), successors[start])
            shows &= self._at_edges() | begins
        self.junctions: IntArray = np.flatnonzero(shows)
        self.junction_class: IntArray = self.class_of[self.junctions]
        self.number: IntArray = np.full(len(successors), -1, np.int64)
        self.number[self.junctions] = np.arange(len(self.junctions))
        self._before = _predecessors(self.successors)

    def _at_edges(self) -> BoolArray:
        """Return which cells lead to, or are reached from, cells of another class."""
        other = self.class_of[self.successors] != self.class_of[:, None]
        edge: BoolArray = other.any(axis=1)
        edge[self.successors[other]] = True
        return edge

    @cached_property
    def ways(self) -> FloatArray:
        """`[junction, junction]`: steps from one to the next through cells that show nothing."""
        return self.ways_from(self.junctions, through=self.class_of == 0)

    @cached_property
    def inner_ways(self) -> FloatArray:
        """The same within a place, through cells of it that are no junctions."""
        inside = (self.class_of > 0) & (self.number < 0)
        if not inside.any():
            return self.ways
        return np.minimum(self.ways, self.ways_from(self.junctions, through=inside))

    def shortest_ways(self, passable: BoolArray | None = None) -> FloatArray:
        """`[junction, junction]`: steps of the shortest way, whatever it passes: no way is shorter.

        `passable[class]`: what may be passed at all; None: everything. Every way is put together from
        those that pass no junction (Floyd and Warshall).
        """
        found = self.inner_ways.astype(np.float32)  # steps are exact in it, and it is twice as fast
        middles: BoolArray = np.ones(len(found), np.bool_)
        if passable is not None:
            middles = passable[self.junction_class]
        for middle in np.flatnonzero(middles).tolist():
            np.minimum(found, found[:, middle, None] + found[middle], out=found)
        return found.astype(np.float64)

    def ways_from(self, sources: IntArray, through: BoolArray) -> FloatArray:
        """Return `[source, junction]`: steps to each junction through cells where `through` allows.

        All sources at once, a bit for each: one sweep over the cells for each step of the longest way.
        """
        words = (len(sources) + 63) // 64
        bits = np.zeros((len(sources), words), np.uint64)
        index = np.arange(len(sources))
        bits[index, index // 64] = np.uint64(1) << (index % 64).astype(np.uint64)
        found: FloatArray = np.full((len(sources), len(self.junctions)), FAR)
        # The last row stands for no cell: the predecessors are filled up with it.
        here: NDArray[np.uint64] = np.zeros((len(self.class_of) + 1, words), np.uint64)
        np.bitwise_or.at(here, sources, bits)
        seen = np.zeros_like(here[:-1])
        steps = 0
        while here.any():
            steps += 1
            arrived = here[self._before[:, 0]]
            for column in self._before.T[1:]:
                arrived |= here[column]
            arrived &= ~seen
            seen |= arrived
            new = arrived[self.junctions]
            rows = np.flatnonzero(new.any(axis=1))
            if len(rows):
                spread = np.unpackbits(
                    new[rows].view(np.uint8), axis=1, count=len(sources), bitorder="little"
                )
                junction, source = np.nonzero(spread)
                found[source, rows[junction]] = steps
            here[:-1] = arrived
            here[:-1][~through] = 0
        return found

    def knows(self, start: int) -> bool:
        """Tell whether a mission can begin in this cell, too: its first steps lead to no inner cell."""
        first = self.successors[start]
        return bool(((self.class_of[first] == 0) | (self.number[first] >= 0)).all())

    def path(self, start: int, goal: int, allowed: Iterable[int]) -> list[int]:
        """Return the cells after `start` of a shortest way to `goal` through cells of allowed classes.

        At least one step is taken, also where both are the same cell.
        """
        may_pass = np.isin(self.class_of, list(allowed))
        came_from: dict[int, int] = {}
        queue = deque([start])
        rows = self.successors
        while queue:
            cell = queue.popleft()
            for after in rows[cell].tolist():
                if after == goal:
                    way = [after]
                    while cell != start:
                        way.append(cell)
                        cell = came_from[cell]
                    return way[::-1]
                if after not in came_from and after != start and may_pass[after]:
                    came_from[after] = cell
                    queue.append(after)
        raise ValueError(f"there is no way from cell {start} to cell {goal}")


def _predecessors(successors: IntArray) -> IntArray:
    """Return `[cell, …]`: the cells that lead to each, filled up with −1."""
    cells, actions = successors.shape
    source = np.repeat(np.arange(cells), actions)
    pairs = np.unique(np.stack([successors.reshape(-1), source], axis=1), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=cells)
    found: IntArray = np.full((cells, int(counts.max(initial=1))), -1, np.int64)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    found[pairs[:, 0], np.arange(len(pairs)) - first[pairs[:, 0]]] = pairs[:, 1]
    return found
