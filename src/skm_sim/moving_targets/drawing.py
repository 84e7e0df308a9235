"""Pictures of an episode of Moving Targets: the board from above beside what the agent sees."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from skm_sim.arrays import ByteArray
from skm_sim.moving_targets.env import (
    AGENT,
    COLLECTED,
    NOTHING,
    POSITIONS,
    SIZE,
    States,
    board_scene,
    object_shape,
    render,
)
from skm_sim.scene_drawing import OVER_EVERYTHING, draw_scene

PATH: Final = "#d1345b"
INK: Final = "#222831"
SIDE: Final = 4.0
"""Inches of each of the two pictures."""
MARGIN: Final = 0.1
HEAD: Final = 0.3


def picture(states: States, dpi: int = 100) -> ByteArray:
    """Return an episode's latest states `(n, 8)` as a picture of the last one, with the path to it.

    Where an object was collected on the way, it is drawn pale with a dashed edge.
    """
    width, height = 2 * SIDE + 3 * MARGIN, SIDE + HEAD + MARGIN
    figure = Figure(figsize=(width, height), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    for column, title in enumerate(("the board", "what the agent sees")):
        left = MARGIN + column * (SIDE + MARGIN)
        axes = figure.add_axes((left / width, MARGIN / height, SIDE / width, SIDE / height))
        axes.set_title(title, size=9, color=INK, pad=5)
        axes.axis("off")
    board, view = figure.axes
    # The first state's label is of a step before the path.
    gone = [
        object_shape(*entry)
        for entry in states[1:, [COLLECTED, AGENT]].tolist()
        if entry[0] != NOTHING
    ]
    draw_scene(board, board_scene(states[-1]), gone)
    xs, ys = POSITIONS[states[:, AGENT]].T[::-1] * [[1], [-1]] + [[0], [SIZE - 1]]
    look: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round"}
    board.plot(xs, ys, color="white", lw=4.2, zorder=OVER_EVERYTHING, **look)
    board.plot(xs, ys, color=PATH, lw=2.4, zorder=OVER_EVERYTHING, **look)
    start: dict[str, Any] = {"mfc": "white", "mec": PATH, "mew": 1.6, "ms": 7}
    board.plot(xs[0], ys[0], "o", zorder=OVER_EVERYTHING, **start)
    board.plot(xs[-1], ys[-1], "o", color=INK, ms=13, zorder=OVER_EVERYTHING)
    view.imshow(render(states[-1:])[0], interpolation="nearest")
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
