"""Named places on a map: which of them a pose is in, and which a way passes through.

This is the labelling function of a robot on a map, for every pose and not only for the centres of
cells: what a domain and a bridge both go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.yaml_file import MapError, check_keys, number, numbers, read_yaml
from skm_sim.spec import name_problems

# The shapes of places, with exact geometry: circles and polygons, closed sets of the plane.
#
# Points are arrays `(n, 2)` in metres of the map frame. A segment is given by its ends, and what
# lies on it by the parameter t from 0 to 1.


BLOCK: Final = 500_000
"""So many pairs of a point and an edge are compared at once: memory."""


class Shape(Protocol):
    """A part of the plane."""

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in it, its edge included."""
        ...

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far the points are from it; 0 within."""
        ...

    def crossings(self, start: FloatArray, end: FloatArray) -> list[float]:
        """Return the t at which one segment meets its edge."""
        ...

    def meets(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments have a point in it."""
        ...

    def holds(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments lie in it as a whole; those that touch its edge may be left out."""
        ...

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y."""
        ...


@dataclass(frozen=True)
class Circle:
    """All points within `radius` of (x, y)."""

    x: float
    y: float
    radius: float

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in it, its edge included."""
        return self._squared(points) <= self.radius**2

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far the points are from it; 0 within."""
        return np.maximum(np.sqrt(self._squared(points)) - self.radius, 0.0)

    def _squared(self, points: FloatArray) -> FloatArray:
        away = points - (self.x, self.y)
        squared: FloatArray = (away**2).sum(axis=-1)
        return squared

    def crossings(self, start: FloatArray, end: FloatArray) -> list[float]:
        """Return the t at which one segment meets its edge."""
        along, away = end - start, start - (self.x, self.y)
        a, b, c = along @ along, along @ away, away @ away - self.radius**2
        root = float(b * b - a * c)
        if a == 0 or root < 0:
            return []
        both = float((-b - root**0.5) / a), float((-b + root**0.5) / a)
        return [t for t in both if 0 <= t <= 1]

    def meets(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments have a point in it."""
        centre = np.array([[self.x, self.y]])
        return segment_distance(centre, starts, ends) <= self.radius

    def holds(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments lie in it as a whole."""
        return self.contains(starts) & self.contains(ends)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y."""
        r = self.radius
        return self.x - r, self.y - r, self.x + r, self.y + r


@dataclass(frozen=True)
class Polygon:
    """What a closed line encloses (by the even-odd rule), the line included."""

    corners: tuple[tuple[float, float], ...]
    _starts: FloatArray = field(init=False, repr=False, compare=False)
    _ends: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = np.array(self.corners, np.float64)
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "_ends", np.roll(starts, -1, axis=0))

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in it, its edge included."""
        points = np.asarray(points, np.float64)
        flat, block = points.reshape(-1, 2), max(1, BLOCK // len(self.corners))
        found = [self._contains(flat[at : at + block]) for at in range(0, len(flat), block)]
        return np.concatenate([np.zeros(0, np.bool_), *found]).reshape(points.shape[:-1])

    def _contains(self, points: FloatArray) -> BoolArray:
        """Tell which points `(n, 2)` lie in it: all of them are compared with all edges at once."""
        x, y = points.T
        (x0, y0), (x1, y1) = self._starts.T[..., None], self._ends.T[..., None]
        side = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
        spans = (y0 > y) != (y1 > y)
        inside: BoolArray = np.logical_xor.reduce(spans & ((side > 0) == (y1 > y0)), axis=0)
        near = (np.minimum(x0, x1) <= x) & (x <= np.maximum(x0, x1))
        near &= (np.minimum(y0, y1) <= y) & (y <= np.maximum(y0, y1))
        inside |= (near & (side == 0)).any(axis=0)
        return inside

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far the points are from it; 0 within."""
        points = np.asarray(points, np.float64)
        least = np.full(points.shape[:-1], np.inf)
        for start, end in zip(self._starts, self._ends, strict=True):
            least = np.minimum(least, segment_distance(points, start, end))
        least[self.contains(points)] = 0.0
        return least

    def crossings(self, start: FloatArray, end: FloatArray) -> list[float]:
        """Return the t at which one segment meets its edge."""
        along, edges, away = end - start, self._ends - self._starts, self._starts - start
        cross = along[0] * edges[:, 1] - along[1] * edges[:, 0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = (away[:, 0] * edges[:, 1] - away[:, 1] * edges[:, 0]) / cross
            u = (away[:, 0] * along[1] - away[:, 1] * along[0]) / cross
        hit = (cross != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
        found: list[float] = t[hit].tolist()
        length = along @ along
        if length > 0:  # along an edge, its corners are where things change
            on_line = (cross == 0) & (along[0] * away[:, 1] == along[1] * away[:, 0])
            ends = np.concatenate([self._starts[on_line], self._ends[on_line]])
            found += [float(s) for s in (ends - start) @ along / length if 0 <= s <= 1]
        return found

    def meets(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments have a point in it."""
        return self.contains(starts) | self._edge_met(starts, ends)

    def holds(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments lie in it as a whole, and touch no edge."""
        return self.contains(starts) & ~self._edge_met(starts, ends)

    def _edge_met(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which segments meet an edge that is not parallel to them."""
        found = np.zeros(len(starts), np.bool_)
        along = ends - starts
        for corner, after in zip(self._starts, self._ends, strict=True):
            edge, away = after - corner, corner - starts
            cross = along[:, 0] * edge[1] - along[:, 1] * edge[0]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                t = (away[:, 0] * edge[1] - away[:, 1] * edge[0]) / cross
                u = (away[:, 0] * along[:, 1] - away[:, 1] * along[:, 0]) / cross
            found |= (cross != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
        return found

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y."""
        (x0, y0), (x1, y1) = self._starts.min(axis=0).tolist(), self._starts.max(axis=0).tolist()
        return x0, y0, x1, y1


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Polygon:
    """Return the rectangle with two opposite corners there, along the axes of the map frame."""
    return Polygon(((x0, y0), (x1, y0), (x1, y1), (x0, y1)))


def segment_distance(points: FloatArray, starts: FloatArray, ends: FloatArray) -> FloatArray:
    """Return how far points are from segments; the arrays are broadcast."""
    along, away = ends - starts, points - starts
    length = np.maximum((along**2).sum(axis=-1), 1e-300)
    t = np.clip((along * away).sum(axis=-1) / length, 0.0, 1.0)
    gap = away - t[..., None] * along
    distance: FloatArray = np.sqrt((gap**2).sum(axis=-1))
    return distance


LEAST_STRETCH: Final = 1e-9
"""Parts of a way that are shorter than this share of it are rounding."""


@dataclass(frozen=True)
class Places:
    """Shapes by name, in metres of the map frame; a name may have several, and they may overlap."""

    shapes: Mapping[str, tuple[Shape, ...]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order: the propositions of a map's domain."""
        return tuple(self.shapes)

    @cached_property
    def _boxed(self) -> tuple[tuple[int, Shape, tuple[float, float, float, float]], ...]:
        """Every shape with the number of its name, and the box around it."""
        return tuple(
            (index, shape, shape.bounds)
            for index, shapes in enumerate(self.shapes.values())
            for shape in shapes
        )

    def labels_at(self, x: float, y: float) -> frozenset[str]:
        """Return the names of all places that the point lies in, edges included."""
        point = np.array([[x, y]])
        return frozenset(
            self.names[index]
            for index, shape, (left, low, right, high) in self._boxed
            if left <= x <= right and low <= y <= high and shape.contains(point)[0]
        )

    def labels_of(self, points: FloatArray) -> BoolArray:
        """Return for `(n, 2)` points which places they lie in, `(n, names)`."""
        found = np.zeros((len(points), len(self.names)), np.bool_)
        for index, shapes in enumerate(self.shapes.values()):
            for shape in shapes:
                found[:, index] |= shape.contains(points)
        return found

    def distances(self, points: FloatArray) -> FloatArray:
        """Return for `(n, 2)` points how far each place is in metres, `(n, names)`; 0 within."""
        found = np.full((len(points), len(self.names)), np.inf)
        for index, shapes in enumerate(self.shapes.values()):
            for shape in shapes:
                found[:, index] = np.minimum(found[:, index], shape.distance(points))
        return found

    def label_sets_along(
        self, x0: float, y0: float, x1: float, y1: float
    ) -> tuple[frozenset[str], ...]:
        """Return the label sets that the straight way from one point to another passes through.

        In order, those of both ends included, neighbours different. It is exact: the way is cut
        where it meets the edge of a place, so nothing that it crosses is missed. A place that it
        only touches in one point, between its ends, does not count.
        """
        start, end = np.array([x0, y0]), np.array([x1, y1])
        near = [
            (index, shape)
            for index, shape, (left, low, right, high) in self._boxed
            if min(x0, x1) <= right
            and max(x0, x1) >= left
            and min(y0, y1) <= high
            and max(y0, y1) >= low
        ]
        if not near:
            return (frozenset(),)
        cuts = {0.0, 1.0}
        for _, shape in near:
            cuts.update(shape.crossings(start, end))
        ordered = np.array(sorted(cuts))
        long = np.diff(ordered) > LEAST_STRETCH
        middles = (ordered[:-1] + ordered[1:])[long] / 2
        points = np.concatenate([[start], start + middles[:, None] * (end - start), [end]])
        sets: list[frozenset[str]] = []
        found = np.zeros((len(points), len(self.names)), np.bool_)
        for index, shape in near:
            found[:, index] |= shape.contains(points)
        for row in found.tolist():
            names = frozenset(name for name, true in zip(self.names, row, strict=True) if true)
            if not sets or sets[-1] != names:
                sets.append(names)
        return tuple(sets)

    def plain_ways(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which straight ways `(n, 2)` to `(n, 2)` show nothing beyond what their ends show.

        On a plain way each place is entered or left at most because an end lies in it: none is
        crossed that neither end is in, and none is left for a while that both ends are in.
        """
        plain = np.ones(len(starts), np.bool_)
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        for shapes in self.shapes.values():
            at_start, at_end = np.zeros(len(starts), np.bool_), np.zeros(len(starts), np.bool_)
            crossed, held = np.zeros_like(plain), np.zeros_like(plain)
            for shape in shapes:
                x0, y0, x1, y1 = shape.bounds
                near = np.flatnonzero(
                    (low[:, 0] <= x1) & (high[:, 0] >= x0) & (low[:, 1] <= y1) & (high[:, 1] >= y0)
                )
                at_start[near] |= shape.contains(starts[near])
                at_end[near] |= shape.contains(ends[near])
                crossed[near] |= shape.meets(starts[near], ends[near])
                held[near] |= shape.holds(starts[near], ends[near])
            plain &= ~(crossed & ~at_start & ~at_end)
            for index in np.flatnonzero(at_start & at_end & ~held):
                plain[index] &= _stays_in(shapes, starts[index], ends[index])
        return plain


def _stays_in(shapes: tuple[Shape, ...], start: FloatArray, end: FloatArray) -> bool:
    """Tell whether a way with both ends in the union of shapes never leaves it."""
    cuts = np.array(sorted({0.0, 1.0, *(t for s in shapes for t in s.crossings(start, end))}))
    middles = ((cuts[:-1] + cuts[1:]) / 2)[np.diff(cuts) > LEAST_STRETCH]
    points = start + middles[:, None] * (end - start)
    covered = np.zeros(len(points), np.bool_)
    for shape in shapes:
        covered |= shape.contains(points)
    return bool(covered.all())


# The places file: what a map's rooms are called, and which robot drives there.
#
#     places:
#       kitchen: [{rectangle: [0.5, 4.5, 3.5, 7.0]}]
#       charger: [{pose: [9.0, 1.0, 1.57], radius: 0.4}]
#       wet_floor: [{circle: [5, 3, 0.6]}, {polygon: [[6, 3], [7, 3], [6.5, 4]]}]
#     constraints: [wet_floor]
#     robot: {radius: 0.22, speed: 0.5, margin: 0.0}
#     cell: 0.25
#     neighbours: 8
#
# Everything is in metres of the map frame (speed: metres a second). A name may have several
# shapes, and shapes may overlap. `places` is needed, the rest is as above if it is left out, with
# no constraints. `margin` is how far the planner keeps the robot's centre from constraints that
# would fail a mission, where there is another way: for robots that stray from their path.


KEYS: Final = ("places", "constraints", "robot", "cell", "neighbours")
ROBOT_KEYS: Final = ("radius", "speed", "margin")
SHAPE_KEYS: Final = ("circle", "rectangle", "polygon", "pose", "radius")

MOST_CONSTRAINTS: Final = 32


@dataclass(frozen=True)
class PlacesFile:
    """What a places file says."""

    places: Places
    constraints: tuple[str, ...] = ()
    robot_radius: float = 0.22
    robot_speed: float = 0.5
    """Metres a second, for estimates of how long a way takes."""
    robot_margin: float = 0.0
    """Metres that are kept from constraints which would fail a mission."""
    cell: float = 0.25
    neighbours: int = 8


def read_places(path: Path | str) -> PlacesFile:
    """Read a places file, or say what is wrong with it."""
    path = Path(path)
    given = read_yaml(path)
    check_keys(given, KEYS, str(path))
    places = _places(given.get("places"), str(path))
    constraints = given.get("constraints") or []
    if not isinstance(constraints, list):
        raise MapError(f"{path}: constraints must be a list of places, such as [wet_floor].")
    for name in constraints:
        if name not in places.names:
            raise MapError(
                f"{path}: the constraint '{name}' is not a place{did_you_mean(str(name), places.names)}"
            )
    if len(constraints) > MOST_CONSTRAINTS:
        raise MapError(
            f"{path}: there are {len(constraints)} constraints, {MOST_CONSTRAINTS} at most."
        )
    problems = name_problems(places.names, tuple(constraints))
    if problems:
        raise MapError(f"{path}: {' '.join(problems)}")
    robot = given.get("robot") or {}
    if not isinstance(robot, dict):
        raise MapError(f"{path}: robot must be such as {{radius: 0.22}}, not {robot!r}.")
    check_keys(robot, ROBOT_KEYS, f"{path}: robot")
    neighbours = given.get("neighbours", PlacesFile.neighbours)
    if neighbours not in (4, 8):
        raise MapError(f"{path}: neighbours must be 4 or 8, not {neighbours!r}.")
    return PlacesFile(
        places,
        tuple(constraints),
        _size(robot, "radius", PlacesFile.robot_radius, f"{path}: robot: radius"),
        _size(robot, "speed", PlacesFile.robot_speed, f"{path}: robot: speed"),
        _margin(robot, f"{path}: robot: margin"),
        _size(given, "cell", PlacesFile.cell, f"{path}: cell"),
        neighbours,
    )


def _size(given: dict[str, Any], key: str, default: float, where: str) -> float:
    return number(given[key], where, positive=True) if key in given else default


def _margin(robot: dict[str, Any], where: str) -> float:
    margin = number(robot.get("margin", PlacesFile.robot_margin), where)
    if margin < 0:
        raise MapError(f"{where} must not be less than 0, it is {margin}.")
    return margin


def _places(given: object, where: str) -> Places:
    if not isinstance(given, dict) or not given:
        raise MapError(
            f"{where}: places must name at least one, such as"
            " `places: {kitchen: [{circle: [1.0, 2.0, 0.5]}]}`."
        )
    shapes: dict[str, tuple[Shape, ...]] = {}
    for name, entries in given.items():
        listed = entries if isinstance(entries, list) else [entries]
        if not listed or not all(isinstance(entry, dict) for entry in listed):
            raise MapError(
                f"{where}: place '{name}' must be a list of shapes, such as"
                f" [{{circle: [1.0, 2.0, 0.5]}}], not {entries!r}."
            )
        shapes[str(name)] = tuple(_shape(entry, f"{where}: place '{name}'") for entry in listed)
    return Places(shapes)


def _shape(given: dict[str, Any], where: str) -> Shape:
    check_keys(given, SHAPE_KEYS, where)
    kinds = [key for key in given if key != "radius"]
    if len(kinds) != 1 or ("radius" in given) != (kinds == ["pose"]):
        raise MapError(
            f"{where}: a shape is one of {{circle: [x, y, r]}}, {{rectangle: [x0, y0, x1, y1]}},"
            " {polygon: [[x, y], …]} or {pose: [x, y, yaw], radius: r}, not"
            f" {given!r}."
        )
    kind = kinds[0]
    if kind == "circle":
        x, y, radius = numbers(given[kind], "x, y, r", f"{where}: circle")
        return Circle(x, y, number(radius, f"{where}: circle: r", positive=True))
    if kind == "pose":
        x, y, _ = numbers(given[kind], "x, y, yaw", f"{where}: pose")
        return Circle(x, y, number(given["radius"], f"{where}: radius", positive=True))
    if kind == "rectangle":
        x0, y0, x1, y1 = numbers(given[kind], "x0, y0, x1, y1", f"{where}: rectangle")
        if x0 == x1 or y0 == y1:
            raise MapError(f"{where}: the rectangle {given[kind]!r} has no area.")
        return rectangle(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    corners = given[kind]
    if not isinstance(corners, list) or len(corners) < 3:
        raise MapError(
            f"{where}: polygon must have three corners [x, y] at least, not {corners!r}."
        )
    points = [
        numbers(corner, "x, y", f"{where}: polygon: corner {i}")
        for i, corner in enumerate(corners, 1)
    ]
    return Polygon(tuple((x, y) for x, y in points))
