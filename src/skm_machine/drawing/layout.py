"""The layout of a machine's picture: columns, heights, labels, and how edges run."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import copysign, inf, sqrt
from typing import Final

# Layers of a drawing from left to right: ranks, the order within a column, and level heights.
#
# The steps of Sugiyama's method, on nodes that take room.


SWEEPS: Final = 12
RELAXATIONS: Final = 40


@dataclass(eq=False)
class Node:
    """A state, a label (text above its edge), or the bend of an edge; it takes room around (x, y)."""

    width: float
    above: float
    below: float
    clearance: float = 8.0
    weight: float = 1.0
    x: float = 0.0
    y: float = 0.0
    column: int = 0
    left: list[Node] = field(default_factory=list)
    right: list[Node] = field(default_factory=list)


def rank_states(
    count: int, initial: int, edges: Sequence[tuple[int, int]]
) -> tuple[list[int], set[tuple[int, int]]]:
    """Return each state's rank, its longest way from the start, and the edges that lead back."""
    successors: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            successors[source].append(target)
    mark, finished, back = [0] * count, list[int](), set[tuple[int, int]]()
    for root in (initial, *range(count)):
        stack = [] if mark[root] else [(root, iter(successors[root]))]
        mark[root] = mark[root] or 1
        while stack:
            state, rest = stack[-1]
            target = next(rest, -1)
            if target < 0:
                stack.pop()
                mark[state] = 2
                finished.append(state)
            elif mark[target] == 1:
                back.add((state, target))
            elif mark[target] == 0:
                mark[target] = 1
                stack.append((target, iter(successors[target])))
    ranks = [0] * count
    for state in reversed(finished):
        for target in successors[state]:
            if (state, target) not in back:
                ranks[target] = max(ranks[target], ranks[state] + 1)
    return ranks, back


def order_columns(columns: list[list[Node]]) -> None:
    """Reorder each column to reduce crossings: sort by the mean place of the neighbours."""
    best, fewest = [list(column) for column in columns], _crossings(columns)
    for sweep in range(SWEEPS):
        rightwards = sweep % 2 == 0
        order = columns[1:] if rightwards else columns[-2::-1]
        place = {node: float(index) for column in columns for index, node in enumerate(column)}
        for column in order:
            wanted = {node: _mean_place(node, place, rightwards) for node in column}
            column.sort(key=lambda node: wanted[node])
            place.update({node: float(index) for index, node in enumerate(column)})
        crossings = _crossings(columns)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    columns[:] = best


def _mean_place(node: Node, place: dict[Node, float], rightwards: bool) -> float:
    neighbours = node.left if rightwards else node.right
    if not neighbours:
        to_the_rail = not rightwards and node.column % 2 == 1
        return inf if to_the_rail else place[node]
    return sum(place[neighbour] for neighbour in neighbours) / len(neighbours)


def _crossings(columns: list[list[Node]]) -> int:
    count = 0
    for column, following in pairwise(columns):
        place = {node: index for index, node in enumerate(following)}
        seen: list[int] = []
        for node in column:
            ends = sorted(place[right] for right in node.right)
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def set_heights(columns: list[list[Node]]) -> None:
    """Draw neighbours level with each other, as far as the nodes of a column leave room."""
    for column in columns:
        settle(column, [0.0] * len(column))
    for step in range(RELAXATIONS):
        for column in columns if step % 2 == 0 else reversed(columns):
            wanted = []
            for node in column:
                near = [(other.y, _pull(node, other, len(other.right))) for other in node.left]
                near += [(other.y, _pull(node, other, len(other.left))) for other in node.right]
                total = sum(weight for _, weight in near)
                wanted.append(sum(y * weight for y, weight in near) / total if near else node.y)
            settle(column, wanted)


def _pull(node: Node, other: Node, fan: int) -> float:
    """Return how much `node` is drawn level with `other`: little, if that fans out to many."""
    return min(node.weight, other.weight) / fan**4


def straighten(chains: Sequence[list[Node]], columns: list[list[Node]]) -> None:
    """Level the nodes of each chain, in runs as long as the columns leave room for."""
    for chain in chains:
        run: list[Node] = []
        low, high = -inf, inf
        for node in chain:
            top, bottom = _room(node, columns[node.column])
            if max(low, top) > min(high, bottom):
                _level(run, low, high)
                run, low, high = [], -inf, inf
            run.append(node)
            low, high = max(low, top), min(high, bottom)
        _level(run, low, high)


