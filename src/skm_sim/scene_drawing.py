"""A domain's scene drawn from above with matplotlib: what RViz shows in 3D, on paper.

Apart from `scene`, since matplotlib takes a third of a second to import: code that only needs shapes, as
the nodes and `skm run` do, goes without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Patch, Polygon, Rectangle
from matplotlib.patheffects import Normal, Stroke

from skm_sim.arrays import FloatArray
from skm_sim.artists import STATE_COLOURS, WALL, PathsPanel
from skm_sim.scene import Shape, robot_place, scene_of
from skm_sim.spec import DomainError, DomainSpec, Task
from skm_sim.trials import ResetOptions

LARGEST_TEXT: Final = 9.0
SMALLEST_TEXT: Final = 6.5
POINTS_PER_METRE: Final = 62.0
"""Size of text in an arena of a few metres; wider scenes have smaller text."""
REFERENCE_WIDTH: Final = 4.5
FADED: Final = 0.22
"""Opacity of what is gone."""
FADED_EDGE: Final = 0.7
"""Its edge is the shape's colour, darker by this factor."""
FLOOR: Final = "floor"
JOINT: Final = "#e4dfd2"
"""Between the pieces of a floor."""
JOINT_WIDTH: Final = 0.025
"""Metres by which it shows around a piece: neighbours meet."""
WALL_WIDTH: Final = 0.4
"""Metres of wall around a floor in pieces."""
SYMBOL_SIZE: Final = 0.7
"""Metres up to which an object is drawn by its symbol."""
OVER_EVERYTHING: Final = 10.0
"""Drawing order of what is above all shapes."""
NAMES: Final = OVER_EVERYTHING + 0.5
"""And of names, above paths."""


Symbol = Callable[[Axes, str, float, float], None]
"""Draws what a group of shapes stands for into the square metre around x, y; y grows upwards."""


def extent(scene: Sequence[Shape]) -> FloatArray:
    """Return the lowest and the highest x and y of a scene."""
    corners = [outline_of(shape) for shape in scene if shape.kind != "text"]
    every = np.concatenate(corners) if corners else np.array([[0.0, 0.0], [1.0, 1.0]])
    return np.array([every.min(axis=0), every.max(axis=0)])


def draw_scene(
    axes: Axes,
    scene: Sequence[Shape],
    gone: Sequence[Shape] = (),
    symbols: Mapping[str, Symbol] | None = None,
) -> None:
    """Draw shapes into `axes`, the highest last; what is gone is pale, with a dashed edge.

    Where nothing is but floor, in pieces, the rest is wall. Small objects of which there is a symbol are
    drawn by it, and need no name.
    """
    symbols = symbols or {}
    low, high = extent(scene)
    floor = [shape for shape in scene if shape.group == FLOOR]
    if len(floor) > 1:
        low, high = low - WALL_WIDTH, high + WALL_WIDTH
        corner, size = (float(low[0]), float(low[1])), high - low
        axes.add_patch(
            Rectangle(corner, float(size[0]), float(size[1]), color=WALL, lw=0, zorder=0)
        )
        for piece in floor:
            corners = outline_of(piece)
            middle = corners.mean(axis=0)
            wider = middle + (corners - middle) * (1 + 2 * JOINT_WIDTH / max(piece.size[:2]))
            axes.add_patch(Polygon(wider, color=JOINT, lw=0, zorder=0.5))
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_aspect("equal")
    axes.axis("off")
    scale = POINTS_PER_METRE * REFERENCE_WIDTH / max(high - low)
    drawn = [*((shape, True) for shape in gone), *((shape, False) for shape in scene)]
    for shape, is_gone in sorted(drawn, key=lambda entry: top_of(entry[0])):
        if shape.text in symbols and shape.kind == "text" and _is_small(shape.text, scene):
            continue
        if not is_gone and shape.group in symbols and _is_small(shape.group, scene):
            symbols[shape.group](axes, shape.group, shape.position[0], shape.position[1])
        elif shape.kind == "text":
            _write(axes, shape, min(LARGEST_TEXT, max(SMALLEST_TEXT, shape.size[2] * scale)))
        else:
            axes.add_patch(_patch(shape, is_gone=is_gone))


def _write(axes: Axes, shape: Shape, size: float) -> None:
    """Write a name over everything but marks, with a halo, so that a path does not hide it."""
    x, y, _ = shape.position
    halo = [Stroke(linewidth=2.2, foreground=(1.0, 1.0, 1.0, 0.85)), Normal()]
    look: dict[str, Any] = {"color": shape.colour, "ha": "center", "va": "center"}
    axes.text(x, y, shape.text, size=size, zorder=NAMES, path_effects=halo, **look)


