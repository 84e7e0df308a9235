"""Pictures of the office with matplotlib: the map, and on it values, policies, paths, the agent.

`draw_office` is what every plot of this domain is made of. Nothing here touches pyplot's global
state, so it can be used from threads, tests and nodes alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, Ellipse, FancyBboxPatch, Polygon, Rectangle
from matplotlib.transforms import Affine2D, Transform
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import SkmError
from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.artists import STATE_COLOURS, WALL
from skm_sim.office.env import LEGEND, MOVES, OFFICE_MAP, GridMap, Position

# Small vector drawings of what stands in the office: cup, envelope, desk, plant, room letters.


COFFEE = "#6f4327"
MAIL = "#b57a12"
OFFICE = "#2f5d8a"
LEAF = "#3b8a4c"
POT = "#bf5f3c"
ROOM = "#5b4b8a"
PAPER = "#fffdf8"

Icon = Callable[[Axes, Transform, float], None]


def draw_icon(axes: Axes, proposition: str, x: float, y: float, alpha: float = 1.0) -> None:
    """Draw the object of a proposition into the unit cell around (x, y); y grows downwards."""
    # An icon is drawn with y upwards from -0.5 to 0.5, and flipped into the axes here.
    place = Affine2D().scale(1, -1).translate(x, y) + axes.transData
    _ICONS[proposition](axes, place, alpha)


def draw_symbol(axes: Axes, proposition: str, x: float, y: float) -> None:
    """Draw the object of a proposition into a scene from above, where y grows upwards."""
    _ICONS[proposition](axes, Affine2D().translate(x, y) + axes.transData, 1.0)


def _polygon(
    axes: Axes, place: Transform, points: Sequence[tuple[float, float]], colour: str, alpha: float
) -> None:
    patch = Polygon(points, closed=True, fc=colour, ec="none", alpha=alpha, zorder=3)
    patch.set_transform(place)
    axes.add_artist(patch)


def _stroke(
    axes: Axes, place: Transform, points: Sequence[tuple[float, float]], colour: str, alpha: float
) -> None:
    # The width follows the size of a cell, so that small panels do not get fat icons.
    width = line_width(axes, 0.055)
    x, y = zip(*points, strict=True)
    axes.plot(
        x, y, color=colour, lw=width, alpha=alpha, zorder=3.1, transform=place,
        solid_capstyle="round", solid_joinstyle="round",
    )  # fmt: skip


def line_width(axes: Axes, cells: float) -> float:
    """Return the line width, in points, that is `cells` cells wide in these axes."""
    figure = axes.figure
    columns = abs(axes.get_xlim()[1] - axes.get_xlim()[0])
    inches = axes.get_position().width * figure.get_figwidth()  # type: ignore[union-attr]
    return float(cells * inches * 72 / columns)


def _coffee(axes: Axes, place: Transform, alpha: float) -> None:
    cup = [
        (-0.27, 0.12),
        (0.17, 0.12),
        (0.13, -0.27),
        (0.07, -0.33),
        (-0.17, -0.33),
        (-0.23, -0.27),
    ]
    _polygon(axes, place, cup, COFFEE, alpha)
    handle = Arc((0.17, -0.08), 0.22, 0.24, theta1=-100, theta2=100, color=COFFEE, alpha=alpha,
                 lw=line_width(axes, 0.06), zorder=3)  # fmt: skip
    handle.set_transform(place)
    axes.add_artist(handle)
    height = np.linspace(0.19, 0.38, 12)
    for x in (-0.15, 0.03):
        wave = x + 0.035 * np.sin((height - 0.19) / 0.19 * 2 * np.pi)
        _stroke(axes, place, list(zip(wave, height, strict=True)), COFFEE, alpha)


def _mail(axes: Axes, place: Transform, alpha: float) -> None:
    corners = [(-0.34, -0.23), (0.34, -0.23), (0.34, 0.23), (-0.34, 0.23)]
    _polygon(axes, place, corners, PAPER, alpha)
    _stroke(axes, place, [*corners, corners[0]], MAIL, alpha)
    _stroke(axes, place, [(-0.34, 0.23), (0, -0.04), (0.34, 0.23)], MAIL, alpha)


def _office(axes: Axes, place: Transform, alpha: float) -> None:
    _polygon(
        axes, place, [(-0.24, -0.02), (0.24, -0.02), (0.24, 0.34), (-0.24, 0.34)], OFFICE, alpha
    )
    _polygon(
        axes, place, [(-0.19, 0.03), (0.19, 0.03), (0.19, 0.29), (-0.19, 0.29)], "#cfe3f5", alpha
    )
    _polygon(
        axes, place, [(-0.04, -0.12), (0.04, -0.12), (0.04, -0.02), (-0.04, -0.02)], OFFICE, alpha
    )
    _polygon(
        axes, place, [(-0.38, -0.2), (0.38, -0.2), (0.38, -0.12), (-0.38, -0.12)], OFFICE, alpha
    )
    for x in (-0.32, 0.26):
        leg = [(x, -0.37), (x + 0.06, -0.37), (x + 0.06, -0.2), (x, -0.2)]
        _polygon(axes, place, leg, OFFICE, alpha)


def _decoration(axes: Axes, place: Transform, alpha: float) -> None:
    for x, y, angle in ((-0.15, 0.08, 38), (0.15, 0.08, -38), (0.0, 0.17, 0)):
        leaf = Ellipse((x, y), 0.19, 0.4, angle=angle, fc=LEAF, ec="none", alpha=alpha, zorder=3)
        leaf.set_transform(place)
        axes.add_artist(leaf)
    pot = [(-0.2, -0.1), (0.2, -0.1), (0.13, -0.37), (-0.13, -0.37)]
    _polygon(axes, place, pot, POT, alpha)


def _letter(name: str) -> Icon:
    def draw(axes: Axes, place: Transform, alpha: float) -> None:
        corners = "round,pad=0.08,rounding_size=0.14"
        tile = FancyBboxPatch((-0.25, -0.25), 0.5, 0.5, boxstyle=corners, zorder=3)
        tile.set(fc=ROOM, ec="none", alpha=alpha)
        tile.set_transform(place)
        axes.add_artist(tile)
        axes.text(
            0, -0.01, name, color="white", weight="bold", fontsize=line_width(axes, 0.5),
            ha="center", va="center_baseline", alpha=alpha, zorder=3.1, transform=place,
        )  # fmt: skip

    return draw


_ICONS: dict[str, Icon] = {
    "coffee": _coffee,
    "mail": _mail,
    "office": _office,
    "decoration": _decoration,
    **{name: _letter(name) for name in "ABCD"},
}


SYMBOLS = dict.fromkeys(_ICONS, draw_symbol)
"""For pictures of scenes: `skm_sim.scene_drawing`."""


# Paths and the agent on the map; paths keep right, so that there and back can be told apart.


AGENT = "#1d6fd8"


def lane(path: Sequence[int], grid: GridMap, offset: float) -> FloatArray:
    """Return the (x, y) corners of a path, shifted `offset` cells to the right of its heading."""
    points = np.array([grid.positions[cell][::-1] for cell in path], np.float64).reshape(-1, 2)
    moved = np.any(np.diff(points, axis=0) != 0, axis=1)
    points = points[np.concatenate([[True], moved])] if len(points) else points
    if len(points) < 2:
        return points
    heading = np.diff(points, axis=0)
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    right = offset * np.stack([-heading[:, 1], heading[:, 0]], axis=1)  # y grows downwards
    corners = [points[0] + right[0]]
    for point, before, after in zip(points[1:-1], right[:-1], right[1:], strict=True):
        if np.array_equal(before, after):
            continue
        if np.array_equal(before, -after):  # turning back: cross over to the other side
            corners += [point + before, point + after]
        else:
            corners.append(point + before + after)
    corners.append(points[-1] + right[-1])
    return np.array(corners)


def draw_path(
    axes: Axes,
    grid: GridMap,
    path: Sequence[int],
    colour: str,
    index: int = 0,
    *,
    end: bool = True,
) -> None:
    """Draw where the agent went: a ring at the start, heads on the way, a dot at the end."""
    corners = lane(path, grid, 0.1 + 0.1 * (index % 4))
    if not len(corners):
        return
    axes.plot(
        *corners.T, color=colour, lw=line_width(axes, 0.085), alpha=0.9, zorder=5,
        solid_capstyle="round", solid_joinstyle="round",
    )  # fmt: skip
    _draw_heads(axes, corners, colour)
    edge = line_width(axes, 0.07)
    axes.add_artist(Circle(tuple(corners[0]), 0.2, fc="white", ec=colour, lw=edge, zorder=5.2))
    if end:
        axes.add_artist(Circle(tuple(corners[-1]), 0.2, fc=colour, ec="white", lw=edge, zorder=5.3))


def _draw_heads(axes: Axes, corners: FloatArray, colour: str, spacing: float = 3.0) -> None:
    """Draw arrow heads along the path, about `spacing` cells apart."""
    steps = np.diff(corners, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    reached = np.concatenate([[0.0], np.cumsum(lengths)])
    count = int(reached[-1] // spacing)
    if count == 0:
        return
    distance = (np.arange(count) + 0.5) * reached[-1] / count
    segment = np.clip(np.searchsorted(reached, distance, side="right") - 1, 0, len(steps) - 1)
    along = steps[segment] / lengths[segment, None]
    tip = corners[segment] + along * (distance - reached[segment])[:, None] + 0.14 * along
    side = np.stack([-along[:, 1], along[:, 0]], axis=1)
    back = tip - 0.3 * along
    for triangle in zip(tip, back + 0.16 * side, back - 0.16 * side, strict=True):
        axes.fill(*np.array(triangle).T, color=colour, lw=0, zorder=5.1)


def draw_agent(axes: Axes, grid: GridMap, cell: int) -> Circle:
    """Draw the agent, a blue ball, and return it."""
    row, column = grid.positions[cell]
    edge = line_width(axes, 0.09)
    ball = Circle((column, row), 0.33, fc=AGENT, ec="white", lw=edge, zorder=6)
    axes.add_artist(ball)
    return ball


FLOOR = "#faf7f0"
LINES = "#e6e0d4"
ABSORBING = "#f2b5ab"
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
        colour = STATE_COLOURS[index % len(STATE_COLOURS)]
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
            draw_path(self._axes, self._grid, path, STATE_COLOURS[0], end=False)
            draw_agent(self._axes, self._grid, path[-1])
        self._canvas.restore_region(self._background)  # type: ignore[no-untyped-call]
        added = [artist for artist in self._axes.get_children() if artist not in before]
        for artist in sorted(added, key=lambda artist: artist.get_zorder()):
            self._axes.draw_artist(artist)
            artist.remove()
        pixels = np.asarray(self._canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        return pixels[:, :, :3].copy()


# The paper's office figures from arrays: value functions with policies, and trajectories.
#
# Pure functions that return a matplotlib `Figure`; saving it is up to the caller
# (`figure.savefig("values.png", dpi=200)`).


GAP = 0.12
TITLE = 0.36
"""Inches between panels, and above each for its title."""


def values_figure(
    panels: Sequence[tuple[str, ArrayLike, ArrayLike]],
    *,
    columns: int = 4,
    absorbing: Sequence[Position] = (),
) -> Figure:
    """Return one map a panel `(title, values[120], actions[120])`, as `fig:ow_values_base`.

    The heat map shows the values, on one scale for all panels (0 to 1, or to the largest value);
    the arrows show the policy, with no arrow where the action is -1 and where there is no value.
    """
    arrays = [(title, _values(values), _actions(actions)) for title, values, actions in panels]
    finite = [values[np.isfinite(values)] for _, values, _ in arrays]
    known = np.concatenate([*finite, [0.0, 1.0]])
    norm = Normalize(float(known.min()), float(known.max()))
    figure, axes = _panels([title for title, _, _ in arrays], columns, width=3.1, right=0.75)
    for place, (_, values, actions) in zip(axes, arrays, strict=True):
        drawn = np.where(np.isfinite(values), actions, -1)
        colours = draw_office(place, values=values, actions=drawn, norm=norm, absorbing=absorbing)
    width, height = figure.get_size_inches()
    place = figure.add_axes(
        (1 - 0.62 / width, GAP / height, 0.14 / width, 1 - (GAP + TITLE) / height)
    )
    bar = figure.colorbar(colours, cax=place, label="value")
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_visible(False)
    return figure


def trajectories_figure(
    panels: Sequence[tuple[str, Sequence[Sequence[int]]]],
    *,
    columns: int = 2,
    absorbing: Sequence[Position] = (),
) -> Figure:
    """Return one map a panel `(title, paths)`, as `fig:ow_trajectories`; a path lists cells."""
    for title, paths in panels:
        for cell in (cell for path in paths for cell in path):
            if not 0 <= cell < OFFICE_MAP.num_cells:
                raise SkmError(f"panel '{title}': there is no cell {cell} in the office.")
    figure, axes = _panels([title for title, _ in panels], columns, width=4.2)
    for place, (_, paths) in zip(axes, panels, strict=True):
        draw_office(place, paths=paths, absorbing=absorbing)
    return figure


def _panels(
    titles: Sequence[str], columns: int, width: float, right: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Return a figure with an axes of the map's shape for each title, in rows of `columns`.

    Every panel is `width` inches wide, and `right` inches are left free beside them. Line widths
    on the map follow the size of its axes, so that is fixed here and not left to a layout engine.
    """
    if not titles:
        raise SkmError("a figure needs at least one panel.")
    columns = min(columns, len(titles))
    rows = math.ceil(len(titles) / columns)
    across, down = extent(OFFICE_MAP)
    height = width * down / across
    total = columns * (width + GAP) + GAP + right, rows * (height + TITLE) + GAP
    figure = Figure(figsize=total, dpi=150)
    panels = []
    for index, title in enumerate(titles):
        row, column = divmod(index, columns)
        left = GAP + column * (width + GAP)
        bottom = total[1] - (row + 1) * (height + TITLE)
        box = (left / total[0], bottom / total[1], width / total[0], height / total[1])
        panels.append(figure.add_axes(box, title=title))
    return figure, panels


def _values(values: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, np.float64)
    if array.shape != (OFFICE_MAP.num_cells,):
        raise SkmError(f"values must hold one number for each of the {OFFICE_MAP.num_cells} cells.")
    return array


def _actions(actions: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    array = np.asarray(actions, np.int64)
    if array.shape == ():
        array = np.full(OFFICE_MAP.num_cells, array)
    if array.shape != (OFFICE_MAP.num_cells,) or array.min() < -1 or array.max() >= len(MOVES):
        raise SkmError(f"actions must be -1 or from 0 to {len(MOVES) - 1}, one for each cell.")
    return array
