"""A run of each task on the authors' objects, in the colours of the machine's states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from matplotlib.figure import Figure

from skm_sim.arena_drawing import PATH_COLOURS
from skm_sim.arrays import FloatArray
from skm_sim.artists import PathsPanel
from skm_sim.domain import DomainError, Task
from skm_sim.safety.drawing import draw_arena
from skm_sim.safety.feasibility import STAGES, sample_feasible
from skm_sim.safety.layout import authors_layouts
from skm_sim.trials import ResetOptions

COLUMNS: Final = 3
SIZE: Final = 3.4
LEGEND: Final = (
    "○ start   ● the machine moves   ★ accepted   one colour for each state of the machine\n"
    "green: button, red: cylinder, blue: region; a proposition holds inside of its dotted circle"
)


class SafetyPaths:
    """One arena a task, as `fig:se_zs_returns`.

    The seed says where the robot starts, and which button the cylinder stands on: one on which the
    task is possible, by the rule of `skm_sim.safety.feasibility`.
    """

    planner = "grounded"
    formula_width = (7.5, 72 * SIZE - 20)

    def trials(self, task: Task, seed: int, starts: Sequence[str]) -> list[ResetOptions]:
        """Return one layout."""
        if starts:
            raise DomainError("--starts takes cells of a gridworld; here --seed says the start.")
        random = np.random.default_rng([seed, int(task.name)])
        layout = sample_feasible(random, 1, STAGES[task.name], authors_layouts)[0][0]
        return [{"layout": layout}]

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
            path = np.array(run.path)
            axes = figure.add_subplot(rows, columns, number)
            draw_arena(axes, run.options["layout"], path=path, phases=run.machine_states)
            for step, target, reward in run.moves:
                colour = PATH_COLOURS[target % len(PATH_COLOURS)]
                look: dict[str, Any] = {"mfc": colour, "mec": "white", "ms": 7, "zorder": 8}
                if reward > 0:
                    look |= {"marker": "*", "mfc": "#ffd23f", "mec": "black", "ms": 13, "mew": 0.8}
                axes.plot(*path[step, :2], **{"marker": "o", **look})
            solved = run.outcome == "accepted"
            status = "running" if run.outcome == "timed out" else run.outcome
            said = f"accepted, {run.steps} steps" if solved else f"not solved: {status}"
            formula = "\n".join(panel.formula)
            axes.set_title(f"{panel.task.name}: {said}\n{formula}", size=7.5, loc="left")
        figure.supxlabel(LEGEND, size=8)
        return figure

    def document(self, panels: Sequence[PathsPanel], seed: int) -> dict[str, Any]:
        """Return outcome and steps of each task."""
        tasks = {
            panel.task.name: {"outcome": panel.runs[0].outcome, "steps": panel.runs[0].steps}
            for panel in panels
        }
        return {"seed": seed, "tasks": tasks}
