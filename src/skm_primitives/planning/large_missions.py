"""Planning a mission that is kept in parts, without the product of its parts.

A plan is a sequence of *events*: arrivals at cells whose labels move a part. Between two events the
robot takes an exact shortest way through cells that move nothing, so what each part forbids in its
present state is never passed. The search goes from tuple of part states to tuple, and keeps, for each,
the earliest arrival at every junction (`PlaceGraph`): in which cell a place is entered is chosen for
what comes after. It is a beam search, repeated with a wider beam until nothing was cut off (then its
plan is optimal) or the time is up; between, the order of events is improved by moving and turning
parts of it (or-opt, 2-opt). What cannot be better than the best plan known is cut by a bound: a
spanning tree over the places that are still to be visited, whatever happens. Every plan is run through
the machine, step by step, before it counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from skm_machine.errors import UnachievableMissionError
from skm_machine.factored import FactoredMachine, Parts
from skm_machine.recurrence import AcceptanceMark
from skm_primitives.planning.place_graph import FAR, Cells, PlaceGraph
from skm_primitives.planning.place_order import PlaceOrders
from skm_sim.arrays import BoolArray, FloatArray, IntArray

BEST_SECONDS: Final = 10.0
"""CPU seconds after which the best plan so far is taken."""
FIRST_BEAM: Final = 2
WIDER: Final = 6
"""By how much a beam is widened: the first finds a plan of 20 places in 0.2 s, and the fifth is
exhaustive for fifteen of them."""
SHORT: Final = 0.2
"""CPU seconds that the order of events gets at least, each time."""


@dataclass(frozen=True)
class Plan:
    """A way that fulfils a mission, or completes a round of it, and how good it is."""

    cells: tuple[int, ...]
    """The cells that are entered, one for each step."""
    parts: tuple[Parts, ...]
    """The states of the parts before each step."""
    at_least: int
    """No plan has fewer steps."""
    seconds: float
    """CPU seconds that the search took."""
    first_seconds: float = 0.0
    """CPU seconds until there was a plan at all."""

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return len(self.cells)

    @property
    def optimal(self) -> bool:
        """Whether no plan is shorter."""
        return self.steps <= self.at_least

    def __str__(self) -> str:
        steps = f"{self.steps} steps"
        return (
            f"{steps}, the fewest possible"
            if self.optimal
            else f"{steps}, at least {self.at_least}"
        )


class NoPlanFoundError(UnachievableMissionError):
    """No plan was found in time, which does not prove that there is none."""


class _Tables:
    """What every class of labels does to every part, as arrays."""

    def __init__(self, machine: FactoredMachine, classes: Sequence[frozenset[str]]) -> None:
        parts = machine.parts
        # Padded to the largest part, so that one indexing operation advances all parts.
        most = max(part.num_states for part in parts)
        self.machine = machine
        shape = len(parts), most, len(classes)
        self.target: IntArray = np.zeros(shape, np.int64)
        self.lost: BoolArray = np.zeros(shape, np.bool_)
        self.fresh: BoolArray = np.zeros(shape, np.bool_)
        self.marks: BoolArray = np.zeros(shape, np.bool_)
        self.done: BoolArray = np.zeros((len(parts), most), np.bool_)
        for i, part in enumerate(parts):
            self.done[i, sorted(part.accepting)] = True
            for state in range(part.num_states):
                for number, labels in enumerate(classes):
                    outcome = part.outcome(state, labels)
                    after = part.after(outcome)
                    self.lost[i, state, number] = after is None
                    self.target[i, state, number] = state if after is None else after
                    if part.marks is not None:
                        mark = part.marks[state, outcome]
                        self.fresh[i, state, number] = mark is AcceptanceMark.NONE
                        self.marks[i, state, number] = mark is AcceptanceMark.MARK
        self._rows = np.arange(len(parts))
        self.watched = len(machine.watched)
        self.waited = self.watched + len(machine.recurrences)
        self._start = np.array(machine.start)
        self._marked = [n for n, part in enumerate(machine.watched) if self.marks[n].any()]
        self.first = tuple(self._first_state(i, part.initial) for i, part in enumerate(parts))
        """The tuple to begin with."""
        self.drifting: BoolArray = np.array([self._drifts(i) for i in range(len(parts))])
        """`[part]`: whether steps that show nothing move it, as deadlines do."""
        self.alike: BoolArray = (self.target == self.target[:, :, :1]).all(axis=1)
        """`[part, class]`: whether a class is to a part as if nothing showed."""
        self.passable: BoolArray = np.ones(len(classes), np.bool_)
        """`[class]`: what may show at all; the rest loses the mission, however it stands."""
        for number in range(len(parts)):
            self.passable[self._never(number)] = False
        self._memo: dict[bytes, After] = {}

    def _first_state(self, part: int, initial: int) -> int:
        """Return the state that stands for the first one of a part.

        An automaton begins apart, since no empty trace satisfies anything (`G !a` is accepted after the
        first step). Where a step that shows nothing leads to a state with the same moves, that one does
        as well, and the part does not seem to wait for a step.
        """
        after = int(self.target[part, initial, 0])
        entered = (self.target[part][: self.machine.parts[part].num_states] == initial).any(axis=1)
        entered[initial] = False
        lost = self.lost[part, initial]
        same = (self.target[part, initial] == self.target[part, after]) | lost
        alike = same.all() and (lost == self.lost[part, after]).all()
        return after if alike and not entered.any() and not self.fresh[part].any() else initial

    def _reached(self, part: int) -> list[int]:
        """Return the states that a part can come into."""
        reached, stack = {self.first[part]}, [self.first[part]]
        while stack:
            more = set(self.target[part, stack.pop()].tolist()) - reached
            reached |= more
            stack += more
        return sorted(reached)

    def _drifts(self, part: int) -> bool:
        """Tell whether a step that shows nothing can move a part."""
        reached = self._reached(part)
        lost = self.lost[part, reached, 0].any()
        return bool(lost or (self.target[part, reached, 0] != reached).any())

    def _never(self, part: int) -> BoolArray:
        """`[class]`: what loses a part in all of its states."""
        found: BoolArray = np.asarray(self.lost[part, self._reached(part)].all(axis=0))
        return found

    def after(self, parts: IntArray) -> After:
        """Return what each class does in a tuple: the next tuples, which are lost, which are paid."""
        key = parts.tobytes()
        found = self._memo.get(key)
        if found is None:
            # Each entry has an array for every class: without a limit, a long search fills the
            # memory.
            if len(self._memo) > 50_000:
                self._memo.clear()
            found = self._memo[key] = self._after(parts)
        return found

    def _after(self, parts: IntArray) -> After:
        rows, watched, waited = self._rows, self.watched, self.waited
        target = self.target[rows, parts]
        lost: BoolArray = np.asarray(self.lost[rows, parts].any(axis=0))
        machine = self.machine
        if machine.endless and not machine.repeat:
            fresh = self.fresh[rows, parts].any(axis=0)
            marks = self.marks[rows, parts]
            # A mark is a mark only until the round is over: those seen so far are kept in the
            # tuple.
            if self._marked:
                target[waited:] = parts[waited:, None] | marks[self._marked]
            # A commitment was broken: the round begins again.
            target[watched:] = np.where(fresh, self._start[watched:, None], target[watched:])
            counted = self.done[rows[watched:, None], target[watched:]]
            paid: BoolArray = counted.all(axis=0) & ~fresh & ~lost
        else:
            paid = self.done[rows[:, None], target].all(axis=0) & ~lost
        still: BoolArray = (target == parts[:, None]) & (target[:, :1] == parts[:, None])
        # A part that counts steps moves anyway; a class that is to it as if nothing showed changes
        # nothing more.
        stays = still | (self.drifting[:, None] & self.alike)
        return After(target, lost, paid, stays.all(axis=0) & ~lost & ~paid)

    def drift(self, parts: IntArray, steps: int) -> IntArray | None:
        """Return the tuple after steps that show nothing; None if a part is lost on the way."""
        if steps <= 0 or not self.drifting.any():
            return parts
        rows, after = self._rows, parts
        for _ in range(steps):
            if self.lost[rows, after, 0].any():
                return None
            moved = self.target[rows, after, 0]
            if (moved == after).all():
                break
            after = moved
        return after


class After(NamedTuple):
    """What follows a tuple, for each class of labels."""

    target: IntArray
    """`[part, class]`"""
    lost: BoolArray
    paid: BoolArray
    passed: BoolArray
    """Whether nothing moves: the class may be passed on the way."""


class _Bounds:
    """How many steps are left at least: by the places that every way to success visits."""

    def __init__(self, tables: _Tables, graph: PlaceGraph) -> None:
        machine, classes = tables.machine, graph.classes
        self.names = tuple(dict.fromkeys(name for labels in classes for name in labels))
        shape = len(machine.parts), tables.target.shape[1], len(self.names)
        self._needed: BoolArray = np.zeros(shape, np.bool_)
        for number, name in enumerate(self.names):
            open_ = np.array([name not in labels for labels in classes])
            for i, part in enumerate(machine.parts[: tables.waited]):
                if name in part.table.propositions:
                    # A place is needed in a state from which success cannot be reached without it.
                    needed = ~_reaching(tables, i, open_)[: part.num_states]
                    self._needed[i, : part.num_states, number] = needed
        self._rows = np.arange(len(machine.parts))
        member = np.array([[name in labels for labels in classes] for name in self.names], np.bool_)
        member = member.reshape(len(self.names), len(classes))
        self._at = [np.flatnonzero(row[graph.junction_class]) for row in member]
        free = graph.shortest_ways(tables.passable)
        self.ways: FloatArray = free.copy()
        """`[junction, junction]`: the shortest ways that do not lose the mission at once."""
        np.fill_diagonal(free, 0.0)
        count = len(self.names)
        self.to: FloatArray = np.full((len(graph.junctions), count), FAR)
        """`[junction, place]`: steps to the place at least."""
        for number, there in enumerate(self._at):
            if len(there):
                self.to[:, number] = free[:, there].min(axis=1)
        self.between: FloatArray = np.full((count, count), FAR)
        for number, there in enumerate(self._at):
            if len(there):
                self.between[number] = self.to[there].min(axis=0)
        # Ways may be longer in one direction; spanning trees need one length, and a bound the
        # smaller.
        self.between = np.minimum(self.between, self.between.T)
        self._trees: dict[bytes, float] = {}

    def needed(self, parts: IntArray) -> BoolArray:
        """Return which places have to be visited yet."""
        found: BoolArray = np.asarray(self._needed[self._rows, parts].any(axis=0))
        return found

    def left(self, parts: IntArray, junctions: IntArray) -> FloatArray:
        """Return how many steps are left at least from each of these junctions."""
        needed = self.needed(parts)
        if not needed.any():
            return np.zeros(len(junctions))
        # To the nearest place, then a tree over all of them: no tour is shorter than that.
        nearest: FloatArray = self.to[junctions][:, needed].min(axis=1)
        return nearest + self._tree(needed)

    def _tree(self, needed: BoolArray) -> float:
        key = needed.tobytes()
        if key not in self._trees:
            self._trees[key] = spanning_tree(self.between[np.ix_(needed, needed)])[0]
        return self._trees[key]

    def from_start(self, parts: IntArray, first: FloatArray) -> int:
        """Return a bound for the whole mission; `first[place]` is how far each place is at the start.

        The path through all places is a tour with a stop of no length between its end and the start:
        its length is bounded by 1-trees, with the weights of places that are met too often raised (Held
        and Karp).
        """
        needed = np.flatnonzero(self.needed(parts))
        if not len(needed):
            return 1
        if not np.isfinite(first[needed]).all():
            return 1
        count = len(needed) + 1  # the start is 0; the stop is apart
        length = np.zeros((count, count))
        length[1:, 1:] = self.between[np.ix_(needed, needed)]
        length[0, 1:] = length[1:, 0] = first[needed]
        np.fill_diagonal(length, FAR)
        weight, best = np.zeros(count), float(first[needed].max())
        scale = 1.0
        # Subgradient ascent: every round's bound holds, so any number of rounds will do.
        for _ in range(60):
            shifted = length + weight[:, None] + weight[None]
            total, degree = spanning_tree(shifted)
            # The stop joins the start, which it must, and the end: the place of the least weight.
            end = 1 + int(weight[1:].argmin())
            bound = total + weight[0] + weight[end] - 2 * float(weight.sum())
            best = max(best, bound)
            degree[0] += 1
            degree[end] += 1
            excess = degree - 2
            # Every node has two edges: the tree is a tour, and its length is the optimum.
            if not excess.any():
                break
            weight = weight + scale * excess * (0.05 * best / max(1, count) + 0.5)
            scale *= 0.95
        # Steps are whole; the slack keeps a bound that is an integer but for rounding.
        return max(1, math.ceil(best - 1e-6))


def _reaching(tables: _Tables, part: int, open_: BoolArray) -> BoolArray:
    """Return from which states a part gets to be done by classes that are `open_`; those that are."""
    target, lost = tables.target[part], tables.lost[part] | ~open_
    found: BoolArray = tables.done[part].copy()
    while True:
        more = found | (found[target] & ~lost).any(axis=1)
        if (more == found).all():
            return found
        found = more


def spanning_tree(length: FloatArray) -> tuple[float, IntArray]:
    """Return the length of a minimum spanning tree, and how many edges meet in each node (Prim)."""
    count = len(length)
    degree: IntArray = np.zeros(count, np.int64)
    if count < 2:
        return 0.0, degree
    joined = np.zeros(count, np.bool_)
    joined[0] = True
    nearest, by = length[0].copy(), np.zeros(count, np.int64)
    nearest[0] = FAR
    total = 0.0
    for _ in range(count - 1):
        new = int(nearest.argmin())
        total += float(nearest[new])
        degree[new] += 1
        degree[by[new]] += 1
        joined[new] = True
        closer = (length[new] < nearest) & ~joined
        by[closer] = new
        nearest[closer] = length[new][closer]
        nearest[new] = FAR
    return total, degree


class _Node:
    """A tuple, the earliest arrivals in it, and by which expansion of an earlier node each came."""

    __slots__ = ("arrival", "came_from", "junction", "parts")

    def __init__(self, parts: IntArray) -> None:
        self.parts = parts
        self.junction: list[IntArray] = []
        self.arrival: list[FloatArray] = []
        self.came_from: list[_Expansion] = []


@dataclass(eq=False)
class _Expansion:
    """Where the robot can get to from a node while no part moves."""

    parts: IntArray
    arrival: FloatArray
    """`[junction]`: the earliest."""
    before: IntArray
    """`[junction]`: the junction before, passed on the way; −1: the start; −2 − j: the node's own j."""
    since: FloatArray
    """`[junction]`: when the tuple was entered on the way there."""
    origin: dict[int, _Expansion]
    """For each junction of the node: the expansion in which it was reached."""
    passed: BoolArray
    """`[class]`: what may be passed."""


