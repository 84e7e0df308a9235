"""Pictures of the Zones domain from above; `draw_zones` is what every plot of it is made of."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.artists import DrawnRun
from skm_sim.safety_gym.drawing import (
    ArenaPaths,
    Phases,
    draw_floor,
    draw_path,
    draw_robot,
    rendered,
)
from skm_sim.spec import Task
from skm_sim.trials import ResetOptions
from skm_sim.zones.layout import COLOURS, Arena
from skm_sim.zones.scene import PAINT
from skm_sim.zones.trials import TRIALS

WALL = "#8c877f"


def draw_zones(axes: Axes, zones: FloatArray, path: FloatArray, phases: Phases = None) -> None:
    """Draw an arena `(colours, 2, 2)` into `axes`, and on it the path of poses `(steps + 1, 3)`.

    `phases` has a number for every step of the path, such as the machine's state.
    """
    arena = Arena(len(zones))
    wall = arena.wall
    draw_floor(axes, wall, path)
    axes.add_patch(Rectangle((-wall, -wall), 2 * wall, 2 * wall, fill=False, ec=WALL, lw=1.5))
    for name, pair in zip(COLOURS, zones.tolist(), strict=False):
        for x, y in pair:
            axes.add_patch(Circle((x, y), arena.radius, facecolor=(*PAINT[name], 0.55), lw=0))
    if len(path) > 1:
        draw_path(axes, path, phases)
    draw_robot(axes, path[-1])


def picture(zones: FloatArray, path: FloatArray, pixels: int = 480) -> ByteArray:
    """Return the arena with a path as `(pixels, pixels, 3)` bytes."""
    return rendered(lambda axes: draw_zones(axes, zones, path), pixels)


# A run of each task among zones drawn at random, in the colours of the machine's states.


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
