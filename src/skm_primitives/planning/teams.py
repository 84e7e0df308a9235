"""Planning for a team: several robots on one map, one formula, one verdict.

`r1.kitchen` is this robot in the kitchen, `kitchen` is any robot there. All labels of a step are read
together. Robots move at the same time, one cell a step or none; two never share a cell, never swap
cells, and keep their radii apart also between cells.

Small teams in small worlds are planned exactly, over all joint states (`_joint_search`). Others in two
stages. The places to visit are assigned to robots and put in order, by insertion and local search,
with robots that wait where they must and no regard for collisions. Then the legs of the best schedules
are laid one after the other in space and time, around what is reserved already (`_Timetable`). Only a
plan that the machine accepts, step by step, counts. Guards are evaluated when they are met: the joint
labels are never tabulated.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.factored import FactoredMachine, Parts
from skm_primitives.planning.large_missions import NoPlanFoundError
from skm_primitives.planning.place_graph import Cells, PlaceGraph
from skm_primitives.planning.team_schedules import Event, Schedules, TeamMachine
from skm_sim.arrays import BoolArray, FloatArray, IntArray

BEST_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 1.0
"""CPU seconds for a plan after a robot has failed; as many more, where none is found by then. Of the
thread that plans: what a node does meanwhile in others must not take from them."""
MOST_JOINT: Final = 200_000
"""Cells to the power of robots up to which all joint states are searched."""
MOST_ROWS: Final = 6_000_000
"""Joint moves of one step that are looked at: more take too much memory."""
HORIZON: Final = 400
"""Steps by which a leg may take longer than without other robots."""
LAYING: Final = 0.3
"""The share of the time that is left for laying schedules out in space and time."""
REALISED: Final = 12
"""Schedules that are laid out in space and time, if one of them can be; else more."""
MOST_GRACE: Final = 16
"""Steps that a robot is given at most to get out of another's way before that may come."""
LAYOUTS: Final = ((0, False), (1, False), (0, True), (1, True))
"""Ways to lay a schedule out: steps of slack with which a robot lets another one pass, which often
resolves a conflict at a door; and, where that does not help, whether robots that wait in a place step
aside in it, instead of standing where they have come in."""


Cell: TypeAlias = IntArray | int
"""A cell, or many."""


@dataclass(frozen=True, eq=False)
class Team:
    """Robots in one world: their names, and how much room they need."""

    names: tuple[str, ...]
    cells: Cells
    positions: FloatArray | None = None
    """`[cell, 2]`: the centres of cells in metres; None: robots only must not share or swap cells."""
    radius: float = 0.0
    margin: float = 0.0
    """Metres that a robot may stray from its way: so much more room is kept around each."""
    gone: frozenset[str] = frozenset()
    """Robots that do not move any more: they keep their labels, and get no work."""
    asynchronous: bool = False
    """Whether robots may begin and end a step at any time: then their whole ways are kept apart."""
    halted: Mapping[str, int] = field(default_factory=dict)
    """Where robots that are gone were going from their cells: they stand anywhere between."""
    moves: IntArray = field(init=False)
    """`[cell, action]`: where each action leads, to stay among them."""

    def __post_init__(self) -> None:
        here = np.arange(len(self.cells.labels))[:, None]
        # A step into a closed cell becomes staying: so every search over moves obeys closed cells.
        closed = np.isin(self.cells.successors, sorted(self.cells.closed))
        continuation = np.where(closed, here, self.cells.successors)
        object.__setattr__(self, "moves", np.concatenate([here, continuation], axis=1))

    def propositions(self) -> tuple[str, ...]:
        """Return what a mission of the team may name."""
        names = sorted({name for labels in self.cells.labels for name in labels})
        return (*names, *(f"{robot}.{name}" for robot in self.names for name in names))

    def labels(self, cells: Sequence[int]) -> frozenset[str]:
        """Return what the team shows, with each robot in its cell."""
        shown: set[str] = set()
        for robot, cell in zip(self.names, cells, strict=True):
            for name in self.cells.labels[cell]:
                shown |= {name, f"{robot}.{name}"}
        return frozenset(shown)

    def ends(self, robot: int, came: Cell, to: Cell) -> tuple[Cell, Cell]:
        """Return between which cells a robot is in a step: one that is gone may stand between two."""
        between = self.halted.get(self.names[robot])
        return (came, to) if between is None else (to, np.full_like(to, between))

    def too_close(self, a: Cell, to_a: Cell, b: Cell, to_b: Cell) -> BoolArray:
        """Tell whether two robots that move in one step meet, swap, or come too close."""
        a, to_a, b, to_b = (np.asarray(cells) for cells in (a, to_a, b, to_b))
        if self.asynchronous:
            found: BoolArray = np.asarray((to_a == to_b) | (to_a == b) | (to_b == a))
        else:
            found = np.asarray((to_a == to_b) | ((to_a == b) & (to_b == a)))
        if self.positions is None or self.radius <= 0:
            return found
        where = self.positions
        gap = where[a] - where[b]
        if self.asynchronous:
            nearest = _nearest_points(where[a], where[to_a], where[b], where[to_b])
        else:
            change = where[to_a] - where[to_b] - gap
            nearest = np.sqrt((_from_origin(gap, change) ** 2).sum(axis=-1))
        # A robot that begins too close may move away, not nearer.
        before = np.sqrt((gap**2).sum(axis=-1))
        # Robots that already stand too close, after a stray for instance, must still be able to
        # part.
        limit = np.minimum(2 * (self.radius + self.margin), before)
        # The slack is for rounding: robots exactly two radii apart may pass.
        close: BoolArray = np.asarray(found | (nearest < limit - 1e-9))
        return close


