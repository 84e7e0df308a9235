"""A board of Moving Targets as shapes for 3D views: one metre a cell, the board's first row on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skm_sim.arrays import IntArray
from skm_sim.moving_targets.board import (
    AGENT,
    BOARD,
    KINDS,
    OBJECTS,
    POSITIONS,
    SIZE,
    States,
)
from skm_sim.moving_targets.view import COLOURS
from skm_sim.shapes import Kind, Shape, Triple

FLOOR = (0.98, 0.97, 0.94, 1.0)
WALL = (0.24, 0.27, 0.33, 1.0)
ROBOT = (0.13, 0.16, 0.19, 1.0)
TILE: Final = 0.96
OBJECT: Final = 0.7
"""Width of an object, as in the agent's view."""
SOLIDS: Final[dict[str, Kind]] = {"square": "cube", "circle": "cylinder"}


def board_scene(state: States) -> list[Shape]:
    """Return the floor, the walls, the objects of one state where they are now, and the agent."""
    shapes = [
        Shape("wall", "cube", _at((row, column), 0.2), (TILE, TILE, 0.4), WALL)
        if cell == "#"
        else Shape("floor", "cube", _at((row, column), -0.05), (TILE, TILE, 0.1), FLOOR)
        for row, cells in enumerate(BOARD)
        for column, cell in enumerate(cells)
    ]
    shapes += [object_shape(kind, cell) for kind, cell in enumerate(state[OBJECTS].tolist())]
    agent = _at(POSITIONS[state[AGENT]], 0.3)
    return [*shapes, Shape("robot", "sphere", agent, (0.5, 0.5, 0.5), ROBOT)]


def object_shape(kind: int, cell: int) -> Shape:
    """Return an object of a kind in a cell."""
    colour, shape = KINDS[kind]
    red, green, blue = (part / 255 for part in COLOURS[colour])
    centre, size = _at(POSITIONS[cell], 0.1), (OBJECT, OBJECT, 0.2)
    return Shape(f"{colour} {shape}", SOLIDS[shape], centre, size, (red, green, blue, 1.0))


def _at(position: Sequence[int] | IntArray, height: float) -> Triple:
    row, column = position
    return float(column), float(SIZE - 1 - row), height
