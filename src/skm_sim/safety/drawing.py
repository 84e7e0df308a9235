"""Pictures of the Safety domain from above; `draw_arena` is what every plot of it is made of."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from skm_sim.arrays import ByteArray, FloatArray
from skm_sim.artists import DrawnRun
from skm_sim.safety.layout import (
    ARENA,
    LABEL_RADIUS,
    STAGES,
    Layout,
    authors_layouts,
    sample_feasible,
)
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

REGION = "#5b8def"
BUTTON = "#4f9d4a"
CYLINDER = "#d1345b"


def draw_arena(
    axes: Axes,
    layout: Layout,
    *,
    label_radius: float = LABEL_RADIUS,
    path: FloatArray | None = None,
    phases: Phases = None,
) -> None:
    """Draw a single arena into `axes`, and on it the path of poses `(steps + 1, 3)`.

    The dotted circle around an object is where its proposition holds. `phases` has a number for
    every step of the path, such as the machine's state; each number has its own colour.
    """
    draw_floor(axes, ARENA, path)
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
    draw_robot(axes, layout.robot if path is None else path[-1])


def picture(
    layout: Layout, path: FloatArray, label_radius: float = LABEL_RADIUS, pixels: int = 480
) -> ByteArray:
    """Return the arena with a path as `(pixels, pixels, 3)` bytes."""
    return rendered(
        lambda axes: draw_arena(axes, layout, label_radius=label_radius, path=path), pixels
    )


# A run of each task on the authors' objects, in the colours of the machine's states.


class SafetyPaths(ArenaPaths):
    """One arena a task, as `fig:se_zs_returns`.

    The seed says where the robot starts, and which button the cylinder stands on: one on which the
    task is possible, by the rule of `skm_sim.safety.layout`.
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