def _from_origin(start: FloatArray, way: FloatArray) -> FloatArray:
    """Return the point nearest to the origin of each straight way, given by its start and length."""
    square = (way**2).sum(axis=-1)
    # A robot that waits has a way of length 0, and its only point is the start of it.
    share = np.clip(-(start * way).sum(axis=-1) / np.where(square > 0, square, 1.0), 0.0, 1.0)
    found: FloatArray = start + share[..., None] * way
    return found


def _nearest_points(a: FloatArray, to_a: FloatArray, b: FloatArray, to_b: FloatArray) -> FloatArray:
    """Return how close two straight ways come, at whatever time each point is passed; 0: they cross."""
    ends = (a - b, to_b - b), (to_a - b, to_b - b), (b - a, to_a - a), (to_b - a, to_a - a)
    found = np.min([(_from_origin(-point, way) ** 2).sum(axis=-1) for point, way in ends], axis=0)

    def side(p: FloatArray, q: FloatArray, r: FloatArray) -> FloatArray:
        turn: FloatArray = (q - p)[..., 0] * (r - p)[..., 1] - (q - p)[..., 1] * (r - p)[..., 0]
        return turn

    apart_a = side(a, to_a, b) * side(a, to_a, to_b)
    apart_b = side(b, to_b, a) * side(b, to_b, to_a)
    crossing = (apart_a < 0) & (apart_b < 0)
    nearest: FloatArray = np.where(crossing, 0.0, np.sqrt(found))
    return nearest


def collisions(team: Team, paths: Sequence[Sequence[int]]) -> int:
    """Return in how many steps two robots meet, swap cells, or come closer than their radii."""
    return sum(
        int(team.too_close(one[:-1], one[1:], other[:-1], other[1:]).sum())
        for one, other in combinations(np.array(paths), 2)
    )


@dataclass(frozen=True)
class TeamPlan:
    """Where each robot is after each step, the start first."""

    paths: tuple[tuple[int, ...], ...]
    optimal: bool
    seconds: float
    """CPU seconds that it took."""
    free_steps: int = 0
    """Steps of the schedule without regard for collisions; 0: it was planned with them at once."""

    @property
    def steps(self) -> int:
        """Steps until the mission is accepted."""
        return len(self.paths[0]) - 1


