"""The paper's office figures from arrays: value functions with policies, and trajectories.

Pure functions that return a matplotlib `Figure`; saving it is up to the caller
(`figure.savefig("values.png", dpi=200)`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from skm_machine.errors import SkmError
from skm_sim.office.drawing import draw_office, extent
from skm_sim.office.floor_plan import MOVES, OFFICE_MAP, Position

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
