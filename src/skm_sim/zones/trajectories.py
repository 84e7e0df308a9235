"""A run of each task among zones drawn by chance, in the colours of the machine's states."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from skm_sim.arena_paths import ArenaPaths
from skm_sim.artists import DrawnRun
from skm_sim.domain import Task
from skm_sim.trials import ResetOptions
from skm_sim.zones.drawing import draw_zones
from skm_sim.zones.trials import TRIALS


class ZonesPaths(ArenaPaths):
    """One arena a task; the seed says which."""

    legend = "○ start   ● the machine moves   ★ accepted   one colour for each state of the machine"

    def options(self, task: Task, seed: int) -> ResetOptions:
        """Return the first of the layouts that an evaluation with this seed has."""
        options = TRIALS.draw(task, 1, seed, "random").options[0]
        assert options is not None
        return options

    def draw(self, axes: Axes, run: DrawnRun) -> None:
        """Draw the zones with the path."""
        path = np.array(run.path)
        draw_zones(axes, run.options["layout"].zones, path, run.machine_states)
