"""Pictures of an arena seen from above: floor, robot, and a run of each task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from numpy.typing import NDArray

from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.artists import STATE_COLOURS, DrawnRun, PathsPanel
from skm_sim.spec import DomainError, Task
from skm_sim.trials import ResetOptions

# What pictures of an arena seen from above share: floor, path, the point robot, pixels.
#
# With matplotlib alone: no OpenGL, no screen, and nothing touches pyplot's global state.


FLOOR = "#faf7f0"
GRID = "#e6e0d4"
ROBOT = "#222831"
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
    colours = [STATE_COLOURS[number % len(STATE_COLOURS)] for number in numbers[: len(points) - 1]]
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


# A run of each task in an arena seen from above, in the colours of the machine's states.


COLUMNS: Final = 3
SIZE: Final = 3.4


class ArenaPaths(ABC):
    """One arena a task; a domain says which, and how it is drawn."""

    planner = "product"
    formula_width = (7.5, 72 * SIZE - 20)
    legend: ClassVar[str]

    @abstractmethod
    def options(self, task: Task, seed: int) -> ResetOptions:
        """Return the arena of a task."""

    @abstractmethod
    def draw(self, axes: Axes, run: DrawnRun) -> None:
        """Draw an arena with the path of a run."""

    def trials(self, task: Task, seed: int, starts: Sequence[str]) -> list[ResetOptions]:
        """Return one arena."""
        if starts:
            raise DomainError("--starts takes cells of a gridworld; here --seed says the start.")
        return [self.options(task, seed)]

    def place(self, env: gymnasium.Env[Any, Any]) -> FloatArray:
        """Return the pose."""
        pose: FloatArray = env.pose  # type: ignore[attr-defined]
        return pose

    def figure(self, env: gymnasium.Env[Any, Any], panels: Sequence[PathsPanel]) -> Figure:  # noqa: ARG002
        """Return an arena for each task."""
        rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
        figure = Figure(figsize=(SIZE * columns, (SIZE + 0.75) * rows), layout="constrained")
        for number, panel in enumerate(panels, start=1):
            run = panel.runs[0]
            axes = figure.add_subplot(rows, columns, number)
            self.draw(axes, run)
            _mark_moves(axes, run)
            solved = run.outcome in ("accepted", "satisfied so far")
            status = "running" if run.outcome == "timed out" else run.outcome
            said = f"{run.outcome}, {run.steps} steps" if solved else f"not solved: {status}"
            formula = "\n".join(panel.formula)
            axes.set_title(f"{panel.task.name}: {said}\n{formula}", size=7.5, loc="left")
        figure.supxlabel(self.legend, size=8)
        return figure

    def document(self, panels: Sequence[PathsPanel], seed: int) -> dict[str, Any]:
        """Return outcome and steps of each task."""
        tasks = {
            panel.task.name: {"outcome": panel.runs[0].outcome, "steps": panel.runs[0].steps}
            for panel in panels
        }
        return {"seed": seed, "tasks": tasks}


def _mark_moves(axes: Axes, run: DrawnRun) -> None:
    """Mark where the machine moved, and where it was rewarded."""
    path = np.array(run.path)
    for step, target, reward in run.moves:
        colour = STATE_COLOURS[target % len(STATE_COLOURS)]
        look: dict[str, Any] = {"mfc": colour, "mec": "white", "ms": 7, "zorder": 8}
        if reward > 0:
            look |= {"marker": "*", "mfc": "#ffd23f", "mec": "black", "ms": 13, "mew": 0.8}
        axes.plot(*path[step, :2], **{"marker": "o", **look})
