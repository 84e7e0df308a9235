"""Few-shot learning: its curve as a table and a picture, and what came of it in lines for people."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skm_cli.output import console, written
from skm_primitives.figures.finetune_curve import learning_curve_figure
from skm_primitives.tabular.finetune import COLUMNS, FinetuneLearner


def write_curve(learner: FinetuneLearner, path: Path) -> None:
    """Write the learning curve as CSV, a line an evaluation."""
    with written(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for steps, episodes, *rest in learner.curve:
            writer.writerow([int(steps), int(episodes), *(f"{value:.6g}" for value in rest)])


def draw_curve(learner: FinetuneLearner, path: Path) -> None:
    """Draw the learning curve between the zero-shot level and the optimum."""
    title = (
        f"{learner.spec.name}/{learner.task.name}, few-shot on planner {learner.options['planner']}"
    )
    with written(path):
        learning_curve_figure(learner.curve, title).savefig(path)


def print_finetune(summary: dict[str, Any], files: Sequence[Path | None]) -> None:
    """Print where it began and where it ended, and what was written."""
    out = console()
    out.print(
        f"[bold]{summary['domain']}/{summary['task']}[/bold], planner {summary['planner']},"
        f" seed {summary['seed']}: {summary['steps']} steps, {summary['cpu_seconds']:.1f} CPU s"
    )
    for name, kind in (("zero-shot", "zero_shot_"), ("few-shot", "")):
        ratio, success = (100 * summary[f"{kind}{what}"] for what in ("return_ratio", "success"))
        out.print(f"  {name:<10} return {ratio:6.2f} % of the optimum, success {success:6.2f} %")
    if summary["steps_to_99"] is not None:
        out.print(f"  99 % of the optimum after {summary['steps_to_99']} steps")
    for path in (summary["out"], *files):
        if path:
            out.print(f"  -> {path}", soft_wrap=True)
