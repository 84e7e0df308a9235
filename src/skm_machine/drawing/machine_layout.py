"""Where the states and labels of a machine's picture go: a layered drawing from left to right.

States stand in even columns, by their longest way from the initial state; the label of every edge
stands in an odd column between them, and an edge that passes a column bends there (Sugiyama's method).
As labels have places of their own, they cannot overlap, nor can an edge run through a state. Edges into
the one failure state that many states lead to do not each travel there: they join a rail below the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from skm_machine.drawing.layering import Node, order_columns, rank_states, set_heights, straighten

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
