"""The picture of a learning curve: from the zero-shot level towards the optimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from skm_primitives.few_shot.finetuning import FewShotLearner

INK = "#222831"
FEW_SHOT = "#1f7a8c"
ZERO_SHOT = "#d1345b"
PRINTED_RULE = "#e08e1b"


def finetune_figure(learner: FewShotLearner) -> Figure:
    """Draw how few-shot learning went: beside the optimum where that is known, else as a gain."""
    name = f"{learner.spec.name}/{learner.task.name}"
    title = f"{name}, few-shot on planner {learner.planner}"
    if "return_ratio" in learner.columns:
        return learning_curve_figure(learner.curve, learner.columns, title)
    return gain_figure(learner.curve, learner.columns, title)


def learning_curve_figure(
    curve: Sequence[Sequence[float]], columns: Sequence[str], title: str
) -> Figure:
    """Return the curve, the zero-shot level and the optimum as lines to compare with."""
    data = dict(zip(columns, np.array(curve).T, strict=True))
    steps, ratio = data["steps"], data["return_ratio"]
    figure = Figure(figsize=(6.4, 3.8), dpi=150, layout="constrained")
    axes = figure.add_subplot(title=title, xlabel="environment steps", ylabel="return / optimum")
    printed = data["printed_rule_ratio"]
    axes.fill_between(steps, ratio[0], ratio, color=FEW_SHOT, alpha=0.1, lw=0)
    axes.axhline(1.0, color=INK, lw=1, ls=(0, (1, 1.5)), label="optimum")
    axes.plot(steps, ratio, color=FEW_SHOT, lw=2.2, zorder=3, label=f"few-shot: {ratio.max():.1%}")
    label = f"the paper's rule on the same Q: {printed[-1]:.1%}"
    axes.plot(steps, printed, color=PRINTED_RULE, lw=1.3, label=label)
    label = f"zero-shot: {ratio[0]:.1%}"
    axes.axhline(ratio[0], color=ZERO_SHOT, lw=1.2, ls=(0, (5, 2)), label=label)
    axes.set(xlim=(0, max(float(steps[-1]), 1.0)), ylim=(-0.03, 1.06))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    _finish(axes)
    return figure


def gain_figure(curve: Sequence[Sequence[float]], columns: Sequence[str], title: str) -> Figure:
    """Return by how much a score was above zero-shot in the same worlds, with its 95 % interval."""
    data = dict(zip(columns, np.array(curve).reshape(-1, len(columns)).T, strict=True))
    figure = Figure(figsize=(6.4, 3.8), dpi=150, layout="constrained")
    label = "score above zero-shot"
    axes = figure.add_subplot(title=title, xlabel="environment steps", ylabel=label)
    steps = data["steps"]
    low, high = data["gain_low"], data["gain_high"]
    axes.fill_between(steps, low, high, color=FEW_SHOT, alpha=0.15, lw=0, label="95 %")
    axes.plot(steps, data["gain"], color=FEW_SHOT, lw=2.2, marker=".", label="few-shot")
    axes.axhline(0, color=ZERO_SHOT, lw=1.2, ls=(0, (5, 2)), label="zero-shot")
    axes.set_xlim(0, max(float(steps.max(initial=0)), 1.0))
    _finish(axes)
    return figure


def _finish(axes: Axes) -> None:
    """Lay out what both pictures share: steps in thousands, a quiet grid, a legend."""
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g}k"))
    axes.grid(color="#e6e0d4", lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=9)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="lower right", fontsize=9, framealpha=0.9, edgecolor="none", borderaxespad=1)
