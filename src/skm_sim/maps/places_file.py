"""The places file: what a map's rooms are called, and which robot drives there.

    places:
      kitchen: [{rectangle: [0.5, 4.5, 3.5, 7.0]}]
      charger: [{pose: [9.0, 1.0, 1.57], radius: 0.4}]
      wet_floor: [{circle: [5, 3, 0.6]}, {polygon: [[6, 3], [7, 3], [6.5, 4]]}]
    constraints: [wet_floor]
    robot: {radius: 0.22, speed: 0.5, margin: 0.0}
    cell: 0.25
    neighbours: 8

Everything is in metres of the map frame (speed: metres a second). A name may have several shapes,
and shapes may overlap. `places` is needed, the rest is as above if it is left out, with no
constraints. `margin` is how far the planner keeps the robot's centre from constraints that would fail
a mission, where there is another way: for robots that stray from their path.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import did_you_mean
from skm_sim.domain import name_problems
from skm_sim.maps.place_shapes import Circle, Polygon, Shape, rectangle
from skm_sim.maps.places import Places
from skm_sim.maps.yaml_file import MapError, check_keys, number, numbers, read_yaml

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
    """Metres a second, for people: how long a way takes."""
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
                f"{path}: the constraint '{name}' is no place{did_you_mean(str(name), places.names)}"
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
