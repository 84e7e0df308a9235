"""What pictures of an arena seen from above share: floor, path, the point robot, pixels.

With matplotlib alone: no OpenGL, no screen, and nothing touches pyplot's global state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from numpy.typing import NDArray

from skm_sim.arrays import ByteArray, FloatArray

FLOOR = "#faf7f0"
GRID = "#e6e0d4"
ROBOT = "#222831"
PATH_COLOURS = ("#d1345b", "#e08e1b", "#6a4c93", "#1f7a8c", "#8c5a3c", "#4f9d4a")
MARGIN = 0.25

Phases = Sequence[int] | NDArray[np.integer[Any]] | None


def draw_floor(axes: Axes, extent: float, path: FloatArray | None) -> None:
    """Draw an empty arena of ±`extent` metres, wide enough for a path of poses."""
    edge = extent + MARGIN
    reach = edge if path is None else max(edge, float(np.abs(path[:, :2]).max()) + MARGIN)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), facecolor=FLOOR)
    axes.set_aspect("equal")
    marks = np.arange(-int(extent), int(extent) + 1)
    axes.set_xticks(marks)
    axes.set_yticks(marks)
    axes.tick_params(length=0, labelsize=7, colors="#8a8375")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)


def draw_path(axes: Axes, path: FloatArray, phases: Phases = None) -> None:
    """Draw a path of poses, from its hollow start; one colour a phase."""
    points = path[:, :2]
    numbers = np.zeros(len(points) - 1, np.int64) if phases is None else np.asarray(phases)
    colours = [PATH_COLOURS[number % len(PATH_COLOURS)] for number in numbers[: len(points) - 1]]
    segments = np.stack([points[:-1], points[1:]], axis=1)
    axes.add_collection(LineCollection(list(segments), colors=colours, linewidths=1.8, zorder=3))
    start = {"facecolor": "white", "ec": ROBOT, "lw": 1.2, "zorder": 4}
    axes.add_patch(Circle((float(points[0, 0]), float(points[0, 1])), 0.06, **start))


def draw_robot(axes: Axes, pose: FloatArray) -> None:
    """Draw the robot with its nose."""
    x, y, heading = pose.tolist()
    axes.add_patch(Circle((x, y), 0.1, facecolor=ROBOT, lw=0, zorder=5))
    ahead = np.array([np.cos(heading), np.sin(heading)])
    side = np.array([-ahead[1], ahead[0]])
    tip = np.array([x, y]) + 0.2 * ahead
    base = np.array([x, y]) + 0.05 * ahead
    corners = [tip, base + 0.07 * side, base - 0.07 * side]
    axes.add_patch(Polygon(corners, facecolor="#f7b267", lw=0, zorder=6))


def rendered(draw: Callable[[Axes], None], pixels: int = 480) -> ByteArray:
    """Return what is drawn as `(pixels, pixels, 3)` bytes."""
    figure = Figure(figsize=(pixels / 100, pixels / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    draw(figure.add_axes((0.06, 0.06, 0.91, 0.91)))
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