class TeamPlanner:
    """Plans one mission with an end for one team."""

    def __init__(self, machine: FactoredMachine, team: Team) -> None:
        if machine.endless:
            raise SkmError("a team's mission has an end: read it as one (horizon finite)")
        self.machine, self.team = machine, _without_fatal_cells(machine, team)
        self.asks = TeamMachine(machine, team.names)
        self._open_moves = self.team.moves
        """Where actions lead but for robots that are gone."""
        self._distances: dict[str, IntArray] = {}
        self._at: dict[str, IntArray] = {}
        self.shown = [
            [self.asks.shown_by(robot, labels) for labels in team.cells.labels]
            for robot in range(len(team.names))
        ]
        self.kinds: list[list[frozenset[str]]] = [
            list(dict.fromkeys(shown)) for shown in self.shown
        ]
        self.kind: list[IntArray] = [
            np.array([{k: i for i, k in enumerate(kinds)}[labels] for labels in shown])
            for shown, kinds in zip(self.shown, self.kinds, strict=True)
        ]

    def at(self, place: str) -> IntArray:
        """Return the cells of a place."""
        if place not in self._at:
            labels = self.team.cells.labels
            self._at[place] = np.array([c for c, shown in enumerate(labels) if place in shown])
        return self._at[place]

    def distance(self, place: str) -> IntArray:
        """Return how many steps every cell is from a place, whatever is on the way; −1: no way."""
        if place not in self._distances:
            self._distances[place] = distances(self.team.moves, self.at(place))
        return self._distances[place]

    # Plans.

    def plan(
        self, starts: Sequence[int], parts: Parts | None = None, *, seconds: float = BEST_SECONDS
    ) -> TeamPlan:
        """Return the best plan that is found in so many CPU seconds, from cells and a tuple."""
        began = time.thread_time()
        here = self.machine.start if parts is None else parts
        self._avoid_gone(starts)
        self._check(starts, here)
        working = len(self.team.names) - len(self.team.gone)
        # Robots that are gone do not move, so they do not multiply the joint states.
        if len(self.team.cells.labels) ** max(1, working) <= MOST_JOINT:
            # Half of the time: what is too large for it is scheduled.
            found = _joint_search(self, starts, here, began + seconds / 2)
            if found is not None:
                return TeamPlan(found, True, time.thread_time() - began)
        return _MapSchedules(self, starts, here, began, began + seconds).best()

    def _avoid_gone(self, starts: Sequence[int]) -> None:
        """Leave out the moves that come too close to robots that stand where they are for good."""
        team = self.team
        count, actions = team.cells.successors.shape
        here = np.repeat(np.arange(count), actions)
        there = team.moves[:, 1:].reshape(-1)
        close: BoolArray = np.zeros(len(here), np.bool_)
        for robot in (r for r, name in enumerate(team.names) if name in team.gone):
            at = np.full_like(here, starts[robot])
            close |= team.too_close(here, there, *team.ends(robot, at, at))
        if close.any():
            successors = np.where(close, here, there).reshape(count, actions)
            self.team = replace(team, cells=replace(team.cells, successors=successors))
            # The moves are others now, and distances are by moves.
            self._distances.clear()
            self._open_moves = team.moves

    def _check(self, starts: Sequence[int], parts: Parts) -> None:
        """Refuse what provably cannot be done: robots that stand too close, places out of reach."""
        for (one, a), (other, b) in combinations(zip(self.team.names, starts, strict=True), 2):
            where = self.team.positions
            # The true centres count here, without the margin: a robot that has strayed is no reason
            # to refuse.
            gap = math.inf if where is None else float(np.hypot(*(where[a] - where[b])))
            if a == b or gap < 2 * self.team.radius - 1e-9:
                raise SkmError(f"{one} and {other} begin too close to each other")
        for name in sorted(self.asks.must(parts)):
            place, robots = self.asks.place(name)
            able = [r for r in robots if self.team.names[r] not in self.team.gone]
            # A robot that is gone keeps its labels: what it shows where it stands is achieved.
            there = [r for r in robots if place in self.team.cells.labels[starts[r]]]
            reach = [
                r for r in able if len(self.at(place)) and self.distance(place)[starts[r]] >= 0
            ]
            if not there and not reach:
                gone = [self.team.names[r] for r in robots if r not in able]
                why = "no robot gets there"
                if gone and not able:
                    why = f"{' and '.join(gone)} is gone"
                elif len(self.at(place)) and any(
                    # Without the robots that are gone there would be a way: then they are the
                    # reason.
                    distances(self._open_moves, self.at(place))[starts[r]] >= 0
                    for r in able
                ):
                    why = f"{_and(sorted(self.team.gone))} in the way"
                raise UnachievableMissionError(f"'{name}' cannot be achieved any more: {why}")

    def keeps_apart(self, paths: Sequence[Sequence[int]]) -> bool:
        """Tell whether robots keep their distance, also from those that stand between two cells."""
        ends = [
            self.team.ends(robot, path[:-1], path[1:]) for robot, path in enumerate(np.array(paths))
        ]
        pairs = combinations(ends, 2)
        return not any(self.team.too_close(*one, *other).any() for one, other in pairs)

    def simulate(self, paths: Sequence[Sequence[int]], parts: Parts) -> int | None:
        """Return after how many steps the machine accepts; None: it does not."""
        for step in range(1, len(paths[0])):
            labels = self.team.labels([path[step] for path in paths])
            after, reward = self.machine.advance(parts, labels)
            if after is None:
                return None
            if reward > 0:
                return step
            parts = after
        return None


def _without_fatal_cells(machine: FactoredMachine, team: Team) -> Team:
    """Return a team that never enters cells which lose the mission for every robot, at any time."""
    names = frozenset(machine.propositions)
    shown = {
        (robot, labels): (labels | {f"{robot}.{name}" for name in labels}) & names
        for robot in team.names
        for labels in team.cells.labels
    }
    fatal = {labels: _is_fatal(machine, labels) for labels in set(shown.values())}
    closed = {
        cell
        for cell, labels in enumerate(team.cells.labels)
        if all(fatal[shown[robot, labels]] for robot in team.names)
    }
    if not closed:
        return team
    return replace(team, cells=replace(team.cells, closed=team.cells.closed | closed))


