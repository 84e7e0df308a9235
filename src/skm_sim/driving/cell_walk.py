"""A robot's way through the cells of a map, as the states that a mission is judged on.

A state is a cell and the labels that hold, and a new one is entered in two cases. First, the labels of
the pose change: exactly there, on the straight way between one pose and the next, so that a place which
is crossed between two cells is not missed, and a forbidden one not excused. Second, the next cell is
reached. That is said a little ahead of the robot, by `horizon` metres at most: the next action comes
before the robot is there, and it need not slow down. It is said ahead only where nothing changes on the
way: all of it has the labels that hold already. Into or out of a place, the robot goes first.
"""

from __future__ import annotations

import math
from typing import Final

from skm_sim.driving.clear_ways import ClearWays
from skm_sim.driving.path_following import END, Point, project, remaining
from skm_sim.driving.robot_drive import Entered
from skm_sim.maps.floor import NO_CELL, Floor
from skm_sim.maps.places import Places

LEAP: Final = 0.5
"""Metres from one pose to the next that no robot drives: it was found, or put, elsewhere."""


class CellWalk:
    """The cell that counts as reached, the labels that hold, and the known path ahead."""

    def __init__(
        self,
        floor: Floor,
        places: Places,
        ways: ClearWays,
        *,
        horizon: float,
        arrival: float = 0.05,
    ) -> None:
        """`arrival` is how near to a cell's point the robot has reached it, if its labels hold."""
        self._floor = floor
        self._places = places
        self._ways = ways
        self._horizon = horizon
        self._arrival = arrival
        self._target = NO_CELL
        self.cell = NO_CELL
        self.labels: frozenset[str] = frozenset()
        self.path: list[Point] = []
        """What is left to follow, from where the robot was of late to where it is to go."""
        self._place: Point = (0.0, 0.0)

    def begin(self, x: float, y: float) -> Entered:
        """Begin, or begin anew, where the robot is, with nothing to follow."""
        cell = self._floor.cell_at(x, y)
        self.cell = self._floor.nearest_cell(x, y)[0] if cell == NO_CELL else cell
        self.labels = self._places.labels_at(x, y)
        self._target = NO_CELL
        self._place = x, y
        self.path = [self._place]
        return Entered(self.cell, self.labels)

    def take(self, action: int) -> None:
        """Take the action to the present state: the path goes on with it."""
        target = int(self._floor.moves[self.cell, action])
        if target == self._target:
            return
        here, there = self._point(self.cell), self._point(target)
        if self._target != NO_CELL:
            self._change_course(here)
        self._target = target
        if len(self.path) == 1 and self._is_good(self.path[0], there, target):
            self.path.append(there)
            return
        if math.dist(self.path[-1], here) > 1e-9:
            self.path.append(here)
        if target != self.cell:
            self.path += self._ways.way(self.cell, target)

    def _change_course(self, here: Point) -> None:
        """Leave what was to be done in this state: by the cell's point to somewhere else."""
        if here in self.path:
            del self.path[self.path.index(here) + 1 :]
        else:
            self.path = [self._place]

    def _is_good(self, start: Point, end: Point, target: int) -> bool:
        """Tell whether a way that no move takes shows only labels of its ends, and keeps clear."""
        known = {self.labels, self._labels_of(target)}
        plain = known.issuperset(self._places.label_sets_along(*start, *end))
        return plain and self._ways.is_clear(start, end)

    def pass_to(self, x: float, y: float) -> list[Entered]:
        """Take the robot's place a moment later; return the states that were entered, in order."""
        if math.dist(self._place, (x, y)) > LEAP:
            return [self.begin(x, y)]
        sets = self._places.label_sets_along(*self._place, x, y)
        self._place = x, y
        self.path = remaining(self._place, self.path)
        entered = []
        for labels in sets[:-1]:
            if labels != self.labels:
                self.labels = labels
                entered.append(Entered(self.cell, labels))
        changed = sets[-1] != self.labels
        self.labels = sets[-1]
        if self._advance(x, y, math.inf if changed else self._horizon) or changed:
            entered.append(Entered(self.cell, self.labels))
        return entered

    @property
    def away(self) -> float:
        """Metres from the robot to the path that it is to follow."""
        return project(self._place, self.path).away

    def _advance(self, x: float, y: float, horizon: float) -> bool:
        """Let the next cell count as reached, if it does: with it come the labels of its place."""
        if self._target == NO_CELL:
            return False
        on_path = project((x, y), self.path)
        gap = math.dist((x, y), self._point(self._target))
        arrived = gap <= END or (
            gap <= self._arrival and self.labels == self._labels_of(self._target)
        )
        if not arrived and (on_path.left > horizon or not self._stays_same(on_path.nearest)):
            return False
        self.cell, self._target = self._target, NO_CELL
        return True

    def _stays_same(self, start: Point) -> bool:
        """Tell whether the labels that hold now are those of all the path ahead."""
        ways = zip([start, *self.path[1:]], self.path[1:], strict=False)
        return all(self._places.label_sets_along(*a, *b) == (self.labels,) for a, b in ways)

    def _point(self, cell: int) -> Point:
        return self._ways.through(cell)

    def _labels_of(self, cell: int) -> frozenset[str]:
        return self._places.labels_at(*self._point(cell))