class LargeMissionPlanner:
    """Plans one mission in one world, from any cell and any tuple of part states."""

    def __init__(self, machine: FactoredMachine, cells: Cells) -> None:
        self.machine = machine
        self.cells = cells
        self._graph: PlaceGraph | None = None

    @property
    def most_steps(self) -> int:
        """Steps that are enough to visit every place one after the other."""
        if self._graph is None:
            self._prepare(0)
            assert self._graph is not None
        ways = self._bounds.between
        return int(2 * ways[np.isfinite(ways)].sum(initial=0.0) / max(1, len(ways))) + 1000

    def plan(
        self, start: int, parts: Parts | None = None, *, seconds: float = BEST_SECONDS
    ) -> Plan:
        """Return the best plan that is found in so many CPU seconds, from a cell and a tuple.

        Raises an `UnachievableMissionError` where a part alone proves that there is none, and a
        `NoPlanFoundError` where none was found.
        """
        began = time.thread_time()
        if self._graph is None or not self._graph.knows(start):
            self._prepare(start)
            assert self._graph is not None
        given = self.machine.start if parts is None else parts
        here = np.array(self._tables.first if given == self.machine.start else given)
        search = _Search(self._graph, self._tables, self._bounds, start, here)
        search.given = given
        return search.best(began, seconds)

    def _prepare(self, start: int) -> None:
        """Work out what does not depend on how the mission stands."""
        self._graph = PlaceGraph(self.cells, self.machine.propositions, start)
        self._tables = _Tables(self.machine, self._graph.classes)
        self._bounds = _Bounds(self._tables, self._graph)


