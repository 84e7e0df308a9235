"""The mean return of repeating tasks beside that of the reference on the true state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from skm_machine.drawing.canvas import words_broken
from skm_machine.errors import SkmError
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.evaluation.task_trials import RoundsEvaluation, evaluate_trials
from skm_primitives.figures.options import INK, Drawn, FigureOptions, plain
from skm_sim.spec import DomainSpec

REFERENCE: Final = "#b8b2a7"
ZERO_SHOT: Final = "#1f7a8c"


def draw(spec: DomainSpec, options: FigureOptions) -> Drawn:
    """Draw the mean return of each task beside that of the reference, as `fig:returns`."""
    planner = options.planner or "product"
    asked = EvaluationOptions(
        planner=planner,
        episodes=options.episodes,
        checkpoint=options.checkpoint,
        seed=options.seed,
        track=options.track,
    )
    found = [evaluate_trials(spec, replace(asked, task=name)) for name in options.tasks or ["all"]]
    rounds = [part for part in found if isinstance(part, RoundsEvaluation)]
    if len(rounds) < len(found) or not spec.trials:
        raise SkmError(f"'{spec.name}' has no reference to draw returns beside")
    tasks = {name: task for part in rounds for name, task in part.tasks.items()}
    whole = RoundsEvaluation(spec.name, planner, options.seed, rounds[0].checkpoint, tasks)
    document = {"planner": planner, "seed": options.seed, "tasks": whole.document()["tasks"]}
    return Drawn(returns_figure(whole, spec.title), document)


def returns_figure(evaluation: RoundsEvaluation, title: str) -> Figure:
    """Return bars for what an evaluation found, with 95 % intervals."""
    found = evaluation.tasks
    steps = max(task.max_steps for task in found.values())
    figure = Figure(figsize=(max(4.5, 2.1 * len(found)), 4.2), layout="constrained")
    axes = figure.add_subplot(ylabel=f"missions completed in {steps} steps")
    places = np.arange(len(found))
    bars = (
        ("optimal_return", "reference, on the true state", REFERENCE, -0.2),
        ("mean_return", "zero-shot, from pixels", ZERO_SHOT, 0.2),
    )
    for key, label, colour, shift in bars:
        means = np.array([getattr(task, key) for task in found.values()])
        ends = np.array([getattr(task, f"{key}_interval") for task in found.values()])
        errors = np.abs(ends.T - means)
        look: dict[str, Any] = {"ecolor": INK, "capsize": 3, "error_kw": {"elinewidth": 1}}
        axes.bar(places + shift, means, 0.38, yerr=errors, color=colour, label=label, **look)
        for place, mean, end in zip(places + shift, means, ends[:, 1], strict=True):
            axes.annotate(
                f"{mean:.2f}", (place, end), (0, 3), textcoords="offset points", ha="center", size=8
            )
    names = [
        "\n".join(
            [
                f"task {name}: {task.ratio:.1%} of the reference",
                *words_broken(task.mission, 6.5, 135),
            ]
        )
        for name, task in found.items()
    ]
    axes.set_xticks(places, names, size=7)
    axes.margins(y=0.12)
    counts = sorted({task.episodes for task in found.values()})
    boards = "–".join(str(count) for count in counts)
    axes.set_title(f"{title}, {boards} random boards a task, 95 % intervals", size=10)
    axes.legend(fontsize=8, framealpha=0.9, edgecolor="none")
    plain(axes)
    return figure
