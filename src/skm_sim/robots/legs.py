"""A leg of a mission as goals for a navigation stack.

Few, in places where arriving counts, by safe ways.

A leg is the way until the mission's machine moves next. A navigation stack such as Nav2 plans on
its own from goal to goal, so it is given as few as possible: only the end, where nothing is to be
avoided; else the bends of the way, as a string that is pulled tight around what is to be avoided,
between which the straight line is free. It succeeds anywhere within its tolerance of a goal, so the
end is chosen that deep inside of where the machine moves, if there is room. There is no ROS here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.maps.building import Building
from skm_sim.maps.floor import NO_CELL
from skm_sim.robots.obstacles import grown
from skm_sim.robots.path_follower import Point
from skm_sim.robots.pose import POSE_ERROR
from skm_sim.robots.walls import Pose, Walls

MARGINS: Final = (0.4, 0.3, 0.2, 0.1, 0.0)
"""Metres to keep from what is to be avoided, the first by which there is a way."""
MASK_MARGIN: Final = 0.2
"""Metres around what is to be avoided that a keep-out mask takes in: a controller strays from its path
by 0.1 m, and Nav2's path may end as far as a cell beside the mask."""
SAMPLE: Final = 0.05
"""Metres between two points at which a way is looked at; half of the thinnest object that is drawn on
maps."""
MOST_DEPTH: Final = 40
"""Cells around the end of a way in which the goal is looked for."""
CLOSE: Final = 0.1
"""Metres to keep from what is to be avoided where the robot has to come through a place."""
NEAR: Final = 1.5
"""Metres around the end of a way in which it may lead on, and from which it may be approached."""
MOST_GOALS: Final = 120
MOST_STARTS: Final = 16
ENOUGH: Final = 4
"""Samples of a way in a place that are enough: of such ways the shortest is best."""
CIRCLE: Final = np.stack([np.cos(a := np.arange(12) * math.tau / 12), np.sin(a)], axis=1)


@dataclass(frozen=True)
class Leg:
    """Cells to go through, the present one first; and what must not hold on the way."""

    cells: tuple[int, ...]
    avoid: frozenset[frozenset[str]] = frozenset()
    """Label sets that would fail the mission."""
    target: str = ""
    """What is pursued, as text."""


@dataclass(frozen=True)
class Route:
    """What a navigation stack gets of a leg."""

    poses: tuple[Pose, ...]
    """Where to go, in order; the last is the end."""
    margin: float
    """Metres that the straight ways between them keep from what is to be avoided."""
    stops: bool = False
    """Whether each is a goal of its own: one in passing would be left out."""
    narrow: bool = False
    """Whether the stack may stop short of where the machine moves, as near to the end as it is."""