def _is_fatal(machine: FactoredMachine, labels: frozenset[str]) -> bool:
    """Tell whether a part is lost in all of its states if these labels show, whatever else does."""
    for part in machine.watched:
        if labels.isdisjoint(part.table.propositions):
            continue
        table = part.table.given(dict.fromkeys(labels, True))
        live = [state for state in range(part.num_states) if state not in part.dead]
        if all(part.after(o) is None for state in live for o in table.outcomes(state)):
            return True
    return False


def distances(moves: IntArray, goals: Collection[int]) -> IntArray:
    """Return how many steps each cell is from the nearest goal, by moves; −1: there is no way."""
    count = len(moves)
    back: list[list[int]] = [[] for _ in range(count)]
    for cell, row in enumerate(moves.tolist()):
        for after in set(row):
            back[after].append(cell)
    found: IntArray = np.full(count, -1, np.int64)
    layer = [int(goal) for goal in goals]
    found[layer] = 0
    steps = 0
    while layer:
        steps += 1
        following = [c for goal in layer for c in back[goal] if found[c] < 0]
        found[following] = steps
        layer = list(dict.fromkeys(following))
    return found


# All joint states, one step at a time.


def _joint_search(
    planner: TeamPlanner, starts: Sequence[int], parts: Parts, deadline: float
) -> tuple[tuple[int, ...], ...] | None:
    """Return paths of the fewest steps; None if there are too many joint states, or no time.

    Raises an `UnachievableMissionError` where all joint states have been searched and none is accepted.

    Breadth first, for a limit that is raised until a plan fits in: states that cannot be done by then
    are left out, by the farthest place that still has to be visited.
    """
    tuples: dict[Parts, int] = {parts: 0}
    numbered = [parts]
    far = _far(planner, np.array([starts]), [parts])[0]
    if not math.isfinite(far):
        return None
    # Iterative deepening: with a tight limit the bound of `_far` cuts off most joint states.
    for limit in range(int(max(1, far)), int(max(1, far)) + 200):
        found, cut = _within(planner, starts, limit, tuples, numbered, deadline)
        if found is not None:
            return found
        if cut is math.inf:
            return None
        if not cut:
            raise _unachievable(planner.team)
    return None


def _unachievable(team: Team) -> UnachievableMissionError:
    standing = f", while {_and(sorted(team.gone))} where {_it(team.gone)}" if team.gone else ""
    again = " any more" if team.gone else " by this team from here"
    return UnachievableMissionError(f"the mission cannot be achieved{again}{standing}")


def _it(names: Collection[str]) -> str:
    return "it is" if len(names) == 1 else "they are"


def _and(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'stands' if len(names) == 1 else 'stand'}"


def _far(planner: TeamPlanner, cells: IntArray, tuples: Sequence[Parts]) -> FloatArray:
    """Return for each row of cells how many steps are left at least, with its tuple."""
    found: FloatArray = np.zeros(len(cells))
    rows: dict[Parts, list[int]] = {}
    for row, parts in enumerate(tuples):
        rows.setdefault(parts, []).append(row)
    for parts, members in rows.items():
        for name in planner.asks.must(parts):
            place, robots = planner.asks.place(name)
            away = planner.distance(place).astype(float)
            away[away < 0] = math.inf
            able = [r for r in robots if planner.team.names[r] not in planner.team.gone] or robots
            nearest = np.min([away[cells[members, r]] for r in able], axis=0)
            # A lower bound: the farthest place that must be visited, by the robot nearest to it.
            found[members] = np.maximum(found[members], nearest)
    return found


