"""Whether values mean what they say: predicted value against γ to the steps that were really taken."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from skm_primitives.evaluation.skill_trials import DEFAULT_EPISODES, runs_of_skills
from skm_primitives.figures.options import Drawn, FigureOptions
from skm_primitives.planning.skill_runs import SkillRuns
from skm_primitives.skills.loading import load_primitives
from skm_sim.arrays import FloatArray
from skm_sim.artists import STATE_COLOURS
from skm_sim.spec import DomainSpec

BINS = 10


def really(runs: SkillRuns, gamma: float) -> FloatArray:
    """Return what each start was really worth: γ to the steps less one, or 0 without success."""
    return np.where(runs.succeeded, gamma ** (runs.steps - 1.0), 0.0)


def calibration_error(runs: Mapping[str, SkillRuns], gamma: float) -> float:
    """Return the mean gap between predicted and real value over bins of equal size."""
    predicted = np.concatenate([run.predicted for run in runs.values()])
    real = np.concatenate([really(run, gamma) for run in runs.values()])
    order = predicted.argsort()
    gaps = [
        abs(predicted[part].mean() - real[part].mean()) * len(part)
        for part in np.array_split(order, BINS)
    ]
    return float(sum(gaps) / len(order))


def draw(spec: DomainSpec, options: FigureOptions) -> Drawn:
    """Draw how values and what was really reached agree, for the single skills of a domain."""
    primitives = load_primitives(spec, options.checkpoint)
    count = options.episodes or DEFAULT_EPISODES
    found = runs_of_skills(spec, primitives, count, options.seed, options.track)
    runs = {name: each for name, (each, _) in found.items()}
    error = calibration_error(runs, spec.gamma)
    document = {"seed": options.seed, "episodes": count, "calibration_error": error}
    return Drawn(calibration_figure(runs, spec.gamma), document)


def calibration_figure(runs: Mapping[str, SkillRuns], gamma: float) -> Figure:
    """Return every start as a dot, and the means of bins of equal size of each skill as a line."""
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#c9c2b3", linewidth=1)
    for colour, (name, run) in zip(STATE_COLOURS, runs.items(), strict=False):
        real = really(run, gamma)
        axes.scatter(run.predicted, real, s=5, color=colour, alpha=0.25, linewidths=0)
        parts = np.array_split(run.predicted.argsort(), 6)
        means = np.array([[run.predicted[part].mean(), real[part].mean()] for part in parts])
        axes.plot(*means.T, color=colour, marker="o", markersize=3, linewidth=1.2, label=name)
    axes.set(
        xlabel="predicted value at the start",
        ylabel="γ to the steps really taken (0: not in time)",
        xlim=(0.3, 1.01),
        ylim=(-0.03, 1.03),
    )
    axes.legend(frameon=False, fontsize=8)
    return figure