def _room(node: Node, column: list[Node]) -> tuple[float, float]:
    """Return between which heights a node can move."""
    index = column.index(node)
    top, bottom = -inf, inf
    if index > 0:
        top = column[index - 1].y + _distance(column[index - 1], node)
    if index + 1 < len(column):
        bottom = column[index + 1].y - _distance(node, column[index + 1])
    return min(top, node.y), max(bottom, node.y)


def _level(run: list[Node], low: float, high: float) -> None:
    if run:
        mean = sum(node.y for node in run) / len(run)
        for node in run:
            node.y = max(low, min(high, mean))


def _distance(upper: Node, lower: Node) -> float:
    return upper.below + max(upper.clearance, lower.clearance) + lower.above


def settle(column: list[Node], wanted: list[float]) -> None:
    """Give the nodes the heights nearest to those wanted that keep their order and distances.

    With the distances taken off this is isotonic regression, which pooling adjacent violators solves.
    """
    offsets, offset = [], 0.0
    for index, node in enumerate(column):
        if index:
            offset += _distance(column[index - 1], node)
        offsets.append(offset)
    blocks: list[tuple[float, float, int]] = []
    for node, goal, offset in zip(column, wanted, offsets, strict=True):
        mean, weight, size = goal - offset, node.weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, other_weight, other_size = blocks.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight, size = weight + other_weight, size + other_size
        blocks.append((mean, weight, size))
    means = [mean for mean, _, size in blocks for _ in range(size)]
    for node, mean, offset in zip(column, means, offsets, strict=True):
        node.y = mean + offset


# Where the states and labels of a machine's picture go: a layered drawing from left to right.
#
# States stand in even columns, by their longest way from the initial state; the label of every
# edge stands in an odd column between them, and an edge that passes a column bends there
# (Sugiyama's method). As labels have places of their own, they cannot overlap, nor can an edge
# run through a state. Edges into the one failure state that many states lead to do not each
# travel there: they join a rail below the rest.


WIDEST: Final = 1500.0
"""A picture that would be wider than this is broken into rows, where few edges cross the break."""

RAIL_CLEARANCE: Final = 22.0
MOST_WRAPPED: Final = 3
"""Rows are broken only where at most this many edges go on in the next one."""

WRAP_PITCH: Final = 10.0
"""The distance between edges that go on in the next row."""


@dataclass(eq=False)
class Route:
    """The way of an edge: the nodes that it passes from left to right, its label among them."""

    source: int
    target: int
    label: Node
    chain: list[Node] = field(default_factory=list)
    backward: bool = False
    joins_rail: bool = False
    drops: bool = False
    """Whether it goes straight down from its state to the rail, with its label beside it."""


@dataclass(eq=False)
class MachineLayout:
    """The finished layout; columns are in rows of which most pictures have one."""

    states: Sequence[Node]
    routes: Sequence[Route]
    lane: int | None
    """The failure state at the end of the rail."""

    columns: list[list[Node]]
    rows: list[range]
    """The columns of each row."""

    rails: list[float] = field(default_factory=list)
    """The height of the rail in each row."""

    lefts: list[float] = field(default_factory=list)
    rights: list[float] = field(default_factory=list)
    """Where each column begins and ends."""

    def row(self, column: int) -> int:
        """Return the row of a column."""
        return next(index for index, row in enumerate(self.rows) if column in row)


def lay_out(
    states: Sequence[Node], routes: Sequence[Route], initial: int, lane: int | None
) -> MachineLayout:
    """Place all nodes; `lane` is the failure state to put at the end of a rail, if any."""
    running = [route for route in routes if route.target != lane]
    ranks, back = rank_states(len(states), initial, [(r.source, r.target) for r in running])
    if lane is not None:
        sources = [route.source for route in routes if route.target == lane]
        others = [ranks[state] for state in range(len(states)) if state != lane]
        ranks[lane] = max(*others, 1 + max(ranks[state] for state in sources))
    columns: list[list[Node]] = [[] for _ in range(2 * max(ranks) + 1)]
    for state, node in enumerate(states):
        node.column = 2 * ranks[state]
        if state != lane:
            columns[node.column].append(node)
    for route in routes:
        route.backward = (route.source, route.target) in back
        route.joins_rail = route.target == lane
    for route in sorted(routes, key=lambda route: (route.joins_rail, route.backward)):
        _thread(route, states, columns)
    order_columns(columns)
    lowest = {next((n for n in reversed(column) if n in states), None) for column in columns}
    for route in routes:
        if route.joins_rail and states[route.source] in lowest:
            lowest.remove(states[route.source])
            _drop(route, states, columns)
    set_heights(columns)
    straighten([route.chain for route in routes], columns)
    layout = MachineLayout(states, routes, lane, columns, [range(len(columns))])
    _place(layout)
    if layout.rights[-1] > WIDEST:
        layout.rows = _rows(layout)
        _place(layout)
    return layout


