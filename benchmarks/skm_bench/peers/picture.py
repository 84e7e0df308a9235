"""The picture of `skm bench peers`: steps of every task by training seed, beside what is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK: Final = "#222831"
OURS: Final = "#1f7a8c"
THEIRS: Final = "#e08e1b"
ROW: Final = 0.34
"""Inches that a task takes."""


def peers_figure(found: Sequence[dict[str, Any]]) -> Figure:
    """Draw worlds below one another: a row for each task, a dot for each training seed."""
    rows = [len(world["tasks"]) for world in found]
    height = sum(rows) * ROW + 1.1 * len(found)
    figure = Figure(figsize=(8.2, height), dpi=150, layout="constrained")
    parts = figure.subplots(len(found), squeeze=False, height_ratios=rows)[:, 0]
    for axes, world in zip(parts, found, strict=True):
        _draw(axes, world)
    return figure


def _draw(axes: Axes, world: dict[str, Any]) -> None:
    tasks = world["tasks"]
    for row, task in enumerate(tasks):
        runs = [seed["tasks"][task["task"]] for seed in world["by_seed"]]
        steps = [run["steps"] for run in runs if run["steps"] is not None]
        best = [run["steps"] / run["over_optimum"] for run in runs if "over_optimum" in run]
        first = row == 0
        axes.plot(steps, np.full(len(steps), row), "o", color=OURS, alpha=0.7, ms=6, zorder=3)
        axes.annotate(f"{task['success']:.3f}", (1.01, row), xycoords=("axes fraction", "data"),
                      color=OURS, va="center", fontsize=8)  # fmt: skip
        if best:
            label = "fewest steps" if first else None
            axes.plot(np.mean(best), row, "|", color=INK, ms=15, mew=1.5, label=label)
        if known := task.get("published"):
            label = "DeepLTL, published" if first else None
            axes.plot(known["steps"], row, "D", color=THEIRS, ms=6, label=label)
            axes.annotate(f"{known['success']:.3f}", (1.07, row), color=THEIRS, va="center",
                          xycoords=("axes fraction", "data"), fontsize=8)  # fmt: skip
    axes.plot([], [], "o", color=OURS, label="skm, a dot for each training seed")
    names = [task["mission"] for task in tasks]
    axes.set_yticks(range(len(tasks)), names, family="monospace", fontsize=7)
    axes.set(xlabel="mean steps; beside them success", xlim=(0, None))
    axes.set_title(f"{world['world']}, {world['starts']} starts", loc="left")
    axes.invert_yaxis()
    axes.grid(axis="x", lw=0.4)
    axes.legend(fontsize=7, loc="upper right")
    axes.spines[["top", "right", "left"]].set_visible(False)
