"""A run of each task in an arena seen from above, in the colours of the machine's states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skm_sim.arena_drawing import PATH_COLOURS
from skm_sim.arrays import FloatArray
from skm_sim.artists import DrawnRun, PathsPanel
from skm_sim.domain import DomainError, Task
from skm_sim.trials import ResetOptions

COLUMNS: Final = 3
SIZE: Final = 3.4


class ArenaPaths(ABC):
    """One arena a task; a domain says which, and how it is drawn."""

    planner = "grounded"
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
        colour = PATH_COLOURS[target % len(PATH_COLOURS)]
        look: dict[str, Any] = {"mfc": colour, "mec": "white", "ms": 7, "zorder": 8}
        if reward > 0:
            look |= {"marker": "*", "mfc": "#ffd23f", "mec": "black", "ms": 13, "mew": 0.8}
        axes.plot(*path[step, :2], **{"marker": "o", **look})