def _within(
    planner: TeamPlanner,
    starts: Sequence[int],
    limit: int,
    tuples: dict[Parts, int],
    numbered: list[Parts],
    deadline: float,
) -> tuple[tuple[tuple[int, ...], ...] | None, float]:
    """Return a plan of at most `limit` steps, if there is one; and whether anything was cut off.

    Infinite: the search was given up.
    """
    team, robots = planner.team, len(planner.team.names)
    count = len(team.cells.labels)
    moves = [np.arange(count)[:, None] if name in team.gone else team.moves for name in team.names]
    cells: IntArray = np.array([starts])
    state: IntArray = np.zeros(1, np.int64)
    levels = [(cells, state, np.zeros(1, np.int64))]
    seen = np.array([_code(cells, state, count)[0]])
    cut = 0.0
    for step in range(1, limit + 1):
        # Checked before the arrays are made: afterwards it would be too late for the memory.
        if len(cells) * math.prod(move.shape[1] for move in moves) > MOST_ROWS:
            return None, math.inf
        if time.thread_time() > deadline:
            return None, math.inf
        owner: IntArray = np.arange(len(cells))
        after: IntArray = np.empty((len(cells), 0), np.int64)
        for robot in range(robots):
            options = moves[robot][cells[owner, robot]]
            width = options.shape[1]
            after = np.concatenate(
                [np.repeat(after, width, axis=0), options.reshape(-1, 1)], axis=1
            )
            owner = np.repeat(owner, width)
            keep = np.ones(len(after), np.bool_)
            # Robots are added one by one and colliding pairs dropped at once: the full product is
            # never made.
            for other in range(robot):
                came, to = cells[owner], after
                ends = [
                    team.ends(number, came[:, number], to[:, number]) for number in (robot, other)
                ]
                keep &= ~team.too_close(*ends[0], *ends[1])
            after, owner = after[keep], owner[keep]
        kinds = np.stack([planner.kind[r][after[:, r]] for r in range(robots)], axis=1)
        rows = np.concatenate([state[owner][:, None], kinds], axis=1)
        # The machine is asked once for each different (state, labels), not once for each joint
        # move.
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        target: IntArray = np.full(len(distinct), -1, np.int64)
        for index, row in enumerate(distinct.tolist()):
            labels = frozenset().union(*(planner.kinds[r][k] for r, k in enumerate(row[1:])))
            next_parts, reward = planner.asks.advance(numbered[row[0]], labels)
            if reward > 0:
                last = int(np.flatnonzero(which.reshape(-1) == index)[0])
                return _trace_back(levels, after[last], int(owner[last])), cut
            if next_parts is not None:
                if next_parts not in tuples:
                    tuples[next_parts] = len(numbered)
                    numbered.append(next_parts)
                target[index] = tuples[next_parts]
        state_after = target[which.reshape(-1)]
        alive = state_after >= 0
        after, owner, state_after = after[alive], owner[alive], state_after[alive]
        code = _code(after, state_after, count)
        _, first = np.unique(code, return_index=True)
        # Breadth first: a joint state that was met before was met in fewer steps.
        first = first[~np.isin(code[first], seen)]
        cells, state, owner = after[first], state_after[first], owner[first]
        near = _far(planner, cells, [numbered[s] for s in state.tolist()]) + step <= limit
        cut += float((~near).sum())
        cells, state, owner = cells[near], state[near], owner[near]
        seen = np.concatenate([seen, code[first][near]])
        levels.append((cells, state, owner))
        if not len(cells):
            break
    return None, cut + len(cells)


def _code(cells: IntArray, state: IntArray, count: int) -> IntArray:
    # A mixed-radix number; MOST_JOINT keeps it far below 2^63.
    code = state.copy()
    for column in cells.T:
        code = code * count + column
    return code


def _trace_back(
    levels: list[tuple[IntArray, IntArray, IntArray]], last: IntArray, owner: int
) -> tuple[tuple[int, ...], ...]:
    way = [last]
    for cells, _, owners in reversed(levels):
        way.append(cells[owner])
        owner = int(owners[owner])
    return tuple(tuple(int(cells[robot]) for cells in reversed(way)) for robot in range(len(last)))


# Schedules on a map, and legs in space and time.