class _Search:
    """The search for one plan."""

    def __init__(
        self, graph: PlaceGraph, tables: _Tables, bounds: _Bounds, start: int, parts: IntArray
    ) -> None:
        self.graph, self.tables, self.bounds = graph, tables, bounds
        self.start, self.parts = start, parts
        self.given: Parts = tuple(parts.tolist())
        """The tuple itself, where another stands for it."""
        self.first = graph.ways_from(np.array([start]), graph.class_of == 0)[0]
        self.classes = [
            np.flatnonzero(graph.junction_class == number) for number in range(len(graph.classes))
        ]
        self.drifts = bool(tables.drifting.any())
        self.length = math.inf
        self.plan_cells: list[int] = []
        self.plan_parts: list[Parts] = []
        self.order: list[int] = []
        """The classes of the events of the best plan."""
        self._orders: dict[tuple[int, ...], _Orders] = {}
        self.deadline = math.inf
        self.first_seconds = 0.0
        self.free = graph.ways_from(np.array([start]), tables.passable[graph.class_of])[0]
        """`[junction]`: the shortest ways from the start that do not lose the mission at once."""

    def best(self, began: float, seconds: float) -> Plan:
        """Search until the plan is known to be optimal, or the time is up."""
        self.began, self.deadline = began, began + seconds
        there = [self.free[at].min(initial=FAR) for at in self.bounds._at]
        at_least = self.bounds.from_start(self.parts, np.array(there))
        width, proved = FIRST_BEAM, False
        # CPU time, not wall time: on a busy computer a plan does not get worse.
        while (now := time.thread_time()) < self.deadline:
            proved = self._beam(width)
            # Either proves the plan optimal: nothing was cut off, or it is as short as the bound.
            if proved or self.length <= at_least:
                break
            if math.isfinite(self.length):
                # As much time for the order of events as for the search, so that both get half.
                then = time.thread_time()
                self._improve(min(self.deadline, then + max(SHORT, then - now)))
                if self.length <= at_least:
                    break
            width *= WIDER
        if not math.isfinite(self.length):
            self._refuse(proved, seconds)
        spent = time.thread_time() - began
        # With parts that count steps, only the earliest arrival in each tuple is followed, so an
        # exhaustive beam proves nothing.
        bound = int(self.length) if proved and not self.drifts else at_least
        cells, parts = tuple(self.plan_cells), tuple(self.plan_parts)
        return Plan(cells, parts, bound, spent, self.first_seconds)

    def _refuse(self, proved: bool, seconds: float) -> None:
        """Say that there is no plan, or that none was found."""
        for number, part in enumerate(self.tables.machine.parts[: self.tables.waited]):
            if not self._possible(number):
                raise UnachievableMissionError(
                    f"the mission cannot be achieved from here: '{part.clause}' alone cannot"
                )
        if proved and not self.drifts:
            raise UnachievableMissionError(
                "the mission cannot be achieved from here: its clauses exclude each other on this map"
            )
        raise NoPlanFoundError(
            f"no plan was found within {seconds:g} s, which does not prove that there is none"
        )

    def _possible(self, number: int) -> bool:
        """Tell whether a part alone can be achieved, by its product with the cells: small, and exact."""
        graph, target, lost = self.graph, self.tables.target[number], self.tables.lost[number]
        done = self.tables.done[number]
        # Its own product with the map is small, unlike that of all parts.
        reached: BoolArray = np.zeros((len(target), len(graph.class_of)), np.bool_)
        waiting = {int(self.parts[number]): np.array([self.start])}
        while waiting:
            state, cells = waiting.popitem()
            after = np.unique(graph.successors[cells])
            for label in np.unique(graph.class_of[after]).tolist():
                if lost[state, label]:
                    continue
                there = int(target[state, label])
                if done[there]:
                    return True
                new = after[(graph.class_of[after] == label) & ~reached[there, after]]
                if len(new):
                    reached[there, new] = True
                    waiting[there] = np.concatenate([waiting.get(there, new), new])
        return False

    # The beam search.

    def _beam(self, width: int) -> bool:
        """Search with a beam; tell whether nothing was cut off, so that the plan is optimal."""
        complete = True
        root = _Node(self.parts)
        layer: dict[bytes, _Node] = {self.parts.tobytes(): root}
        known: dict[bytes, FloatArray] = {}
        first = True
        while layer:
            ranked = list(layer.values())
            if len(ranked) > width:
                # By the bound of the whole plan, not by the length so far: tuples with more done
                # must not look worse.
                ranked = sorted(ranked, key=self._lower_bound)[:width]
                complete = False
            following: dict[bytes, _Node] = {}
            for node in ranked:
                if time.thread_time() > self.deadline:
                    return False
                expansion = self._expand(node, None if first else known, first=first)
                if expansion is not None:
                    self._follow(expansion, following)
            first = False
            layer = following
        return complete

    def _lower_bound(self, node: _Node) -> float:
        """Return how long a plan through this node is at least."""
        return min(
            float((arrival + self.bounds.left(node.parts, junction)).min())
            for junction, arrival in zip(node.junction, node.arrival, strict=True)
        )

    def _expand(
        self, node: _Node, known: dict[bytes, FloatArray] | None, *, first: bool = False
    ) -> _Expansion | None:
        """Go wherever no part moves on the way; None if all that was reached as early before."""
        count = len(self.graph.junctions)
        after = self.tables.after(node.parts)
        passed = after.passed[self.graph.junction_class]
        arrival: FloatArray = np.full(count, FAR)
        before: IntArray = np.full(count, -1, np.int64)
        found = _Expansion(node.parts, arrival, before, np.zeros(count), {}, after.passed)
        if first:
            arrival[:] = self.first
        else:
            began: FloatArray = np.full(count, FAR)
            for junction, when, expansion in zip(
                node.junction, node.arrival, node.came_from, strict=True
            ):
                better = when < began[junction]
                began[junction[better]] = when[better]
                found.origin.update(dict.fromkeys(junction[better].tolist(), expansion))
            useful = np.flatnonzero(np.isfinite(began))
            if known is not None:
                best = known.setdefault(node.parts.tobytes(), np.full(count, FAR))
                useful = useful[began[useful] < best[useful]]
                best[useful] = began[useful]
            # Branch and bound: what cannot beat the best plan is not followed.
            useful = useful[began[useful] + self.bounds.left(node.parts, useful) < self.length]
            if not len(useful):
                return None
            self._relax(found, useful, began[useful], began[useful], -2 - useful)
        fresh = passed & np.isfinite(arrival)
        # Ways between junctions avoid all that shows something; through classes that move nothing
        # they are put together here, as in Bellman and Ford.
        while fresh.any():
            sources, earlier = np.flatnonzero(fresh), arrival.copy()
            self._relax(found, sources, arrival[sources], found.since[sources], sources)
            fresh = passed & (arrival < earlier)
        return found

    def _relax(
        self,
        expansion: _Expansion,
        sources: IntArray,
        times: FloatArray,
        since: FloatArray,
        codes: IntArray,
    ) -> None:
        """Take the ways that begin at some junctions, where they arrive earlier."""
        graph = self.graph
        ways = graph.ways[sources]
        # Within one class the robot may also cross its cells, which is shorter in large places.
        if graph.inner_ways is not graph.ways:
            inner = expansion.passed[graph.junction_class[sources]]
            ways[inner] = graph.inner_ways[sources[inner]]
        total = ways + times[:, None]
        which = total.argmin(axis=0)
        found = total[which, np.arange(total.shape[1])]
        better = found < expansion.arrival
        expansion.arrival[better] = found[better]
        expansion.before[better] = codes[which[better]]
        expansion.since[better] = since[which[better]]

    def _follow(self, expansion: _Expansion, following: dict[bytes, _Node]) -> None:
        """Take every event that can come next."""
        for number, junctions in enumerate(self.classes):
            # Class 0 shows nothing; what moves nothing is no event.
            if number == 0 or not len(junctions) or expansion.passed[number]:
                continue
            reached = junctions[expansion.arrival[junctions] < self.length]
            if not len(reached):
                continue
            for parts, paid, at in self._events(expansion, number, reached):
                if self._ends(expansion, parts, paid, at):
                    continue
                key = parts.tobytes()
                node = following.get(key)
                if node is None:
                    node = following[key] = _Node(parts)
                node.junction.append(at)
                node.arrival.append(expansion.arrival[at])
                node.came_from.append(expansion)

    def _events(
        self, expansion: _Expansion, number: int, junctions: IntArray
    ) -> Iterator[tuple[IntArray, bool, IntArray]]:
        """Yield the tuples that arriving at cells of a class leads to, if it is paid, and where.

        Where parts count steps, arrivals after ways of other lengths lead to other tuples.
        """
        tables = self.tables
        if not self.drifts:
            after = tables.after(expansion.parts)
            if not after.lost[number]:
                yield after.target[:, number].copy(), bool(after.paid[number]), junctions
            return
        taken = expansion.arrival[junctions] - expansion.since[junctions]
        # The parts' counters depend on how long the way was, so each length is a tuple of its own.
        for steps in np.unique(taken).tolist():
            parts = tables.drift(expansion.parts, int(steps) - 1)
            if parts is None:
                continue
            after = tables.after(parts)
            if not after.lost[number]:
                at = junctions[taken == steps]
                yield after.target[:, number].copy(), bool(after.paid[number]), at

    def _ends(self, expansion: _Expansion, parts: IntArray, paid: bool, at: IntArray) -> bool:
        """Tell whether the mission is over by an event, or by steps that show nothing after it."""
        idle = 0 if paid else self._idle_steps(parts)
        if idle is None:
            return False
        times = expansion.arrival[at]
        best = int(times.argmin())
        if times[best] + idle < self.length:
            self._take(expansion, int(at[best]), idle)
        return paid

    def _idle_steps(self, parts: IntArray) -> int | None:
        """Return after how many steps that show nothing the mission is over; None: never."""
        if not self.drifts:
            return None
        tables, steps, seen = self.tables, 0, set[bytes]()
        while parts.tobytes() not in seen:
            seen.add(parts.tobytes())
            after = tables.after(parts)
            steps += 1
            if after.lost[0]:
                return None
            if after.paid[0]:
                return steps
            parts = after.target[:, 0]
        return None

    # Plans, cell by cell.

    def _take(self, expansion: _Expansion, junction: int, idle: int = 0) -> None:
        """Take the plan that ends with an event, if the machine accepts it."""
        events: list[tuple[_Expansion, int]] = []
        while True:
            events.append((expansion, junction))
            at = junction
            while (code := int(expansion.before[at])) >= 0:
                at = code
            if code == -1:
                break
            junction = -2 - code
            expansion = expansion.origin[junction]
        cells, here = list[int](), self.start
        for expansion, junction in reversed(events):
            there = int(self.graph.junctions[junction])
            allowed = [0, *np.flatnonzero(expansion.passed).tolist()]
            cells += self.graph.path(here, there, allowed)
            here = there
        # The mission is over only after some steps more, as with `G[0,5] !a`.
        cells += self._wander(here, idle)
        self._accept(cells, [int(self.graph.junction_class[j]) for _, j in reversed(events)])

    def _wander(self, cell: int, steps: int) -> list[int]:
        """Return so many steps over cells that show nothing; fewer, if there are none."""
        way: list[int] = []
        for _ in range(steps):
            plain = [c for c in self.cells_after(cell) if self.graph.class_of[c] == 0]
            if not plain:
                break
            cell = plain[0]
            way.append(cell)
        return way

    def cells_after(self, cell: int) -> list[int]:
        """Return where the actions lead from a cell."""
        found: list[int] = self.graph.cells.successors[cell].tolist()
        return found

    def _accept(self, cells: Sequence[int], order: list[int]) -> None:
        """Run a plan through the machine: it counts only if that pays."""
        machine, labels = self.tables.machine, self.graph.cells.labels
        parts, before = self.given, list[Parts]()
        for step, cell in enumerate(cells, start=1):
            before.append(parts)
            after, reward = machine.advance(parts, labels[cell])
            if after is None:
                return
            if reward > 0:
                if step < self.length:
                    self.length = step
                    self.plan_cells, self.plan_parts = list(cells[:step]), before
                    self.order = order
                    self.first_seconds = self.first_seconds or time.thread_time() - self.began
                return
            parts = after

    # Better orders of the same events.

    def _improve(self, until: float) -> None:
        """Move and turn parts of the order of events, while that makes it shorter; then shake it.

        First by the ways between places alone, whatever happens there: that is quick. As long as the
        best order of that kind is not as short as the mission allows, also event by event.
        """
        orders = self._place_orders()
        now = time.thread_time()
        shortest = self._reorder(orders, now + (until - now) / 2)
        if self.length <= shortest:
            self._reorder(orders, until)
            return
        rng = np.random.default_rng(0)
        order = self._local_optimum(self.order, orders, until)
        while time.thread_time() < until and len(order) > 3:
            first, second = sorted(rng.choice(len(order) + 1, 2, replace=False).tolist())
            third = int(rng.integers(second, len(order) + 1))
            shaken = order[:first] + order[second:third] + order[first:second] + order[third:]
            length = self.length
            self._local_optimum(shaken, orders, until)
            if self.length < length:
                order = self.order = self._local_optimum(self.order, orders, until)

    def _place_orders(self) -> _Orders:
        """Return what measures orders of the classes of the best plan's events."""
        classes = tuple(sorted(set(self.order)))
        if classes not in self._orders:
            self._orders[classes] = _Orders(self, classes)
        return self._orders[classes]

    def _reorder(self, orders: _Orders, until: float) -> float:
        """Improve the order by the ways between places; return how long the best is by these."""
        order, length = orders.improved(self.order, until)
        if length < self.length:
            cells, here = list[int](), self.start
            passable = np.flatnonzero(self.tables.passable).tolist()
            for junction in orders.junctions(order):
                there = int(self.graph.junctions[junction])
                cells += self.graph.path(here, there, passable)
                here = there
            self._accept(cells, order)
            # The ways by places alone met something on the way that counts: event by event it may
            # still work.
            if self.length > length:
                self._try(order)
        return length

    def works(self, order: Sequence[int]) -> bool:
        """Tell whether events in this order may do; unknown where parts count steps."""
        parts = self.parts
        for number in order if not self.drifts else ():
            after = self.tables.after(parts)
            if after.lost[number]:
                return False
            if after.paid[number]:
                return True
            parts = after.target[:, number].copy()
        return self.drifts

    def _local_optimum(self, order: list[int], orders: _Orders, until: float) -> list[int]:
        """Return an order that no single move makes shorter, as far as the time allows.

        A move is tried only where it is shorter by the ways between places; then exactly.
        """
        order = list(order)
        length = orders.length(order)
        exact = self._try(order)
        improved = True
        while improved:
            improved = False
            for changed in _moves(order):
                if time.thread_time() > until:
                    return order
                estimate = orders.length(changed)
                # The estimate is cheap (a sum), the exact length takes an expansion for each event.
                if estimate >= min(exact, length + ESTIMATE_SLACK):
                    continue
                found = self._try(changed)
                if found < exact or (found == exact and estimate < length):
                    order, length, exact, improved = changed, estimate, found, True
                    break
        return order

    def _try(self, order: list[int]) -> float:
        """Return how many steps an order of events takes; infinite if it does not work.

        The best plan is replaced if it is shorter.
        """
        node, taken, bound = _Node(self.parts), 0, self.length
        self.length = math.inf  # longer intermediate orders must be measured, too
        try:
            expansion = self._expand(node, None, first=True)
            for number in order:
                assert expansion is not None
                if expansion.passed[number]:
                    continue
                junctions = self.classes[number]
                junctions = junctions[np.isfinite(expansion.arrival[junctions])]
                found = (
                    next(self._events(expansion, number, junctions), None)
                    if len(junctions)
                    else None
                )
                if found is None:
                    return math.inf
                parts, paid, at = found
                taken += 1
                if paid:
                    length = float(expansion.arrival[at].min())
                    # `_take` replaces the plan only if it is shorter than `self.length`, which was
                    # lifted above.
                    if length < bound:
                        self.length = bound
                        self._take(expansion, int(at[expansion.arrival[at].argmin()]))
                        bound = self.length
                    return length
                node = _Node(parts)
                node.junction.append(at)
                node.arrival.append(expansion.arrival[at])
                node.came_from.append(expansion)
                expansion = self._expand(node, None)
            return math.inf
        finally:
            self.length = bound