def _thread(route: Route, states: Sequence[Node], columns: list[list[Node]]) -> None:
    """Put the label and the bends of a route into the columns between its states."""
    first, last = states[route.source], states[route.target]
    if route.backward:
        first, last = last, first
    end = first.column + 2 if route.joins_rail else last.column
    between = range(first.column + 1, end)
    middle = between[len(between) // 2] | 1
    weight = 0.3 if route.backward or route.joins_rail else 6.0
    previous = first
    for column in between:
        node = route.label if column == middle else Node(0.0, 5.0, 5.0)
        node.column, node.weight = column, weight
        columns[column].append(node)
        route.chain.append(node)
        _link(previous, node)
        previous = node
    if not route.joins_rail:
        _link(previous, last)


def _link(left: Node, right: Node) -> None:
    left.right.append(right)
    right.left.append(left)


def _drop(route: Route, states: Sequence[Node], columns: list[list[Node]]) -> None:
    """Take a route's label out of the columns: it will stand beside the straight way to the rail."""
    source = states[route.source]
    columns[route.label.column].remove(route.label)
    source.right.remove(route.label)
    route.label.left.clear()
    route.label.column, route.chain, route.drops = source.column, [], True
    source.width = max(source.width, 2 * route.label.width + 16)


def _place(layout: MachineLayout) -> None:
    """Give every column its place and every row its height, and then the rail and its end."""
    layout.lefts, layout.rights, layout.rails = [], [], []
    top = 0.0
    for row in layout.rows:
        x = 0.0
        for index in row:
            width = max((node.width for node in _inhabitants(layout, index)), default=0.0)
            layout.lefts.append(x)
            layout.rights.append(x + width)
            for node in layout.columns[index]:
                node.x = x + width / 2
            x += width + _gap(layout, index)
        top = _place_row(layout, row, top)
    if layout.lane is not None:
        end = layout.states[layout.lane]
        end.x = (layout.lefts[end.column] + layout.rights[end.column]) / 2
        end.y = layout.rails[-1]
    for route in layout.routes:
        if route.drops:
            source = layout.states[route.source]
            route.label.x = source.x + 8 + route.label.width / 2
            route.label.y = layout.rails[layout.row(source.column)] - 10


def _place_row(layout: MachineLayout, row: range, top: float) -> float:
    """Move a row down to `top`, set the height of its rail, and return where the next one begins."""
    nodes = [node for index in row for node in layout.columns[index]]
    shift = top - min((node.y - node.above for node in nodes), default=0.0)
    for node in nodes:
        node.y += shift
    bottom = max((node.y + node.below for node in nodes), default=top)
    drops = [r.label.above for r in layout.routes if r.drops and r.label.column in row]
    rail = bottom
    if layout.lane is not None:
        rail += RAIL_CLEARANCE + max(drops, default=0.0)
        end = layout.states[layout.lane]
        if end.column in row:
            column = layout.columns[end.column]
            floor = max((node.y + node.below for node in column), default=top)
            rail = max(rail, floor + end.above + end.clearance)
    layout.rails.append(rail)
    crossing = len(crossings_of_break(layout, row.stop - 1))
    return rail + 40 + WRAP_PITCH * (crossing + 1)


def _inhabitants(layout: MachineLayout, column: int) -> list[Node]:
    lane = [] if layout.lane is None else [layout.states[layout.lane]]
    return layout.columns[column] + [node for node in lane if node.column == column]


def _gap(layout: MachineLayout, index: int) -> float:
    """Return the room after a column: more for edges that climb far."""
    climbs = [abs(o.y - node.y) for node in layout.columns[index] for o in node.right]
    joins = any(r.joins_rail and r.label.column == index and not r.drops for r in layout.routes)
    return max(26 + min(40.0, 0.25 * max(climbs, default=0.0)), 60.0 if joins else 0.0)


def crossings_of_break(layout: MachineLayout, column: int) -> list[tuple[Node, Node]]:
    """Return the links of routes from a column to the next one, from top to bottom."""
    links = [(node, other) for node in layout.columns[column] for other in node.right]
    return sorted(links, key=lambda link: (link[0].y, link[1].y))


def _rows(layout: MachineLayout) -> list[range]:
    """Break the columns into rows of like width, after states where few edges cross."""
    total, count = layout.rights[-1], len(layout.columns)
    wanted = total / (int(total / WIDEST) + 1)
    best: dict[int, tuple[float, list[range]]] = {0: (0.0, [])}
    for stop in [*range(3, count - 1, 2), count]:
        crossing = len(crossings_of_break(layout, stop - 1))
        if stop < count and crossing > MOST_WRAPPED:
            continue
        costs = {
            start: cost + (layout.rights[stop - 1] - layout.lefts[start] - wanted) ** 2
            for start, (cost, _) in best.items()
        }
        start = min(costs, key=lambda start: costs[start])
        best[stop] = costs[start] + 1.5e5 * crossing, [*best[start][1], range(start, stop)]
    return best[count][1]


# The lines of a machine's picture: how each edge runs from its state through the columns to the
# next.
#
# A path is a list of pieces, each a straight line (two points) or a cubic Bezier curve (four).


Point = tuple[float, float]
Piece = tuple[Point, ...]
CORNER: Final = 12.0
PORT_PITCH: Final = 14.0
JOIN: Final = 16.0
"""How far before the next column an edge joins the rail."""


@dataclass(frozen=True)
class Shape:
    """The outline of a state: a circle or a card, by its half extents."""

    half_width: float
    half_height: float
    round: bool

    def side(self, height: float) -> float:
        """Return how far the outline is to the side of its centre at a height above or below it."""
        if not self.round:
            return self.half_width
        return sqrt(max(0.0, self.half_width**2 - height**2))

    def top(self, offset: float) -> float:
        """Return how far the outline is above its centre at an offset to the side."""
        return self.side(offset) if self.round else self.half_height


class Paths:
    """The paths of all routes of a layout."""

    def __init__(self, layout: MachineLayout, shapes: Sequence[Shape]) -> None:
        self.layout = layout
        self.shapes = shapes
        self.ports: dict[tuple[Route, int], float] = {}
        """Where a route meets its state (from the side 0 left, 1 right of the route): y − the centre."""

        self._set_ports()

    def of(self, route: Route) -> list[Piece]:
        """Return the path of a route, from its source to its target or the rail."""
        source = self.layout.states[route.source]
        if route.drops:
            bottom = source.y + self.shapes[route.source].half_height
            rail = self._rail(source.column)
            end = (source.x + CORNER, rail)
            return _rounded([(source.x, bottom), (source.x, rail), end])
        pieces = self._rightwards(route)
        return [piece[::-1] for piece in reversed(pieces)] if route.backward else pieces

    def rail(self) -> list[Piece]:
        """Return the path of the rail, from where the first edge joins it to the failure state."""
        layout = self.layout
        if layout.lane is None:
            return []
        end = layout.states[layout.lane]
        joins = [self._join(route) for route in layout.routes if route.joins_rail]
        row, x = min((layout.row(column), x) for column, x in joins)
        last = layout.row(end.column)
        pieces: list[Piece] = []
        while row < last:
            column = layout.rows[row].stop - 1
            crossings = len(crossings_of_break(layout, column))
            start, stop = (x, layout.rails[row]), (-CORNER, layout.rails[row + 1])
            pieces += self._wrap(start, stop, row, crossings)
            row, x = row + 1, -CORNER
        port = end.x - self.shapes[layout.lane].half_width
        return [*pieces, ((x, end.y), (port, end.y))]

    def _join(self, route: Route) -> tuple[int, float]:
        """Return the column and the place where a route joins the rail."""
        if route.drops:
            source = self.layout.states[route.source]
            return source.column, source.x + CORNER
        column = route.chain[-1].column + 1
        return column, self.layout.lefts[column] - JOIN

    def _rail(self, column: int) -> float:
        return self.layout.rails[self.layout.row(column)]

    def _ends(self, route: Route) -> tuple[int, int]:
        return (route.target, route.source) if route.backward else (route.source, route.target)

    def _set_ports(self) -> None:
        """Spread the edges on each side of each state, level with where they go as far as possible."""
        sides: dict[tuple[int, int], list[tuple[float, Route]]] = {}
        for route in self.layout.routes:
            if route.chain:
                left, right = self._ends(route)
                sides.setdefault((left, 0), []).append((self._climb(left, route.chain[0]), route))
                if not route.joins_rail:
                    climb = self._climb(right, route.chain[-1])
                    sides.setdefault((right, 1), []).append((climb, route))
        for (state, end), routes in sides.items():
            routes.sort(key=lambda item: item[0])
            limit = 0.75 * self.shapes[state].half_height
            pitch = min(PORT_PITCH, 2 * limit / max(1, len(routes) - 1))
            ports = [
                Node(0.0, pitch / 2, pitch / 2, 0.0, route.label.weight) for _, route in routes
            ]
            settle(ports, [_gentle(climb) for climb, _ in routes])
            for index, (_, route) in enumerate(routes):
                lowest = limit - (len(routes) - 1 - index) * pitch
                self.ports[route, end] = max(-limit + index * pitch, min(lowest, ports[index].y))

    def _climb(self, state: int, node: Node) -> float:
        """Return how far it is from a state down to a node beside it; nothing to another row."""
        here = self.layout.states[state]
        same = self.layout.row(here.column) == self.layout.row(node.column)
        return node.y - here.y if same else 0.0

    def _rightwards(self, route: Route) -> list[Piece]:
        layout = self.layout
        left, right = self._ends(route)
        first, last = layout.states[left], layout.states[right]
        port = self.ports[route, 0]
        x = first.x + self.shapes[left].side(port)
        flats = [(x, layout.rights[first.column], first.y + port, first.column)]
        for node in route.chain:
            span = layout.lefts[node.column], layout.rights[node.column]
            flats.append((*span, node.y, node.column))
        if route.joins_rail:
            column = flats[-1][3] + 1
            x = layout.lefts[column] - JOIN
            flats.append((x, x, self._rail(column), column))
        else:
            port = self.ports[route, 1]
            x = last.x - self.shapes[right].side(port)
            flats.append((layout.lefts[last.column], x, last.y + port, last.column))
        nodes = [first, *route.chain, last]
        pieces: list[Piece] = []
        for index, (start, end, y, column) in enumerate(flats):
            if index:
                _, x, previous_y, previous = flats[index - 1]
                link = (nodes[index - 1], nodes[index])
                pieces += self._across((x, previous_y), (start, y), previous, column, link)
            if end > start:
                pieces.append(((start, y), (end, y)))
        return pieces

    def _across(
        self, start: Point, end: Point, column: int, following: int, link: tuple[Node, Node]
    ) -> list[Piece]:
        """Return the way from one column to the next, which may be in the next row."""
        row = self.layout.row(column)
        if row != self.layout.row(following):
            crossings = crossings_of_break(self.layout, column)
            return self._wrap(start, end, row, crossings.index(link))
        middle = (start[0] + end[0]) / 2
        return [(start, (middle, start[1]), (middle, end[1]), end)]

    def _wrap(self, start: Point, end: Point, row: int, place: int) -> list[Piece]:
        """Return the way from the end of a row to the start of the next; nested, so none crosses."""
        layout = self.layout
        column = layout.rows[row].stop - 1
        outer = len(crossings_of_break(layout, column)) - place
        right = max(layout.rights[index] for index in layout.rows[row]) + 16 + WRAP_PITCH * outer
        left = -16.0 - WRAP_PITCH * place
        middle = layout.rails[row] + 22 + WRAP_PITCH * outer
        corners = [(right, start[1]), (right, middle), (left, middle), (left, end[1])]
        return _rounded([start, *corners, end])


def _gentle(climb: float) -> float:
    """Return the port for an edge that climbs: level if it hardly does, else a little that way."""
    return copysign(min(abs(climb), 6 + 0.15 * abs(climb)), climb)


def _rounded(points: list[Point]) -> list[Piece]:
    """Return the straight lines through `points` with rounded corners."""
    pieces: list[Piece] = []
    here = points[0]
    for corner, following in pairwise(points[1:]):
        before = _towards(corner, here)
        after = _towards(corner, following)
        pieces.append((here, before))
        controls = [
            tuple((p + 2 * c) / 3 for p, c in zip(q, corner, strict=True)) for q in (before, after)
        ]
        pieces.append(
            (before, (controls[0][0], controls[0][1]), (controls[1][0], controls[1][1]), after)
        )
        here = after
    pieces.append((here, points[-1]))
    return [piece for piece in pieces if piece[0] != piece[-1]]


def _towards(start: Point, end: Point) -> Point:
    """Return the point at most a corner's radius, and half the way, from `start` to `end`."""
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])
    share = min(CORNER / length, 1.0) if length else 0.0
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