class _MapSchedules(Schedules):
    """The search for one plan, by ways from cell to cell."""

    def __init__(
        self,
        planner: TeamPlanner,
        starts: Sequence[int],
        parts: Parts,
        began: float,
        deadline: float,
    ) -> None:
        self.planner, self.team = planner, planner.team
        self.starts = tuple(starts)
        self.began, self.deadline = began, deadline
        robots = [r for r, name in enumerate(self.team.names) if name not in self.team.gone]
        standing = [planner.shown[r][cell] for r, cell in enumerate(starts)]
        super().__init__(planner.asks, parts, robots, standing)
        self._ways: dict[tuple[str, str], FloatArray] = {}
        self._first: dict[tuple[int, str], FloatArray] = {}
        self._least: dict[tuple[int, str], frozenset[str]] = {}
        names = {name for kinds in planner.kinds for labels in kinds for name in labels}
        places = {self.asks.place(name)[0] for name in names}
        self._graph = PlaceGraph(self.team.cells, places, self.starts[0])
        self._between: FloatArray = self._graph.shortest_ways()
        np.fill_diagonal(self._between, 0.0)
        where = self.team.positions
        self.places: list[list[float]] = [] if where is None else where.tolist()
        """The centres of cells, where robots have a size."""
        self.reach = 0.0
        """Metres in x or in y from which two robots cannot come too close within a step."""
        if where is not None:
            longest = float(np.abs(where[self.team.moves] - where[:, None]).max())
            # Both robots move by `longest` at most; the third one is slack for halted robots
            # between two cells.
            self.reach = 2 * (self.team.radius + self.team.margin) + 3 * longest
        anywhere = np.ones(len(self.team.cells.labels), np.bool_)
        self._from_start = self._graph.ways_from(np.array(self.starts), anywhere)

    def best(self) -> TeamPlan:
        """Return the best plan that is found."""
        # Schedules ignore collisions, so some time must remain for laying them out.
        until = self.deadline - LAYING * (self.deadline - self.began)
        candidates = self.search(until)
        best: tuple[tuple[int, ...], ...] | None = None
        free, hopeless = 0, 2 * self.deadline - self.began
        for number, (_, score) in enumerate(candidates):
            # Collisions only make schedules longer, and these are sorted: no later one can be
            # better.
            if best is not None and (number >= REALISED or score.steps >= len(best[0]) - 1):
                break
            laid = False
            for slack, aside in LAYOUTS:
                # Any plan is better than none: without one, as much time again is spent.
                if time.thread_time() > (self.deadline if best is not None else hopeless):
                    break
                if laid and aside:
                    break
                paths = _Timetable(self, score.events, slack, aside=aside).paths()
                if paths is None or not self.planner.keeps_apart(paths):
                    continue
                steps = self.planner.simulate(paths, self.parts)
                laid |= steps is not None
                if steps is not None and (best is None or steps < len(best[0]) - 1):
                    best = tuple(tuple(path[: steps + 1]) for path in paths)
                    free = int(candidates[0][1].steps)
        if best is None:
            raise NoPlanFoundError(
                "no plan was found for the team, which does not prove that there is none"
            )
        return TeamPlan(best, False, time.thread_time() - self.began, free)

    def _way(self, before: str, after: str) -> FloatArray:
        """`[cell of one place, cell of another]`: steps between them, whatever is on the way."""
        if (before, after) not in self._ways:
            self._ways[before, after] = self._between[
                np.ix_(self._doors(before), self._doors(after))
            ]
        return self._ways[before, after]

    def _doors(self, place: str) -> IntArray:
        """Return the junctions of a place: its cells, or of a large one those at its edge."""
        found = self._graph.number[self.planner.at(place)]
        return found[found >= 0]

    def _way_from_start(self, robot: int, place: str) -> FloatArray:
        if (robot, place) not in self._first:
            doors = self._doors(place)
            # A robot that is in a place stays there for a step, and is there in the next.
            # Labels are read after a step, never at the start.
            here = self._graph.junctions[doors] == self.starts[robot]
            self._first[robot, place] = np.where(here, 1.0, self._from_start[robot][doors])
        return self._first[robot, place]

    def way_to(self, robot: int, before: str | None, ready: FloatArray, place: str) -> FloatArray:
        """Return when a robot can be in each cell of a place, from where it is, or from its start."""
        if before is None:
            return self._way_from_start(robot, place)
        reach: FloatArray = (ready[:, None] + self._way(before, place)).min(axis=0)
        # Where it is there already, the next arrival is a step later.
        found: FloatArray = np.maximum(reach, ready.min() + (before == place))
        return found

    def labels(self, robot: int, place: str) -> frozenset[str]:
        """Return what a robot shows in a place: in its cell that shows least."""
        if (robot, place) not in self._least:
            shown = self.planner.shown[robot]
            self._least[robot, place] = min((shown[c] for c in self.planner.at(place)), key=len)
        return self._least[robot, place]


