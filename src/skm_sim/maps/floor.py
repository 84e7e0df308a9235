"""The floor of a map as cells: where a robot can stand, and how it can go from cell to cell.

The cells are squares along the rows and columns of the map's image, from its lower left corner. A
cell is floor if a robot whose centre is in the cell's centre touches nothing; a move leads from
centre to centre, straight, and is there if the robot touches nothing on the way, if no place is
crossed unseen (`Places.plain_ways`) and, for a diagonal one, if both corners that it passes are
floor. Of the floor, the largest connected part is kept. Every move is one step, whatever its length;
`step_lengths` has the metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.maps.occupancy import Clearance, Frame, OccupancyMap
from skm_sim.maps.places import Places
from skm_sim.maps.yaml_file import MapError

DIRECTIONS: Final = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""The moves as (columns, rows): right, up, left, down of the image, then the diagonals."""
NO_CELL: Final = -1
MOST_CELLS: Final = 4_000_000


@dataclass(frozen=True, eq=False)
class Floor:
    """Cells by number, from 0; arrays of points are `(n, 2)` in metres of the map frame."""

    frame: Frame
    cell: float
    """Metres a cell's side."""
    number: IntArray
    """`[row, column]` of the whole grid: the number of the cell, −1 where there is no floor."""
    positions: IntArray
    """`(cells, 2)`: row and column of each cell."""
    moves: IntArray
    """`(cells, 4 or 8)`: the cell that each of `DIRECTIONS` leads to; the same cell if none does."""

    @property
    def num_cells(self) -> int:
        """How many cells there are."""
        return len(self.positions)

    @cached_property
    def centres(self) -> FloatArray:
        """`(cells, 2)`: the centre of each cell."""
        return self.frame.to_frame((self.positions[:, ::-1] + 0.5) * self.cell)

    def cells_at(self, points: ArrayLike) -> IntArray:
        """Return the cell that each point lies in; −1 where there is no floor."""
        inner = self.frame.to_inner(points)
        column, row = np.moveaxis(np.floor(inner / self.cell).astype(np.int64), -1, 0)
        rows, columns = self.number.shape
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        found = self.number[np.where(inside, row, 0), np.where(inside, column, 0)]
        return np.where(inside, found, NO_CELL)

    def cell_at(self, x: float, y: float) -> int:
        """Return the cell of a pose, or −1."""
        return int(self.cells_at([[x, y]])[0])

    def nearest_cell(self, x: float, y: float) -> tuple[int, float]:
        """Return the cell whose centre is nearest to a pose, and how far that is in metres."""
        gaps = ((self.centres - (x, y)) ** 2).sum(axis=1)
        cell = int(gaps.argmin())
        return cell, float(gaps[cell] ** 0.5)

    @property
    def step_lengths(self) -> FloatArray:
        """The metres of each move."""
        directions = np.array(DIRECTIONS[: self.moves.shape[1]])
        lengths: FloatArray = self.cell * np.sqrt((directions**2).sum(axis=1))
        return lengths


def make_floor(
    occupancy: OccupancyMap, places: Places, *, cell: float, radius: float, neighbours: int = 8
) -> Floor:
    """Return the floor for a robot of that radius, in cells of that size."""
    if neighbours not in (4, 8):
        raise MapError(f"moves lead to 4 or 8 neighbours, not {neighbours}.")
    standing, centres, clearance = _standing(occupancy, cell, radius)
    rows, columns = standing.shape
    row, column = (axis.reshape(-1) for axis in np.indices((rows, columns)))
    open_moves = _open_moves(standing, centres, clearance, radius, places)
    kept = _largest_part(np.flatnonzero(standing), open_moves[:, :neighbours])
    number = np.full(rows * columns, NO_CELL)
    number[kept] = np.arange(len(kept))
    moves = open_moves[kept, :neighbours]
    moves = number[np.where(moves < 0, kept[:, None], moves)]
    positions = np.stack([row[kept], column[kept]], axis=1)
    return Floor(occupancy.frame, cell, number.reshape(rows, columns), positions, moves)


def standing_squares(occupancy: OccupancyMap, *, cell: float, radius: float) -> BoolArray:
    """Return `[row, column]` where a robot of that radius touches nothing, also where it is cut off."""
    return _standing(occupancy, cell, radius)[0]


def _standing(
    occupancy: OccupancyMap, cell: float, radius: float
) -> tuple[BoolArray, FloatArray, Clearance]:
    """Return where a robot can stand, the centres of all squares, and how far obstacles are."""
    width, height = occupancy.size
    columns, rows = int(np.ceil(width / cell)), int(np.ceil(height / cell))
    if rows * columns > MOST_CELLS:
        raise MapError(
            f"the map has {columns} × {rows} cells of {cell} m, more than {MOST_CELLS:,}: make the"
            " cells larger."
        )
    if 2 * radius >= min(width, height):
        raise MapError(
            f"a robot of radius {radius} m fits nowhere on a map of {width:.1f} × {height:.1f} m."
        )
    clearance = Clearance(occupancy, max(radius, occupancy.resolution) + 2 * occupancy.resolution)
    row, column = (axis.reshape(-1) for axis in np.indices((rows, columns)))
    centres = occupancy.frame.to_frame((np.stack([column, row], axis=1) + 0.5) * cell)
    standing = clearance.at_least(centres, radius)
    if not standing.any():
        raise MapError(
            f"a robot of radius {radius} m fits nowhere on this map with cells of {cell} m: check"
            " the radius, the resolution and the thresholds."
        )
    return standing.reshape(rows, columns), centres, clearance


def _open_moves(
    standing: BoolArray,
    centres: FloatArray,
    clearance: Clearance,
    radius: float,
    places: Places,
) -> IntArray:
    """Return where each direction leads from every square of the grid; −1 where it is not open."""
    rows, columns = standing.shape
    targets = np.full((rows * columns, len(DIRECTIONS)), NO_CELL)
    row, column = np.nonzero(standing)
    here = row * columns + column
    for index in (0, 1, 4, 5):  # the other half are these, back
        right, up = DIRECTIONS[index]
        r, c = row + up, column + right
        inside = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
        inside[inside] = standing[r[inside], c[inside]]
        if right and up:
            inside[inside] = standing[row[inside], c[inside]] & standing[r[inside], column[inside]]
        start, end = here[inside], (r * columns + c)[inside]
        good = clearance.ways(centres[start], centres[end], radius)
        start, end = start[good], end[good]
        good = places.plain_ways(centres[start], centres[end])
        start, end = start[good], end[good]
        targets[start, index] = end
        targets[end, index + 2] = start
    return targets


def _largest_part(standing: IntArray, targets: IntArray) -> IntArray:
    """Return the largest set of grid squares that are connected by moves, in order."""
    label = np.full(len(targets), NO_CELL)
    label[standing] = standing
    sources = [np.flatnonzero(targets[:, k] >= 0) for k in range(targets.shape[1])]
    while True:
        before = label.copy()
        for k, source in enumerate(sources):  # the least number spreads, by leaps
            label[source] = np.minimum(label[source], label[targets[source, k]])
        label[standing] = label[label[standing]]
        if np.array_equal(before, label):
            break
    names, counts = np.unique(label[standing], return_counts=True)
    part: IntArray = standing[label[standing] == names[counts.argmax()]]
    return part