class LegPlanner:
    """Makes goals of legs in one building; `tolerance` is how near to a goal the stack has arrived."""

    def __init__(self, building: Building, tolerance: float) -> None:
        self._floor, self._places, self.tolerance = building.floor, building.places, tolerance
        self._occupancy, self._has_room = building.occupancy, building.has_room
        names = self._places.names
        self._bits: IntArray = 1 << np.arange(len(names), dtype=np.int64)
        self._near: dict[tuple[frozenset[frozenset[str]], float], BoolArray] = {}
        """Cells that are within a margin of what is to be avoided."""

    def route(self, leg: Leg, start: Point, attempt: int = 0) -> Route:
        """Return the goals of a leg from where the robot is.

        `attempt` is how often the stack has said before that it arrived where the machine did not move:
        then the end lies further on, so that the robot comes through.
        """
        cells, end, room = self._to_good_end(leg)
        points = [tuple(point) for point in self._floor.centres[list(cells)].tolist()]
        points[-1] = end
        if attempt or room < self.tolerance:
            wanted = self._labels([leg.cells[-1]])[0]
            here = start if attempt else self._approach(start, points)
            through = self._through(here, end, wanted, leg.avoid, attempt)
            if attempt and through:
                poses = tuple(map(_pose, [start, *through[:-1]], through))
                return Route(poses, CLOSE if leg.avoid else math.inf, stops=True)
            points[-1:] = through[-1:] or points[-1:]
        narrow = room < self.tolerance
        if not leg.avoid:
            end_pose = _pose(points[-2] if len(points) > 1 else start, points[-1])
            return Route((end_pose,), math.inf, narrow=narrow)
        for margin in MARGINS:
            bends = self._tight(start, points, leg.avoid, margin)
            if bends is not None:
                break
        else:  # not even the cells' own way is free: then it is not for the stack to find a better one
            bends, margin = points, 0.0
        return Route(tuple(map(_pose, [start, *bends[:-1]], bends)), margin, narrow=narrow)

    def widest(self, route: Route, avoid: frozenset[frozenset[str]], start: Point) -> float:
        """Return the margin that a stack which finds its own way can keep from what is to be avoided."""
        floor, centres = self._floor, self._floor.centres
        first, last = floor.nearest_cell(*start)[0], floor.nearest_cell(*route.poses[-1][:2])[0]
        ends = np.hypot(*(centres - start).T) < 2 * MASK_MARGIN
        ends |= np.hypot(*(centres - route.poses[-1][:2]).T) < 2 * MASK_MARGIN
        for margin in MARGINS:
            if margin <= route.margin:
                break
            if (avoid, margin) not in self._near:
                self._near[avoid, margin] = self.is_forbidden(centres, avoid, margin)
            shut = self._near[avoid, margin] & ~(ends & ~self._near_of(avoid))
            if self._joined(first, last, shut):
                return margin
        return route.margin

    def _near_of(self, avoid: frozenset[frozenset[str]]) -> BoolArray:
        """Return which cells are in what is to be avoided."""
        if (avoid, 0.0) not in self._near:
            self._near[avoid, 0.0] = self._shows(self._floor.centres, avoid)
        return self._near[avoid, 0.0]

    def _joined(self, first: int, last: int, shut: BoolArray) -> bool:
        """Tell whether a way leads from cell to cell through none that is shut."""
        reached = np.zeros(len(shut), np.bool_)
        reached[first] = True
        front = np.array([first])
        while len(front) and not reached[last]:
            after = np.unique(self._floor.moves[front])
            front = after[~reached[after] & ~shut[after]]
            reached[front] = True
        return bool(reached[last])

    def same_end(self, one: Leg, other: Leg) -> bool:
        """Tell whether two legs end where the same labels hold."""
        first, second = self._labels([one.cells[-1], other.cells[-1]])
        return first == second

    def is_forbidden(
        self, points: FloatArray, avoid: Collection[frozenset[str]], margin: float = 0.0
    ) -> BoolArray:
        """Tell which points are in what is to be avoided, or within a margin of it."""
        if margin > 0:
            around = (points[:, None] + margin * CIRCLE).reshape(-1, 2)
            near = self._shows(around, avoid).reshape(len(points), -1).any(axis=1)
            return np.asarray(near | self._shows(points, avoid))
        return self._shows(points, avoid)

    def _shows(self, points: FloatArray, avoid: Collection[frozenset[str]]) -> BoolArray:
        wanted = [sum(int(self._bits[self._places.names.index(n)]) for n in s) for s in avoid]
        shown: NDArray[np.int64] = self._places.labels_of(points) @ self._bits
        return np.isin(shown, wanted)

    def mask(
        self, route: Route, avoid: Collection[frozenset[str]], place: Point
    ) -> NDArray[np.int8]:
        """Return a keep-out mask for a route, in the pixels of the map: 100 where not to go, else 0.

        A navigation stack inflates walls and not masks, so the room to keep is in it; but not around the
        robot, nor around where it has to arrive: a stack whose robot is inside of a mask is stuck.
        """
        occupancy = self._occupancy
        rows, columns = occupancy.values.shape
        column, row = np.meshgrid(np.arange(columns), np.arange(rows))
        inner = (np.stack([column, row], axis=-1).reshape(-1, 2) + 0.5) * occupancy.resolution
        points = occupancy.frame.to_frame(inner)
        shown = self._shows(points, avoid).reshape(rows, columns)
        margin = min(MASK_MARGIN, route.margin)
        wide = grown(Walls(shown, occupancy.resolution), margin).solid if margin > 0 else shown
        for x, y in (place, route.poses[-1][:2]):
            near = np.hypot(points[:, 0] - x, points[:, 1] - y) < 2 * MASK_MARGIN
            wide &= ~near.reshape(rows, columns)
        return np.where(wide | shown, 100, 0).astype(np.int8)

    # The end

    def _to_good_end(self, leg: Leg) -> tuple[tuple[int, ...], Point, float]:
        """Return the way to where a goal is best, that point, and the room around it.

        Deep in what the last cell shows.
        """
        last = leg.cells[-1]
        wanted = self._labels([last])[0]
        came_from, queue, room = {last: last}, [last], {}
        for cell in queue:
            room[cell] = self._room(cell, wanted, leg.avoid)
            if room[cell] >= self.tolerance or len(queue) > MOST_DEPTH:
                break
            for after in self._floor.moves[cell].tolist():
                if after not in came_from and self._labels([after])[0] == wanted:
                    came_from[after] = cell
                    queue.append(after)
        best = max(room, key=lambda cell: room[cell])  # of equal ones the first, which is nearest
        way = [best]
        while way[-1] != last:
            way.append(came_from[way[-1]])
        x, y = self._floor.centres[best].tolist()
        return (*leg.cells[:-1], *reversed(way)), (x, y), room[best]

    def _labels(self, cells: Sequence[int]) -> list[int]:
        shown: NDArray[np.int64] = (
            self._places.labels_of(self._floor.centres[list(cells)]) @ self._bits
        )
        return [int(bits) for bits in shown]

    def _room(self, cell: int, wanted: int, avoid: Collection[frozenset[str]]) -> float:
        """Return how far around a cell's point the same labels hold, as far as the tolerance."""
        centre = self._floor.centres[cell]
        for part in (1.0, 0.75, 0.5, 0.25):
            ring = centre + part * self.tolerance * CIRCLE
            shown = self._places.labels_of(ring) @ self._bits
            # No robot stops in walls, so it does not matter what is shown there.
            open_ = self._has_room(ring)
            if (shown[open_] == wanted).all() and not self._shows(ring[open_], avoid).any():
                return part * self.tolerance
        return 0.0

    def _approach(self, start: Point, points: Sequence[Point]) -> Point:
        """Return a point of the way from which its end is approached."""
        away = [point for point in points if math.dist(point, points[-1]) > NEAR / 2]
        return away[-1] if away else start

    def _through(
        self,
        start: Point,
        end: Point,
        wanted: int,
        avoid: Collection[frozenset[str]],
        attempt: int,
    ) -> list[Point]:
        """Return a goal on the straight way to which the robot surely is where the machine moves.

        That is so however early the stack says that it has arrived. If there is none from here, a
        place to start from comes before it. Empty: there is none.

        With each attempt the stack is taken to arrive earlier: it may err, too.
        """
        centres = self._floor.centres
        near = centres[np.hypot(*(centres - end).T) < NEAR]
        near = near[:: 1 + len(near) // MOST_GOALS]
        early = self.tolerance * (1 + 0.25 * max(0, attempt - 1))
        if found := self._best_through(start, near, early, wanted, avoid):
            return [found]
        away = near[np.hypot(*(near - start).T) > max(early, self.tolerance)]
        for point in map(tuple, away[:: 1 + len(away) // MOST_STARTS].tolist()):
            if self._in_sight(start, point, avoid, CLOSE if avoid else 0.0) and (
                found := self._best_through(point, near, early, wanted, avoid)
            ):
                return [point, found]
        return []

    def _best_through(
        self,
        start: Point,
        goals: FloatArray,
        early: float,
        wanted: int,
        avoid: Collection[frozenset[str]],
    ) -> Point | None:
        """Return the goal with the longest way through where the machine moves.

        Only the way counts that comes before the stack may stop.
        """
        lengths = np.hypot(*(goals - start).T)
        goals, lengths = goals[lengths > early], lengths[lengths > early]
        if not len(goals):
            return None
        ahead = (goals - start) / lengths[:, None]
        steps = np.arange(SAMPLE, lengths.max() - early + SAMPLE, SAMPLE)
        points = np.array(start) + ahead[:, None] * steps[None, :, None]
        used = steps[None, :] <= (lengths - early)[:, None]
        flat = points.reshape(-1, 2)
        on_floor = (self._floor.cells_at(flat) != NO_CELL) | np.tile(
            steps < self._floor.cell, len(goals)
        )
        bad = ~on_floor
        if avoid:
            bad |= self.is_forbidden(flat, avoid, CLOSE)
        bad = bad.reshape(used.shape) & used
        sure = self.is_sure(flat, wanted).reshape(used.shape) & used
        through = np.where(bad.any(axis=1), 0, sure.sum(axis=1))
        best = int(np.lexsort((lengths, -np.minimum(through, ENOUGH)))[0])
        if not through[best]:
            return None
        x, y = goals[best].tolist()
        return x, y

    def is_sure(self, points: FloatArray, wanted: int) -> BoolArray:
        """Tell at which points some labels hold, and wherever else the robot may be in truth."""
        right = (self._places.labels_of(points) @ self._bits) == wanted
        around = (points[right][:, None] + POSE_ERROR * CIRCLE).reshape(-1, 2)
        fits = (self._places.labels_of(around) @ self._bits) == wanted
        fits |= ~self._has_room(around)
        right[right] = fits.reshape(-1, len(CIRCLE)).all(axis=1)
        return np.asarray(right)

    # The way

    def _tight(
        self,
        start: Point,
        points: Sequence[Point],
        avoid: Collection[frozenset[str]],
        margin: float,
    ) -> list[Point] | None:
        """Return the bends of a way as of a tight string, the end last; None if it comes too close."""
        bends, here, done = list[Point](), start, -1
        while done < len(points) - 1:
            # The furthest point in sight, by halving: what is in sight is so up to a corner.
            low, high = done + 1, len(points) - 1
            if not self._in_sight(here, points[low], avoid, margin):
                return None
            while low < high:
                middle = (low + high + 1) // 2
                if self._in_sight(here, points[middle], avoid, margin):
                    low = middle
                else:
                    high = middle - 1
            bends.append(points[low])
            here, done = points[low], low
        return bends

    def _in_sight(
        self, start: Point, end: Point, avoid: Collection[frozenset[str]], margin: float
    ) -> bool:
        """Tell whether the straight way is free of walls and keeps away from what is to be avoided."""
        length = math.dist(start, end)
        parts = np.linspace(0.0, 1.0, max(2, math.ceil(length / SAMPLE) + 1))
        points = np.array(start) + parts[:, None] * np.subtract(end, start)
        # By cells, since the stack knows walls itself. A robot that stands beside the floor must be able
        # to get there.
        floor = (self._floor.cells_at(points) != NO_CELL) | (parts * length < self._floor.cell)
        if not floor.all() or self._shows(points, avoid).any():
            return False
        # Where it stands already, and where it has to arrive, it may be closer than the margin.
        inner = points[np.minimum(parts, 1 - parts) * length > margin]
        return not (margin > 0 and len(inner) and self.is_forbidden(inner, avoid, margin).any())


def _pose(before: Point, here: Point) -> Pose:
    """Return a point with the heading in which the robot comes there."""
    return here[0], here[1], math.atan2(here[1] - before[1], here[0] - before[0])
