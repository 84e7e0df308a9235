"""The office as shapes for 3D views: one metre a cell, the map's first row on top."""

from __future__ import annotations

from collections.abc import Sequence

from skm_sim.office.floor_plan import LEGEND, GridMap, Position
from skm_sim.shapes import Shape, Triple

COLOURS: dict[str, tuple[float, float, float]] = {
    "coffee": (0.55, 0.35, 0.24),
    "mail": (0.88, 0.56, 0.11),
    "office": (0.12, 0.48, 0.55),
    "decoration": (0.31, 0.62, 0.29),
}
OTHER = (0.42, 0.30, 0.58)
FLOOR = (0.98, 0.97, 0.94, 1.0)
ABSORBING = (0.95, 0.71, 0.67, 1.0)
ROBOT = (0.82, 0.20, 0.36, 1.0)
INK = (0.13, 0.16, 0.19, 1.0)


def office_scene(grid: GridMap, absorbing: Sequence[Position], cell: int) -> list[Shape]:
    """Return floor, objects with their names, and the robot in its cell."""
    shapes = [
        Shape(
            "floor",
            "cube",
            _at(grid, position, -0.05),
            (0.96, 0.96, 0.1),
            ABSORBING if position in absorbing else FLOOR,
        )
        for position in grid.positions
    ]
    for proposition in LEGEND.values():
        colour = (*COLOURS.get(proposition, OTHER), 0.9)
        for position in grid.places(proposition):
            shapes.append(
                Shape(proposition, "cylinder", _at(grid, position, 0.1), (0.6, 0.6, 0.2), colour)
            )
            shapes.append(
                Shape("names", "text", _at(grid, position, 0.5), (0, 0, 0.3), INK, text=proposition)
            )
    robot = _at(grid, grid.positions[cell], 0.25)
    return [*shapes, Shape("robot", "sphere", robot, (0.5, 0.5, 0.5), ROBOT)]


def _at(grid: GridMap, position: Position, height: float) -> Triple:
    row, column = position
    return float(column), float(grid.shape[0] - 1 - row), height
