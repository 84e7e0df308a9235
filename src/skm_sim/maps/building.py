"""A building: a map, its places and its floor together, and what of the places can be reached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.actions import ActionSpec, ActionWorld, action_world, facts_of
from skm_sim.maps.floor import Floor, make_floor
from skm_sim.maps.occupancy import Clearance, OccupancyMap, read_map
from skm_sim.maps.places import Places, PlacesFile, Shape, read_places
from skm_sim.maps.yaml_file import MapError


@dataclass(frozen=True, eq=False)
class Building:
    """What a domain on a map knows; poses are in metres of the map frame."""

    occupancy: OccupancyMap
    file: PlacesFile
    floor: Floor
    actions: tuple[ActionSpec, ...] = ()
    """What the robot can do beside going."""

    @property
    def places(self) -> Places:
        """The named places."""
        return self.file.places

    @cached_property
    def labels(self) -> BoolArray:
        """`(cells, places)`: the labels of each cell, which are those of its centre."""
        return self.places.labels_of(self.floor.centres)

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """What actions achieve and undo: propositions beside the places."""
        return facts_of(self.actions)

    @cached_property
    def world(self) -> ActionWorld:
        """Cells times facts; without actions the cells alone. A state is `facts × cells + cell`."""
        return action_world(self.floor.moves, self.labels, self.places.names, self.actions)

    @cached_property
    def near(self) -> NDArray[np.uint32]:
        """`(cells,)`: bits over the constraints that a cell is not in, but within the margin of."""
        columns = [self.places.names.index(name) for name in self.file.constraints]
        distance = self.places.distances(self.floor.centres)[:, columns]
        close = (distance <= self.file.robot_margin) & ~self.labels[:, columns]
        bits = close.astype(np.uint32) << np.arange(len(columns), dtype=np.uint32)
        joined: NDArray[np.uint32] = bits.sum(axis=1, dtype=np.uint32)
        return joined

    @cached_property
    def label_sets(self) -> tuple[frozenset[str], ...]:
        """The different label sets that cells show."""
        rows = np.unique(self.labels, axis=0).tolist()
        names = self.places.names
        return tuple(
            frozenset(name for name, true in zip(names, row, strict=True) if true) for row in rows
        )

    @cached_property
    def _clearance(self) -> Clearance:
        return Clearance(self.occupancy, self.file.robot_radius + 2 * self.occupancy.resolution)

    def has_room(self, points: FloatArray) -> BoolArray:
        """Tell at which points the robot may be in truth, its size given; a map errs by a pixel.

        The floor's cells leave out much of that, since each is floor or not as a whole.
        """
        room = self.file.robot_radius - self.occupancy.resolution
        return self._clearance.at_least(points, max(0.0, room))

    @cached_property
    def unreachable(self) -> dict[str, str]:
        """The places that no robot can reach, and why."""
        return {
            name: self._reason(name)
            for name, shown in zip(
                self.places.names, np.any(self.labels, axis=0).tolist(), strict=True
            )
            if not shown
        }

    def _reason(self, name: str) -> str:
        """Say why no cell lies in a place."""
        occupancy, cell = self.occupancy, self.file.cell
        points = np.concatenate([_points_in(shape) for shape in self.places.shapes[name]])
        column, row = (
            np.floor(occupancy.frame.to_inner(points) / occupancy.resolution).astype(int).T
        )
        rows, columns = occupancy.values.shape
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        if not inside.any():
            return "off the map"
        free = occupancy.free[row[inside], column[inside]]
        if not free.any():
            return "in walls or where the map is unknown"
        if (self.floor.cells_at(points) >= 0).any():
            return f"too small for cells of {cell} m: no cell's centre lies in it"
        radius = self.file.robot_radius
        return f"cut off, or too close to walls, for a robot of radius {radius} m"


def make_building(map_path: Path | str, file: PlacesFile | Path | str) -> Building:
    """Read a map and its places, and work out the floor."""
    given = file if isinstance(file, PlacesFile) else read_places(file)
    occupancy = read_map(map_path)
    floor = make_floor(
        occupancy,
        given.places,
        cell=given.cell,
        radius=given.robot_radius,
        neighbours=given.neighbours,
    )
    building = Building(occupancy, given, floor)
    if not building.labels.any():
        reasons = "; ".join(f"{name}: {why}" for name, why in building.unreachable.items())
        raise MapError(f"no place can be reached on this map: {reasons}.")
    return building


def _points_in(shape: Shape) -> FloatArray:
    """Return a few hundred points of a shape."""
    x0, y0, x1, y1 = shape.bounds
    x, y = np.meshgrid(np.linspace(x0, x1, 25), np.linspace(y0, y1, 25))
    points = np.stack([x.reshape(-1), y.reshape(-1)], axis=1)
    return points[shape.contains(points)]