class _Timetable:
    """Lays the legs of a schedule, in the order of its events."""

    def __init__(
        self, schedules: _MapSchedules, events: Sequence[Event], slack: int, *, aside: bool
    ) -> None:
        self.schedules, self.planner, self.asks = schedules, schedules.planner, schedules.asks
        self.team = schedules.team
        self.events, self.slack, self.aside = events, slack, aside
        self._places, self._reach = schedules.places, schedules.reach
        self.reserved: list[list[int]] = [[cell] for cell in schedules.starts]
        """The cells of each robot, as far as they are settled."""
        self.gone = {r for r, name in enumerate(self.team.names) if name in self.team.gone}
        self.fixed = set(self.gone)
        """Robots that stay where they are until something else is said."""
        self.grace: dict[int, int] = {}
        """For how many steps beyond what is settled a robot is given time to get clear."""
        self.holders: dict[int, str] = {}
        """Robots that wait in a place for what others do, and for what they are there."""
        self.since: dict[int, int] = {}
        """When each robot that waits in its place has come there."""

    def paths(self) -> list[list[int]] | None:
        """Return the cells of all robots, step by step; None if a leg cannot be laid."""
        planner, parts = self.planner, self.schedules.parts
        history: list[tuple[int, Parts]] = [(0, parts)]
        holders = self.holders
        last = 0
        for event in self.events:
            robot, (place, _) = event.robot, planner.asks.place(event.name)
            labels = self.schedules.labels(robot, place)
            shown = self._shown(holders, last)
            earliest = 0
            for when, before in reversed(history):
                after, reward = planner.asks.advance(before, labels | self._shown(holders, when))
                moves = reward > 0 or after != before
                if after is None or not (event.holds or moves):
                    earliest = self._next_time(history, when)
                    break
            self.fixed.discard(robot)
            allowed = [(time, self._allowed(robot, place, then)) for time, then in history]
            earliest += self.slack if earliest else 0
            if not self._lay(robot, place, earliest, allowed, parts):
                return None
            arrived = len(self.reserved[robot]) - 1
            if event.holds:
                self._hold(holders, robot, event.name)
                continue
            last = max(last, arrived)
            after, _ = planner.asks.advance(parts, labels | shown)
            if after is None:
                return None
            if event.name in planner.asks.needs(after):
                self._hold(holders, robot, event.name)
            while True:
                parts = after
                history.append((last, parts))
                if not self._release(holders, parts, last):
                    return None
                after, reward = planner.asks.moved_on(parts, self._shown(holders, last))
                if after is None or reward > 0:
                    break
                last += 1
        # Two steps beyond the last arrival: the machine may still move on what holders show.
        end = max(map(len, self.reserved)) - 1 + 2
        for robot in range(len(self.reserved)):
            idle = self._idle(robot, end, parts)
            if idle is None:
                return None
            self.reserved[robot] += idle
        return self.reserved

    def _lay(
        self,
        robot: int,
        place: str,
        earliest: int,
        allowed: Sequence[tuple[int, BoolArray]],
        parts: Parts,
    ) -> bool:
        """Lay a leg by which all others can get clear of it; False: it cannot be.

        The waits of those that step aside in their places are laid anew for that.
        """
        path, settled = self.reserved[robot], self.fixed | {robot}
        waiting = {r: self.reserved[r][:] for r in self.holders if r not in settled}
        idle = set(range(len(self.reserved))) - settled - self.holders.keys()
        while True:
            for r in waiting:
                del self.reserved[r][self.since[r] + 1 :]
            leg = self._leg(robot, place, earliest, allowed)
            if leg is None:
                return False
            path += leg
            end = len(path) - 1
            if (stuck := next((r for r in waiting if not self._wait(r, end)), None)) is not None:
                # It has no room to step aside: then the others go round it.
                self.fixed.add(stuck)
                self.reserved[stuck] = waiting.pop(stuck)
            elif (
                stuck := next((r for r in idle if self._idle(r, end, parts) is None), None)
            ) is None:
                self.grace.clear()
                return True
            elif (grace := 2 * self.grace.get(stuck, 1)) <= MOST_GRACE:
                # It gets clear if it has some time for that.
                self.grace[stuck] = grace
            else:
                return False
            del path[len(path) - len(leg) :]

    def _shown(self, holders: Collection[int], when: int) -> frozenset[str]:
        """Return what robots show that are gone, or wait in their places and are there by then."""
        there = [*self.gone, *(r for r in holders if self.since[r] <= when)]
        return frozenset().union(*(self.planner.shown[r][self.reserved[r][-1]] for r in there))

    def _hold(self, holders: dict[int, str], robot: int, name: str) -> None:
        """Let a robot wait in the place to which it has come."""
        holders[robot] = name
        self.since[robot] = len(self.reserved[robot]) - 1
        if not self.aside:
            self.fixed.add(robot)

    def _wait(self, robot: int, until: int) -> bool:
        """Lay the wait of a robot in its place, if it may step aside; tell whether it can wait.

        It is laid when the others' ways are known: these go where they like, and it makes room.
        """
        path = self.reserved[robot]
        if robot in self.fixed:
            return True
        kind = self.planner.kind[robot]
        now = path[-1], len(path) - 1
        way = self._kept_clear(robot, now, until, kind == kind[path[-1]])
        path += way or []
        return way is not None

    def _release(self, holders: dict[int, str], parts: Parts, last: int) -> bool:
        """Let robots go on that waited for what has happened in step `last`; False: they cannot wait."""
        for r, name in list(holders.items()):
            if name not in self.asks.needs(parts):
                # It has to be there when the others are.
                if not self._wait(r, last):
                    return False
                del holders[r]
                self.fixed.discard(r)
                missing = last - (len(self.reserved[r]) - 1)
                self.reserved[r] += [self.reserved[r][-1]] * max(0, missing)
        return True

    @staticmethod
    def _next_time(history: Sequence[tuple[int, Parts]], when: int) -> int:
        """Return when the state after the one that began at `when` began."""
        later = [time for time, _ in history if time > when]
        return min(later, default=when + 1)

    def _allowed(self, robot: int, place: str, parts: Parts) -> BoolArray:
        """Return the cells that a robot may pass: nothing that is forbidden, or makes new work."""
        planner = self.planner
        kinds = planner.kinds[robot]
        fine = np.array([self.asks.is_harmless(parts, labels) for labels in kinds])
        allowed: BoolArray = fine[planner.kind[robot]]
        return allowed & (planner.distance(place) >= 0)

    def _free(self, robot: int, cell: int, after: int, step: int) -> bool:
        """Tell whether a robot may go from one cell to another in the step that ends at `step`."""
        for other, path in enumerate(self.reserved):
            if other == robot:
                continue
            if step < len(path):
                came, to = path[step - 1], path[step]
            elif other in self.fixed or step < len(path) + self.grace.get(other, 0):
                came = to = path[-1]
            else:
                continue
            if self._are_near(cell, came) and bool(
                self.team.too_close(cell, after, *self.team.ends(other, came, to))
            ):
                return False
        return True

    def _are_near(self, a: int, b: int) -> bool:
        """Tell whether robots in two cells may meet within a step: quick, and most are not."""
        if not self._places:
            return True
        (x, y), (other_x, other_y) = self._places[a], self._places[b]
        return abs(x - other_x) < self._reach and abs(y - other_y) < self._reach

    def _leg(
        self, robot: int, place: str, earliest: int, allowed: Sequence[tuple[int, BoolArray]]
    ) -> list[int] | None:
        """Return the cells of a shortest way in space and time to a place, not before a step.

        `allowed`: which cells may be passed after each of some times, in order.
        """
        path = self.reserved[robot]
        start, began = path[-1], len(path) - 1
        away = self.planner.distance(place)
        if away[start] < 0:
            return None
        goals = away == 0
        moves = self.team.moves
        # Without an end, a leg that is blocked for good would be searched in time forever.
        latest = began + int(away[start]) + max(0, earliest - began) + HORIZON
        # Once the others have come to rest nothing changes any more: a cell need not be looked at again.
        lengths = (len(path) + self.grace.get(r, 0) for r, path in enumerate(self.reserved))
        settled = max([earliest, *lengths])
        rest = allowed[-1][1] | goals
        queue: list[tuple[int, int, int, int]] = [(began + int(away[start]), 0, start, began)]
        came: dict[tuple[int, int], tuple[int, int]] = {}
        seen = {(start, min(began, settled))}
        count = 0
        while queue:
            _, _, cell, step = heapq.heappop(queue)
            arrived = goals[cell] and step >= earliest and step > began
            # Others may be on their way through the place already: it must be able to get clear.
            if arrived and self._kept_clear(robot, (cell, step), settled - 1, rest) is not None:
                way = []
                while (cell, step) in came:
                    way.append(cell)
                    cell, step = came[cell, step]
                return way[::-1]
            if step >= latest:
                continue
            for after in dict.fromkeys(moves[cell].tolist()):
                key = after, step + 1
                if (after, min(step + 1, settled)) in seen or away[after] < 0:
                    continue
                target_too_soon = goals[after] and step + 1 < earliest
                # What may be passed changes when the machine moves, so it depends on the time.
                fine = next(cells for time, cells in reversed(allowed) if time <= step)[after]
                if target_too_soon or not (fine or goals[after] or after == cell):
                    continue
                if not self._free(robot, cell, after, step + 1):
                    continue
                seen.add((after, min(step + 1, settled)))
                came[key] = cell, step
                count += 1
                estimate = max(earliest, step + 1 + int(away[after]))
                # Ties: waiting goes last, and of moves the later one first (depth first), which
                # reaches the goal sooner.
                heapq.heappush(
                    queue, (estimate, count if after == cell else -step, after, step + 1)
                )
        return None

    def _idle(self, robot: int, end: int, parts: Parts) -> list[int] | None:
        """Return a way that keeps clear of the others until the end, and makes no new work."""
        path = self.reserved[robot]
        if self.team.names[robot] in self.team.gone:
            return path[-1:] * (end - len(path) + 1)
        fine = np.array(
            [self.asks.is_harmless(parts, labels) for labels in self.planner.kinds[robot]]
        )
        now = path[-1], len(path) - 1
        return self._kept_clear(robot, now, end, fine[self.planner.kind[robot]])

    def _kept_clear(
        self, robot: int, now: tuple[int, int], end: int, allowed: BoolArray
    ) -> list[int] | None:
        """Return a way in some cells that keeps clear of the others, from a cell and step on."""
        # Depth first with staying tried first: a robot moves only to get out of somebody's way.
        stack = [now]
        came: dict[tuple[int, int], tuple[int, int]] = {}
        seen = {now}
        while stack:
            cell, step = stack.pop()
            if step >= end:
                way = []
                while (cell, step) in came:
                    way.append(cell)
                    cell, step = came[cell, step]
                return way[::-1]
            for after in reversed(list(dict.fromkeys(self.team.moves[cell].tolist()))):
                key = after, step + 1
                if key in seen or not (allowed[after] or after == cell):
                    continue
                if self._free(robot, cell, after, step + 1):
                    seen.add(key)
                    came[key] = cell, step
                    stack.append(key)
        return None
