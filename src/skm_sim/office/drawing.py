"""Pictures of the office with matplotlib: the map, and on it values, policies, paths, the agent.

`draw_office` is what every plot of this domain is made of. Nothing here touches pyplot's global
state, so it can be used from threads, tests and nodes alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray

from skm_sim.arrays import ByteArray
from skm_sim.office.floor_plan import LEGEND, MOVES, OFFICE_MAP, GridMap, Position
from skm_sim.office.icons import draw_icon
from skm_sim.office.paths import draw_agent, draw_path

WALL = "#3d4653"
FLOOR = "#faf7f0"
LINES = "#e6e0d4"
ABSORBING = "#f2b5ab"
PATH_COLOURS = ("#d1345b", "#1f7a8c", "#e08e1b", "#6a4c93", "#4f9d4a", "#8c5a3c")
INK = "#222831"
LUMINANCE = np.array([0.3, 0.59, 0.11])
CUT = 0.6
"""How much of the outer wall, in cells, is left out of the picture."""
HEAT = LinearSegmentedColormap.from_list(
    "skm_heat", ["#fbf6ea", "#fbe3a6", "#f7b267", "#ea6f52", "#b8336a", "#6a2c70"]
)


def extent(grid: GridMap) -> tuple[float, float]:
    """Return the width and height of the picture of a map, in cells."""
    rows, columns = grid.shape
    return columns - 2 * CUT, rows - 2 * CUT


def draw_office(
    axes: Axes,
    grid: GridMap = OFFICE_MAP,
    *,
    absorbing: Sequence[Position] = (),
    values: NDArray[np.floating] | None = None,
    actions: NDArray[np.integer] | None = None,
    norm: Normalize | None = None,
    paths: Sequence[Sequence[int]] = (),
    agent: int | None = None,
) -> ScalarMappable:
    """Draw the office into `axes`, with whatever of the following is given on top.

    `values[cell]`: a heat map (not-a-number leaves the floor bare; `norm` defaults to 0..1).
    `actions[cell]`: an arrow a cell for the policy, none where negative. `paths`: cell indices
    visited, one colour a path. `agent`: the cell where the agent stands.
    Returns what a colour bar of the heat map needs.
    """
    norm = norm or Normalize(0.0, 1.0)
    colours = ScalarMappable(norm, HEAT)
    rows, columns = grid.shape
    axes.set(xlim=(CUT - 0.5, columns - 0.5 - CUT), ylim=(rows - 0.5 - CUT, CUT - 0.5))
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)

    axes.set_facecolor(WALL)
    floor = to_rgba_array(
        [ABSORBING if position in set(absorbing) else FLOOR for position in grid.positions]
    )
    if values is not None:
        finite = np.isfinite(values)
        floor[finite] = colours.to_rgba(np.asarray(values)[finite])
    centres = np.array(grid.positions)[:, None, ::-1]
    squares = centres + np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    axes.add_collection(
        PolyCollection(squares, facecolors=floor, edgecolors=LINES, linewidths=0.4, zorder=1)
    )
    if values is not None:
        for row, column in absorbing:
            axes.add_artist(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False,
                                     ec="#c0392b", lw=1.2, zorder=2))  # fmt: skip

    arrows = np.full(grid.num_cells, -1) if actions is None else np.asarray(actions)
    for proposition in LEGEND.values():
        for row, column in grid.places(proposition):
            clear = arrows[grid.cell_at((row, column))] < 0
            if clear and values is not None:
                axes.add_artist(Circle((column, row), 0.46, fc=FLOOR, ec="none", zorder=2.5))
            draw_icon(axes, proposition, column, row, alpha=1.0 if clear else 0.3)
    _draw_arrows(axes, grid, arrows, floor)
    for index, path in enumerate(paths):
        colour = PATH_COLOURS[index % len(PATH_COLOURS)]
        draw_path(axes, grid, path, colour, index)
    if agent is not None:
        draw_agent(axes, grid, agent)
    return colours


def _draw_arrows(
    axes: Axes, grid: GridMap, actions: NDArray[np.integer], floor: NDArray[np.floating]
) -> None:
    """Draw the policy: an arrow in every cell whose action is not negative."""
    cells = np.flatnonzero(actions >= 0)
    if not len(cells):
        return
    row, column = np.array(grid.positions)[cells].T
    down, right = np.array(MOVES)[actions[cells]].T
    axes.quiver(
        column, row, right, down, angles="xy", scale_units="xy", scale=1 / 0.62, pivot="mid",
        units="xy", width=0.085, headwidth=4.2, headlength=4, headaxislength=3.6, zorder=4,
        color=np.where(floor[cells, :3] @ LUMINANCE > 0.45, INK, "#ffffff").tolist(),
    )  # fmt: skip


class OfficeRenderer:
    """Pictures of an episode for `OfficeEnv.render`; the map itself is drawn only once."""

    def __init__(
        self, grid: GridMap, absorbing: Sequence[Position] = (), pixels_per_cell: int = 40
    ) -> None:
        width, height = extent(grid)
        self._grid = grid
        self._figure = Figure(figsize=(width, height), dpi=pixels_per_cell)
        self._canvas = FigureCanvasAgg(self._figure)
        self._axes = self._figure.add_axes((0, 0, 1, 1))
        draw_office(self._axes, grid, absorbing=absorbing)
        self._canvas.draw()  # type: ignore[no-untyped-call]
        self._background = self._canvas.copy_from_bbox(self._figure.bbox)  # type: ignore[no-untyped-call]

    def picture(self, path: Sequence[int]) -> ByteArray:
        """Return the map with the path so far and the agent at its end, `(height, width, 3)`."""
        before = set(self._axes.get_children())
        if path:
            draw_path(self._axes, self._grid, path, PATH_COLOURS[0], end=False)
            draw_agent(self._axes, self._grid, path[-1])
        self._canvas.restore_region(self._background)  # type: ignore[no-untyped-call]
        added = [artist for artist in self._axes.get_children() if artist not in before]
        for artist in sorted(added, key=lambda artist: artist.get_zorder()):
            self._axes.draw_artist(artist)
            artist.remove()
        pixels = np.asarray(self._canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        return pixels[:, :, :3].copy()
