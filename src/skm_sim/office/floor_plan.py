"""The map of the Office Gridworld: what one sees below is what the agent walks on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from skm_sim.arrays import IntArray
from skm_sim.domain import DomainError

Position: TypeAlias = tuple[int, int]
"""(row, column), counted from 0 at the top left corner of the outer wall."""

OFFICE_DRAWING = """
#################
#   #   #   #   #
# A   d   d   B #
#   #c  #   #   #
## ### ### ### ##
#   #   #   #   #
# d # o # m # d #
#   #   #   #   #
## ########### ##
#   #   #  c#   #
# D   d   d   C #
#   #   #   #   #
#################
""".strip("\n")

LEGEND = {
    "A": "A",
    "B": "B",
    "C": "C",
    "D": "D",
    "d": "decoration",
    "c": "coffee",
    "m": "mail",
    "o": "office",
}
"""The proposition that each letter of the drawing stands for; `#` is a wall, a blank is floor."""

ACTIONS = ("up", "right", "down", "left")
MOVES: tuple[Position, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""The (row, column) change of each action, in the order of `ACTIONS`."""


@dataclass(frozen=True)
class GridMap:
    """A drawing read as a map: free cells are numbered row by row, from the top left."""

    drawing: str

    def __post_init__(self) -> None:
        lines = self.drawing.split("\n")
        if len({len(line) for line in lines}) != 1:
            raise DomainError("a map's lines must all have the same length.")
        border = lines[0] + lines[-1] + "".join(line[0] + line[-1] for line in lines)
        if set(border) != {"#"}:
            raise DomainError("a map must be closed: its first and last row and column are walls.")
        unknown = sorted(set(self.drawing) - set(LEGEND) - set("# \n"))
        if unknown:
            raise DomainError(f"unknown letters {unknown} in a map; known: {[*LEGEND, '#', ' ']}.")
        if not self.positions:
            raise DomainError("a map must have a free cell.")

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The lines of the drawing, from the top."""
        return tuple(self.drawing.split("\n"))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, the outer wall included."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The (row, column) of every free cell, in the order of the cell indices."""
        return tuple(
            (row, column)
            for row, line in enumerate(self.rows)
            for column, letter in enumerate(line)
            if letter != "#"
        )

    @cached_property
    def _indices(self) -> dict[Position, int]:
        return {position: cell for cell, position in enumerate(self.positions)}

    @property
    def num_cells(self) -> int:
        """The number of free cells."""
        return len(self.positions)

    def cell_at(self, position: Position) -> int:
        """Return the index of the free cell at (row, column)."""
        cell = self._indices.get((int(position[0]), int(position[1])))
        if cell is None:
            row, column = position
            rows, columns = self.shape
            inside = 0 <= row < rows and 0 <= column < columns
            where = "a wall" if inside else f"outside the map of {rows} rows and {columns} columns"
            raise DomainError(f"(row, column) = ({row}, {column}) is {where}, not a free cell.")
        return cell

    def places(self, proposition: str) -> tuple[Position, ...]:
        """Return where the objects of a kind stand."""
        return tuple(
            (row, column)
            for row, column in self.positions
            if LEGEND.get(self.rows[row][column]) == proposition
        )

    @cached_property
    def transitions(self) -> IntArray:
        """`(cells, actions)`: the cell that each move leads to; a wall keeps the agent in place."""
        table = np.empty((self.num_cells, len(MOVES)), np.int64)
        for cell, (row, column) in enumerate(self.positions):
            for action, (down, right) in enumerate(MOVES):
                table[cell, action] = self._indices.get((row + down, column + right), cell)
        table.setflags(write=False)
        return table


OFFICE_MAP = GridMap(OFFICE_DRAWING)