class _Orders:
    """Orders of events, named by classes of labels."""

    def __init__(self, search: _Search, classes: Sequence[int]) -> None:
        self._number = {name: index for index, name in enumerate(classes)}
        self._classes = classes
        self._orders = PlaceOrders(
            [search.classes[number] for number in classes],
            search.free,
            search.bounds.ways,
            lambda order: search.works([classes[index] for index in order]),
        )

    def _indices(self, order: Sequence[int]) -> list[int]:
        return [self._number[name] for name in order]

    def length(self, order: Sequence[int]) -> float:
        """Return how many steps an order takes, whatever happens on the way."""
        return float(self._orders.lengths(np.array([self._indices(order)]))[0])

    def improved(self, order: Sequence[int], until: float) -> tuple[list[int], float]:
        """Return the best order that is found until a CPU time, and its length."""
        found, length = self._orders.improved(self._indices(order), until)
        return [self._classes[index] for index in found], length

    def junctions(self, order: Sequence[int]) -> list[int]:
        """Return the junction of each event in an order by which it is as short as it can be."""
        return self._orders.junctions(self._indices(order))


ESTIMATE_SLACK: Final = 2.0
"""Steps by which a move may look longer, by the ways between places, and still be tried exactly."""


def _moves(order: list[int]) -> Iterator[list[int]]:
    """Yield orders in which a part of this one was turned round (2-opt) or moved (or-opt)."""
    count = len(order)
    for first in range(count):
        for last in range(first + 2, count + 1):
            yield order[:first] + order[first:last][::-1] + order[last:]
    for size in (1, 2, 3):
        for first in range(count - size + 1):
            moved, rest = order[first : first + size], order[:first] + order[first + size :]
            for place in range(len(rest) + 1):
                if place != first:
                    yield rest[:place] + moved + rest[place:]
                    if size > 1:
                        yield rest[:place] + moved[::-1] + rest[place:]