def _is_small(group: str, scene: Sequence[Shape]) -> bool:
    sizes = [max(shape.size[:2]) for shape in scene if shape.group == group]
    return bool(sizes) and max(sizes) <= SYMBOL_SIZE


def gone_look(colour: Sequence[float]) -> dict[str, Any]:
    """Return how a shape of this colour is drawn where it no longer is, as options of a patch."""
    red, green, blue = colour[:3]
    edge = (FADED_EDGE * red, FADED_EDGE * green, FADED_EDGE * blue)
    look = {"linestyle": (0, (3, 2)), "linewidth": 1.1}
    return {"facecolor": (red, green, blue, FADED), "edgecolor": edge, **look}


def top_of(shape: Shape) -> float:
    """Return how high a shape reaches: higher ones are drawn later."""
    return shape.position[2] + shape.size[2] / 2


def _patch(shape: Shape, *, is_gone: bool) -> Patch:
    x, y, _ = shape.position
    look: dict[str, Any] = {"facecolor": shape.colour, "linewidth": 0.0}
    if is_gone:
        look = gone_look(shape.colour)
    if shape.kind in ("sphere", "cylinder"):
        angle = float(np.degrees(shape.heading))
        return Ellipse((x, y), shape.size[0], shape.size[1], angle=angle, **look)
    return Polygon(outline_of(shape), **look)


def outline_of(shape: Shape) -> FloatArray:
    """Return corners of a shape from above: those of an arrow, else of a rectangle around it."""
    length, width = shape.size[0], shape.size[1]
    if shape.kind == "arrow":
        corners = np.array([[0, -width / 2], [length, 0], [0, width / 2]])
    else:
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (length / 2, width / 2)
    cosine, sine = np.cos(shape.heading), np.sin(shape.heading)
    turned: FloatArray = corners @ np.array([[cosine, sine], [-sine, cosine]])
    return turned + shape.position[:2]


# Paths of tasks over a domain's scene from above: for domains that have no drawing of their own.


COLUMNS: Final = 3
SIZE: Final = 3.6


class ScenePaths:
    """One run a task, each part of the path in the colour of the machine's state."""

    planner = "product"
    formula_width = (7.5, 72 * SIZE - 20)

    def __init__(self, spec: DomainSpec) -> None:
        self._spec = spec

    def trials(self, task: Task, seed: int, starts: Sequence[str]) -> list[ResetOptions]:  # noqa: ARG002
        """Return one reset with the seed."""
        if starts:
            raise DomainError(f"--starts: '{self._spec.name}' does not say what a start looks like")
        return [{"seed": seed}]

    def place(self, env: gymnasium.Env[Any, Any]) -> tuple[float, float]:
        """Return x and y of the robot."""
        scene = scene_of(self._spec, env)
        place = robot_place(scene)
        if place is None:
            raise DomainError(
                f"the domain '{self._spec.name}' has no scene with a robot in it, so that its paths"
                " cannot be drawn; give its environment a method scene() (see skm_sim.scene)."
            )
        return place

    def figure(self, env: gymnasium.Env[Any, Any], panels: Sequence[PathsPanel]) -> Figure:
        """Return the scene with a path for each task."""
        rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
        figure = Figure(figsize=(SIZE * columns, (SIZE + 0.75) * rows), layout="constrained")
        for number, panel in enumerate(panels, start=1):
            axes = figure.add_subplot(rows, columns, number)
            draw_scene(axes, scene_of(self._spec, env))
            run = panel.runs[0]
            path = np.array(run.path)
            for step, state in enumerate(run.machine_states):
                colour = STATE_COLOURS[state % len(STATE_COLOURS)]
                axes.plot(*path[step : step + 2].T, color=colour, lw=2.4, zorder=OVER_EVERYTHING)
            start: dict[str, Any] = {"mfc": "white", "mec": "#222831", "ms": 7}
            axes.plot(*path[0], "o", zorder=OVER_EVERYTHING + 1, **start)
            formula = "\n".join(panel.formula)
            title = f"{panel.task.name}: {run.outcome}, {run.steps} steps\n{formula}"
            axes.set_title(title, size=7.5, loc="left")
        return figure

    def document(self, panels: Sequence[PathsPanel], seed: int) -> dict[str, Any]:
        """Return outcome and steps of each task."""
        tasks = {
            panel.task.name: {"outcome": panel.runs[0].outcome, "steps": panel.runs[0].steps}
            for panel in panels
        }
        return {"seed": seed, "tasks": tasks}
