"""Pictures of the Safety domain from above, with matplotlib alone: no OpenGL, no screen.

`draw_arena` is what every plot of this domain is made of; nothing touches pyplot's global state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from numpy.typing import NDArray

from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.safety.layout import ARENA, LABEL_RADIUS, Layout

FLOOR = "#faf7f0"
GRID = "#e6e0d4"
REGION = "#5b8def"
BUTTON = "#4f9d4a"
CYLINDER = "#d1345b"
ROBOT = "#222831"
PATH_COLOURS = ("#d1345b", "#e08e1b", "#6a4c93", "#1f7a8c", "#8c5a3c", "#4f9d4a")
MARGIN = 0.25


def draw_arena(
    axes: Axes,
    layout: Layout,
    *,
    label_radius: float = LABEL_RADIUS,
    path: FloatArray | None = None,
    phases: Sequence[int] | NDArray[np.integer[Any]] | None = None,
) -> None:
    """Draw a single arena into `axes`, and on it the path of poses `(steps + 1, 3)`.

    The dotted circle around an object is where its proposition holds. `phases` has a number for
    every step of the path, such as the machine's state; each number has its own colour.
    """
    edge = ARENA + MARGIN
    reach = edge if path is None else max(edge, float(np.abs(path[:, :2]).max()) + MARGIN)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), facecolor=FLOOR)
    axes.set_aspect("equal")
    axes.set_xticks(np.arange(-2, 3))
    axes.set_yticks(np.arange(-2, 3))
    axes.tick_params(length=0, labelsize=7, colors="#8a8375")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for centre in layout.regions:
        axes.add_patch(Circle(centre, label_radius, facecolor=REGION, alpha=0.45, lw=0))
    for index, centre in enumerate(layout.buttons):
        is_cylinder = index == int(layout.cylinder)
        colour = CYLINDER if is_cylinder else BUTTON
        ring = {"fill": False, "ls": ":", "lw": 1.0, "ec": colour}
        axes.add_patch(Circle(centre, label_radius, **ring))
        axes.add_patch(Circle(centre, 0.1, facecolor=BUTTON, lw=0, zorder=2))
        if is_cylinder:
            axes.add_patch(Circle(centre, 0.16, facecolor=CYLINDER, alpha=0.6, lw=0, zorder=2))
    if path is not None and len(path) > 1:
        draw_path(axes, path, phases)
    pose = layout.robot if path is None else path[-1]
    _draw_robot(axes, pose)


def draw_path(
    axes: Axes, path: FloatArray, phases: Sequence[int] | NDArray[np.integer[Any]] | None = None
) -> None:
    """Draw a path of poses, from its hollow start; one colour a phase."""
    points = path[:, :2]
    numbers = np.zeros(len(points) - 1, np.int64) if phases is None else np.asarray(phases)
    colours = [PATH_COLOURS[number % len(PATH_COLOURS)] for number in numbers[: len(points) - 1]]
    segments = np.stack([points[:-1], points[1:]], axis=1)
    axes.add_collection(LineCollection(list(segments), colors=colours, linewidths=1.8, zorder=3))
    start = {"facecolor": "white", "ec": ROBOT, "lw": 1.2, "zorder": 4}
    axes.add_patch(Circle((float(points[0, 0]), float(points[0, 1])), 0.06, **start))


def picture(
    layout: Layout, path: FloatArray, label_radius: float = LABEL_RADIUS, pixels: int = 480
) -> ByteArray:
    """Return the arena with a path as `(pixels, pixels, 3)` bytes."""
    figure = Figure(figsize=(pixels / 100, pixels / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.06, 0.06, 0.91, 0.91))
    draw_arena(axes, layout, label_radius=label_radius, path=path)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def _draw_robot(axes: Axes, pose: FloatArray) -> None:
    x, y, heading = pose.tolist()
    axes.add_patch(Circle((x, y), 0.1, facecolor=ROBOT, lw=0, zorder=5))
    ahead = np.array([np.cos(heading), np.sin(heading)])
    side = np.array([-ahead[1], ahead[0]])
    tip = np.array([x, y]) + 0.2 * ahead
    base = np.array([x, y]) + 0.05 * ahead
    corners = [tip, base + 0.07 * side, base - 0.07 * side]
    axes.add_patch(Polygon(corners, facecolor="#f7b267", lw=0, zorder=6))
