"""Pictures of a building: map, places, cells, paths, and value functions over the floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle as Disc
from matplotlib.patches import Polygon as Outline
from matplotlib.transforms import Affine2D

from skm_sim import artists
from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.artists import ValuePanel
from skm_sim.maps.building import Building
from skm_sim.maps.places import Circle, Polygon
from skm_sim.maps.scene import place_colour, room_for

# Pictures of a building: the map, its places by name, the cells, and paths over them.


LONGEST: Final = 9.0
"""Inches of the picture's longer side."""
WALL: Final = to_rgb(artists.WALL)
UNKNOWN: Final = (0.80, 0.81, 0.83)
PATH: Final = artists.ROBOT


def draw_building(axes: Axes, building: Building, *, cells: bool = True) -> None:
    """Draw the map, the places and, if wanted, the cells that the robot can be in."""
    occupancy = building.occupancy
    picture = np.ones((*occupancy.values.shape, 3))
    picture[occupancy.values < 0] = UNKNOWN
    picture[(occupancy.values >= 0) & ~occupancy.free] = WALL
    width, height = occupancy.size
    frame = occupancy.frame
    placed = Affine2D().rotate(frame.yaw).translate(frame.x, frame.y) + axes.transData
    extent = (0, width, 0, height)
    axes.imshow(picture, origin="lower", extent=extent, transform=placed, interpolation="nearest")
    corners = frame.to_frame(np.array([[0, 0], [width, 0], [width, height], [0, height]]))
    axes.set(xlim=_limits(corners[:, 0]), ylim=_limits(corners[:, 1]))
    if cells:
        side = building.floor.cell * 72 * _inches_per_metre(axes, corners)
        x, y = building.floor.centres.T
        axes.scatter(x, y, s=(0.32 * side) ** 2, c="#9fb7d3", lw=0, zorder=1)
    for name in building.places.names:
        _draw_place(axes, building, name)
    axes.set_aspect("equal")
    axes.set(xlabel="x (m)", ylabel="y (m)")


def _draw_place(axes: Axes, building: Building, name: str) -> None:
    colour = place_colour(building, name)
    forbidden = name in building.file.constraints
    look: dict[str, Any] = {
        "fc": (*colour, 0.35), "ec": colour, "lw": 1.2, "zorder": 2,
        "hatch": "///" if forbidden else None,
    }  # fmt: skip
    unreachable = " (unreachable)" if name in building.unreachable else ""
    for shape in building.places.shapes[name]:
        if isinstance(shape, Circle):
            axes.add_patch(Disc((shape.x, shape.y), shape.radius, **look))
        elif isinstance(shape, Polygon):
            axes.add_patch(Outline(shape.corners, **look))
        x, y = room_for(building, name, shape)
        axes.text(
            x, y, name + unreachable, ha="center", va="center", size=8,
            zorder=6, clip_on=True, bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 1},
        )  # fmt: skip


def building_figure(building: Building, title: str = "", *, cells: bool = True) -> Figure:
    """Return a figure with the building in it."""
    width, height = building.occupancy.size
    scale = LONGEST / max(width, height)
    size = max(3.0, width * scale) + 0.8, max(2.5, height * scale) + 0.8
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    draw_building(axes, building, cells=cells)
    axes.set_title(title, size=9, loc="left")
    return figure


def draw_path(axes: Axes, building: Building, cells: Sequence[int], colour: str = PATH) -> None:
    """Draw a path of cells: a ring at its start, a dot where the robot is."""
    points = building.floor.centres[np.asarray(cells, np.int64) % building.floor.num_cells]
    axes.plot(*points.T, color=colour, lw=2, zorder=4, solid_joinstyle="round")
    axes.plot(*points[0], "o", mfc="white", mec=colour, ms=7, mew=1.6, zorder=5)
    axes.plot(*points[-1], "o", mfc=colour, mec="white", ms=8, zorder=5)


class MapRenderer:
    """Draws the building once, and then a path over it as often as it is asked to."""

    def __init__(self, building: Building) -> None:
        self._building = building
        self._figure = building_figure(building, cells=False)
        self._figure.set_dpi(80)
        self._canvas = FigureCanvasAgg(self._figure)
        self._canvas.draw()  # type: ignore[no-untyped-call]
        self._figure.set_layout_engine("none")

    def picture(self, path: Sequence[int]) -> ByteArray:
        """Return the building with a path of cells."""
        axes = self._figure.axes[0]
        before = len(axes.lines)
        draw_path(axes, self._building, path)
        self._canvas.draw()  # type: ignore[no-untyped-call]
        picture = np.array(self._canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
        for line in list(axes.lines)[before:]:
            line.remove()
        return picture


def _limits(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _inches_per_metre(axes: Axes, corners: FloatArray) -> float:
    figure = axes.get_figure()
    assert figure is not None
    width, height = (figure.get_size_inches() - 0.8).tolist()  # type: ignore[union-attr]
    across, up = np.ptp(corners, axis=0).tolist()
    return float(min(width / across, height / up))


# Value functions over the floor of a building.


COLUMNS: Final = 3
WIDTH: Final = 4.2
FAINTEST: Final = 1e-3


def draw_values(env: gymnasium.Env[Any, Any], panels: Sequence[ValuePanel]) -> Figure:
    """Return a map a primitive: the value of each cell, γ to the steps that the place is away."""
    building = env.building  # type: ignore[attr-defined]
    width, height = building.occupancy.size
    rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
    size = WIDTH * columns, (WIDTH * height / width + 0.5) * rows
    figure = Figure(figsize=size, layout="constrained")
    x, y = building.floor.centres.T
    for number, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, columns, number)
        draw_building(axes, building, cells=False)
        values = panel.values[: len(x)]  # with no fact of actions
        shown = values > 0
        dots = axes.scatter(
            x[shown], y[shown], c=values[shown], s=6, marker="s", lw=0, zorder=1,
            norm=LogNorm(FAINTEST, 1), cmap="viridis",
        )  # fmt: skip
        axes.set_title(panel.title, size=9, loc="left")
        axes.set(xlabel="", ylabel="", xticks=[], yticks=[])
    figure.colorbar(dots, ax=figure.axes, label="value", shrink=0.6)
    return figure
