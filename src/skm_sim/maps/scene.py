"""A building as shapes for 3D views and pictures of runs: walls, places, the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray
from skm_sim.maps.building import Building
from skm_sim.maps.places import Circle
from skm_sim.maps.places import Shape as PlaceShape
from skm_sim.scene import ROBOT_NAME, Shape

COLOURS: Final = (
    (0.36, 0.61, 0.84), (0.93, 0.68, 0.34), (0.49, 0.74, 0.52), (0.65, 0.53, 0.78),
    (0.36, 0.72, 0.72), (0.85, 0.56, 0.67), (0.70, 0.70, 0.40), (0.60, 0.48, 0.40),
)  # fmt: skip
FORBIDDEN: Final = (0.80, 0.25, 0.22)
WALL: Final = (0.24, 0.27, 0.33, 1.0)
ROBOT: Final = (0.11, 0.44, 0.85, 1.0)
ROBOTS: Final = (
    ROBOT[:3], (0.85, 0.37, 0.01), (0.12, 0.55, 0.24), (0.60, 0.20, 0.60), (0.75, 0.60, 0.10),
    (0.20, 0.60, 0.65),
)  # fmt: skip
"""Colours of a team's robots."""
MOST_DOTS: Final = 200
"""Dots of a robot's way that are shown."""
MOST_WALLS: Final = 600
NAME_SIZE: Final = (0.12, 0.3)
"""Metres that a name needs to each side for a letter, and above and below."""
MOST_TRIED: Final = 500
"""Cells in which a name is tried."""
WALL_WIDTH: Final = 0.15
"""Metres of wall that are drawn around all that is free."""


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
    """Return discs for circles and, for polygons, the boxes around them; each with its name."""
    shapes = []
    for name, parts in building.places.shapes.items():
        colour = (*place_colour(building, name), 0.5)
        for part in parts:
            x0, y0, x1, y1 = part.bounds
            kind = "cylinder" if isinstance(part, Circle) else "cube"
            middle = (x0 + x1) / 2, (y0 + y1) / 2, 0.01
            shapes.append(Shape(name, kind, middle, (x1 - x0, y1 - y0, 0.02), colour))  # type: ignore[arg-type]
            where = (*room_for(building, name, part), 0.01)
            ink = (0.1, 0.1, 0.1, 1.0)
            shapes.append(Shape("name", "text", where, (0.0, 0.0, 0.3), ink, text=name))
    return shapes


def room_for(building: Building, name: str, part: PlaceShape) -> tuple[float, float]:
    """Return where in a part of a place its name has most room: free cells, in no other place.

    It is the middle, or else the cell nearest to it of those with more room.
    """
    x0, y0, x1, y1 = part.bounds
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
    others = [column for column, other in enumerate(building.places.names) if other != name]
    centres = building.floor.centres
    free = centres[part.contains(centres) & ~building.labels[:, others].any(axis=1)]
    if not len(free):
        return float(middle[0]), float(middle[1])
    tried = np.vstack([middle, free[:: -(-len(free) // MOST_TRIED)]])
    box = len(name) * NAME_SIZE[0], NAME_SIZE[1]
    room = (np.abs(tried[:, None] - free[None]) <= box).all(axis=2).sum(axis=1)
    best = tried[room == room.max()]
    x, y = best[np.argmin(np.hypot(*(best - middle).T))].tolist()
    return x, y


def _walls(building: Building) -> list[Shape]:
    """Return what is not free as boxes: rectangles of squares, as coarse as it takes."""
    occupancy = building.occupancy
    coarse = 1
    while True:
        blocked = ~_coarser(occupancy.free, coarse)
        rectangles = _rectangles(blocked & _around(~blocked, WALL_WIDTH / occupancy.resolution))
        if len(rectangles) <= MOST_WALLS:
            break
        coarse *= 2
    side = occupancy.resolution * coarse
    boxes = []
    for top, bottom, first, last in rectangles:
        inner = (first + last) / 2 * side, (top + bottom) / 2 * side
        x, y = occupancy.frame.to_frame(inner).tolist()
        size = (last - first) * side, (bottom - top) * side, 0.5
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


def _around(free: BoolArray, squares: float) -> BoolArray:
    """Return the squares of the rectangle around all that is free, and of a wall around that."""
    inside = np.zeros_like(free)
    rows, columns = np.nonzero(free)
    if len(rows):
        wall = max(1, round(squares))
        low, high = max(0, rows.min() - wall), rows.max() + wall + 1
        left, right = max(0, columns.min() - wall), columns.max() + wall + 1
        inside[low:high, left:right] = True
    return inside


def _rectangles(blocked: BoolArray) -> list[tuple[int, int, int, int]]:
    """Return blocked squares as (first row, the one after the last, and the same of columns)."""
    found = []
    open_since: dict[tuple[int, int], int] = {}
    for row in range(len(blocked) + 1):
        change = np.diff(np.pad(blocked[row : row + 1].any(axis=0), 1).astype(np.int8))
        ends = np.flatnonzero(change == 1).tolist(), np.flatnonzero(change == -1).tolist()
        runs = set(zip(*ends, strict=True))
        for first, last in open_since.keys() - runs:
            found.append((open_since.pop((first, last)), row, first, last))
        for run in runs:
            open_since.setdefault(run, row)
    return sorted(found)
