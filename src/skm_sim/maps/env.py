"""A robot that goes from cell to cell of a building."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.building import Building
from skm_sim.maps.scene import building_scene
from skm_sim.maps.spec import load_building
from skm_sim.scene import Shape
from skm_sim.spec import DomainError
from skm_sim.tabular import DrawnTabularEnv, PathRenderer, TabularModel, TabularVectorEnv


@lru_cache(maxsize=4)
def building_model(building: Building) -> TabularModel:
    """Return a building as arrays: a state is a cell, with the facts of its actions if it has any."""
    cells = np.arange(len(building.world.moves))
    return TabularModel(
        propositions=(*building.places.names, *building.facts),
        constraints=building.file.constraints,
        transitions=building.world.moves,
        cells=cells,
        labels=building.world.labels,
        start_states=cells.copy(),
    )


class MapEnv(DrawnTabularEnv):
    """The building in a folder, with one robot. Observation: the cell; actions: `DIRECTIONS`.

    Declared actions (`skm_sim.maps.actions`) come after these, and succeed at once; what is observed
    then is `facts × cells + cell`, and no fact holds at the start.

    Reset options: `{"cell": number}`, or `{"start": [x, y]}` in metres of the map frame. With
    `render_mode="rgb_array"`, `render()` draws the map, the places and the path of this episode.
    """

    def __init__(self, folder: str, render_mode: str | None = None) -> None:
        self.building = load_building(Path(folder))
        super().__init__(building_model(self.building), render_mode)

    @property
    def pose(self) -> tuple[float, float]:
        """The centre of the robot's cell, in metres of the map frame."""
        x, y = self.building.floor.centres[
            self.state_index % self.building.floor.num_cells
        ].tolist()
        return x, y

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start in a cell drawn at random, or as the options say."""
        given = with_cell(self.building, options)
        if self.building.facts and not given:
            gymnasium.Env.reset(self, seed=seed)
            seed, given = (
                None,
                {"cell": int(self.np_random.integers(self.building.floor.num_cells))},
            )
        return super().reset(seed=seed, options=given)

    def _make_renderer(self) -> PathRenderer:
        from skm_sim.maps.drawing import MapRenderer  # noqa: PLC0415 (matplotlib is slow)

        return MapRenderer(self.building)

    @property
    def positions(self) -> FloatArray:
        """`(states, 2)`: where each observed state is, in metres of the map frame."""
        copies = len(self.building.world.moves) // self.building.floor.num_cells
        return np.tile(self.building.floor.centres, (copies, 1))

    def scene(self) -> list[Shape]:
        """Return the building as shapes for 3D views."""
        return building_scene(self.building, self.pose)


class MapVectorEnv(TabularVectorEnv):
    """A batch of robots, each in a copy of the building."""

    def __init__(
        self, folder: str, num_envs: int = 1, max_episode_steps: int | None = None
    ) -> None:
        self._building = load_building(folder)
        super().__init__(building_model(self._building), num_envs, max_episode_steps)

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        """Put the robots in `mask` in the cells given, or in cells drawn at random; no fact holds."""
        if self._building.facts and "cell" not in options:
            cells = self.np_random.integers(self._building.floor.num_cells, size=self.num_envs)
            options = {**options, "cell": cells}
        super()._start(mask, options)


def with_cell(building: Building, options: dict[str, Any] | None) -> dict[str, Any]:
    """Return the reset options with `start`, a pose, replaced by its cell."""
    given = dict(options or {})
    if "start" not in given:
        return given
    if "cell" in given:
        raise DomainError("reset options 'start' and 'cell' say the same thing; give one of them.")
    start = np.asarray(given.pop("start"))
    if start.dtype.kind not in "iuf" or start.shape != (2,):
        raise DomainError(f"reset option 'start' must be [x, y] in metres, got {start.tolist()!r}.")
    x, y = (float(value) for value in start)
    cell = building.floor.cell_at(x, y)
    if cell < 0:
        near, _ = building.floor.nearest_cell(x, y)
        there = ", ".join(f"{value:.2f}" for value in building.floor.centres[near])
        raise DomainError(
            f"the robot cannot stand at ({x:g}, {y:g}): there is no floor, or it is too close to"
            f" a wall. The nearest cell is at ({there})."
        )
    given["cell"] = cell
    return given
