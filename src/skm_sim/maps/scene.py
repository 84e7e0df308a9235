"""A building as shapes for 3D views and pictures of runs: walls, places, the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray
from skm_sim.maps.building import Building
from skm_sim.maps.places import Circle
from skm_sim.scene import ROBOT_NAME, Shape

COLOURS: Final = (
    (0.36, 0.61, 0.84), (0.93, 0.68, 0.34), (0.49, 0.74, 0.52), (0.65, 0.53, 0.78),
    (0.36, 0.72, 0.72), (0.85, 0.56, 0.67), (0.70, 0.70, 0.40), (0.60, 0.48, 0.40),
)  # fmt: skip
FORBIDDEN: Final = (0.80, 0.25, 0.22)
WALL: Final = (0.35, 0.38, 0.42, 1.0)
ROBOT: Final = (0.11, 0.44, 0.85, 1.0)
ROBOTS: Final = (
    ROBOT[:3], (0.85, 0.37, 0.01), (0.12, 0.55, 0.24), (0.60, 0.20, 0.60), (0.75, 0.60, 0.10),
    (0.20, 0.60, 0.65),
)  # fmt: skip
"""Colours of a team's robots."""
MOST_DOTS: Final = 200
"""Dots of a robot's way that are shown."""
MOST_WALLS: Final = 600


def place_colour(building: Building, name: str) -> tuple[float, float, float]:
    """Return the colour of a place: red for constraints."""
    if name in building.file.constraints:
        return FORBIDDEN
    return COLOURS[building.places.names.index(name) % len(COLOURS)]


def building_scene(building: Building, pose: tuple[float, float]) -> list[Shape]:
    """Return the shapes, the robot where it is now."""
    radius = building.file.robot_radius
    robot = Shape("robot", "cylinder", (*pose, 0.15), (2 * radius, 2 * radius, 0.3), ROBOT)
    return [*_fixed(building), robot]


def team_scene(
    building: Building,
    robots: Mapping[str, tuple[float, float]],
    ways: Mapping[str, Sequence[tuple[float, float]]],
) -> list[Shape]:
    """Return the shapes of a building with several robots, and the way that each is to go, as dots."""
    radius = building.file.robot_radius
    plans, bodies, names = list[Shape](), list[Shape](), list[Shape]()
    for number, (name, (x, y)) in enumerate(robots.items()):
        colour = ROBOTS[number % len(ROBOTS)]
        bodies.append(
            Shape("robot", "cylinder", (x, y, 0.15), (2 * radius, 2 * radius, 0.3), (*colour, 1.0))
        )
        text = (0.0, 0.0, 1.2 * radius)
        names.append(Shape(ROBOT_NAME, "text", (x, y, 0.4), text, (0.1, 0.1, 0.1, 1.0), text=name))
        size = (0.5 * radius, 0.5 * radius, 0.02)
        for place in ways.get(name, ())[:MOST_DOTS]:
            plans.append(Shape(f"way of {name}", "cylinder", (*place, 0.02), size, (*colour, 0.6)))
    return [*_fixed(building), *plans, *names, *bodies]


@lru_cache(maxsize=4)
def _fixed(building: Building) -> list[Shape]:
    return [*_walls(building), *_places(building)]


def _places(building: Building) -> list[Shape]:
    """Return discs for circles and, for polygons, the boxes around them."""
    shapes = []
    for name, parts in building.places.shapes.items():
        colour = (*place_colour(building, name), 0.5)
        for part in parts:
            x0, y0, x1, y1 = part.bounds
            kind = "cylinder" if isinstance(part, Circle) else "cube"
            middle = (x0 + x1) / 2, (y0 + y1) / 2, 0.01
            shapes.append(Shape(name, kind, middle, (x1 - x0, y1 - y0, 0.02), colour))  # type: ignore[arg-type]
        text = Shape("name", "text", middle, (0.0, 0.0, 0.3), (0.1, 0.1, 0.1, 1.0), text=name)
        shapes.append(text)
    return shapes


def _walls(building: Building) -> list[Shape]:
    """Return the obstacles next to free floor as boxes: rows of squares, as coarse as it takes."""
    occupancy = building.occupancy
    coarse = 1
    while True:
        blocked = _edges(~_coarser(occupancy.free, coarse))
        runs = _runs(blocked)
        if len(runs) <= MOST_WALLS:
            break
        coarse *= 2
    side = occupancy.resolution * coarse
    boxes = []
    for row, first, last in runs:
        inner = (first + last) / 2 * side, (row + 0.5) * side
        x, y = occupancy.frame.to_frame(inner).tolist()
        size = (last - first) * side, side, 0.5
        boxes.append(Shape("wall", "cube", (x, y, 0.25), size, WALL, heading=occupancy.frame.yaw))
    return boxes


def _coarser(free: BoolArray, factor: int) -> BoolArray:
    """Return the map with squares of `factor` pixels a side, free if any of them is."""
    rows, columns = (-(-length // factor) * factor for length in free.shape)
    padded = np.zeros((rows, columns), np.bool_)
    padded[: free.shape[0], : free.shape[1]] = free
    blocks = padded.reshape(rows // factor, factor, columns // factor, factor)
    coarser: BoolArray = np.any(blocks, axis=(1, 3))
    return coarser


def _edges(blocked: BoolArray) -> BoolArray:
    """Return the blocked squares that have a free one beside them."""
    free = np.pad(~blocked, 1)
    beside = free[:-2, 1:-1] | free[2:, 1:-1] | free[1:-1, :-2] | free[1:-1, 2:]
    edges: BoolArray = blocked & beside
    return edges


def _runs(blocked: BoolArray) -> list[tuple[int, int, int]]:
    """Return rows of blocked squares as (row, first column, the one after the last)."""
    change = np.diff(np.pad(blocked, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, first = np.nonzero(change == 1)
    last = np.nonzero(change == -1)[1]
    return list(zip(row.tolist(), first.tolist(), last.tolist(), strict=True))
