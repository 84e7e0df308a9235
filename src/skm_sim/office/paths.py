"""Paths and the agent on the map; paths keep right, so that there and back can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from skm_sim.arrays import FloatArray
from skm_sim.office.floor_plan import GridMap
from skm_sim.office.icons import line_width

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
