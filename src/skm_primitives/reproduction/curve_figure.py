"""Learning curves as the paper draws them: mean and one standard deviation, and the best possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.figure import Figure

from skm_primitives.baselines import METHODS, Curves
from skm_primitives.figures.options import INK, plain
from skm_primitives.reproduction.experiments import METHODS_SHOWN, PRETRAINING

COLOURS: Final = {
    "ql": "#8d99ae",
    "ql-rs": "#8d99ae",
    "crm": "#e09f3e",
    "crm-rs": "#e09f3e",
    "hrm": "#2a9d8f",
    "hrm-rs": "#2a9d8f",
    "sm-paper": "#c1121f",
    "ql-sm-paper": "#c1121f",
    "sm": "#1d3557",
    "ql-sm": "#1d3557",
}


def curves_figure(panels: Sequence[tuple[str, Mapping[str, Curves], float]], title: str) -> Figure:
    """Return a panel for each (title, curves by method, best possible), two in a row.

    Methods that are only in tables are left out.
    """
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns + 1.8, 3.3 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).reshape(-1)
    for spare in axes[len(panels) :]:
        spare.remove()
    for panel, (name, curves, best) in zip(axes, panels, strict=False):
        for method in METHODS_SHOWN:
            found = curves[method]
            smooth = found.smoothed()
            mean, deviation = smooth.mean(axis=0), smooth.std(axis=0)
            colour = COLOURS.get(method, INK)
            dashed = method in ("ql-rs", "crm-rs", "hrm-rs", "sm", "sm-paper")
            steps = found.steps / 1000
            panel.plot(
                steps, mean, color=colour, lw=1.4, ls="--" if dashed else "-",
                label=METHODS[method].label,
            )  # fmt: skip
            panel.fill_between(steps, mean - deviation, mean + deviation, color=colour, alpha=0.08)
        panel.axhline(best, color=INK, lw=0.9, label="best possible")
        panel.axvline(PRETRAINING / 1000, color=INK, lw=0.9, ls=":", label="length of pretraining")
        panel.set_title(name, size=10)
        panel.set_xlabel("thousand steps")
        panel.set_ylabel("success at ε = 0.1")
        panel.set_ylim(-0.03, 1.0)
        plain(panel)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(title, size=11)
    return figure
