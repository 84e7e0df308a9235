"""The lines of a machine's picture: how each edge runs from its state through the columns to the next.

A path is a list of pieces, each a straight line (two points) or a cubic Bezier curve (four).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import copysign, sqrt
from typing import Final

from skm_machine.drawing.layering import Node, settle
from skm_machine.drawing.machine_layout import WRAP_PITCH, MachineLayout, Route, crossings_of_break

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
