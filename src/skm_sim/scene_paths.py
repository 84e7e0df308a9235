"""Paths of tasks over a domain's scene from above: for domains that have no drawing of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from matplotlib.figure import Figure

from skm_sim.artists import PathsPanel
from skm_sim.domain import DomainError, DomainSpec, Task
from skm_sim.shapes import robot_place, scene_of
from skm_sim.top_view import OVER_EVERYTHING, draw_scene
from skm_sim.trials import ResetOptions

COLUMNS: Final = 3
SIZE: Final = 3.6
COLOURS: Final = ("#d1345b", "#e08e1b", "#6a4c93", "#1f7a8c", "#8c5a3c", "#4f9d4a")


class ScenePaths:
    """One run a task, each part of the path in the colour of the machine's state."""

    planner = "grounded"
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
                " cannot be drawn; give its environment a method scene() (see skm_sim.shapes)."
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
                colour = COLOURS[state % len(COLOURS)]
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
