"""A run of each task on the authors' objects, in the colours of the machine's states."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from skm_sim.arena_paths import ArenaPaths
from skm_sim.artists import DrawnRun
from skm_sim.domain import Task
from skm_sim.safety.drawing import draw_arena
from skm_sim.safety.feasibility import STAGES, sample_feasible
from skm_sim.safety.layout import authors_layouts
from skm_sim.trials import ResetOptions


class SafetyPaths(ArenaPaths):
    """One arena a task, as `fig:se_zs_returns`.

    The seed says where the robot starts, and which button the cylinder stands on: one on which the
    task is possible, by the rule of `skm_sim.safety.feasibility`.
    """

    legend = (
        "○ start   ● the machine moves   ★ accepted   one colour for each state of the machine\n"
        "green: button, red: cylinder, blue: region; a proposition holds inside of its dotted circle"
    )

    def options(self, task: Task, seed: int) -> ResetOptions:
        """Return one layout."""
        random = np.random.default_rng([seed, int(task.name)])
        layout = sample_feasible(random, 1, STAGES[task.name], authors_layouts)[0][0]
        return {"layout": layout}

    def draw(self, axes: Axes, run: DrawnRun) -> None:
        """Draw the arena with the path."""
        path = np.array(run.path)
        draw_arena(axes, run.options["layout"], path=path, phases=run.machine_states)
