"""Few-shot learning: its curve as a table and a picture, and its result as text."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skm_cli.output import console, print_json, written
from skm_primitives.few_shot.finetuning import FewShotLearner
from skm_primitives.skills.checkpoint import Card


def finish_finetune(
    args: argparse.Namespace,
    learner: FewShotLearner,
    card: Card,
    cpu_seconds: float,
    about: dict[str, Any],
) -> None:
    """Write the files that were asked for, and print what came of it."""
    if args.curve:
        write_curve(learner, args.curve)
    if args.plot:
        from skm_primitives.figures.finetune_curve import finetune_figure  # noqa: PLC0415

        with written(args.plot):
            finetune_figure(learner).savefig(args.plot)
    summary = {
        "domain": card.domain,
        **learner.options,
        "steps": learner.steps,
        "episodes": learner.episodes,
        "cpu_seconds": round(cpu_seconds, 3),
        **card.scores,
        **learner.remarks(),
        **about,
    }
    if args.json:
        print_json(summary)
    else:
        print_finetune(summary, (args.curve, args.plot))


def write_curve(learner: FewShotLearner, path: Path) -> None:
    """Write the learning curve as CSV, a line an evaluation."""
    with written(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(learner.columns)
        for steps, episodes, *rest in learner.curve:
            writer.writerow([int(steps), int(episodes), *(f"{value:.6g}" for value in rest)])


def print_finetune(summary: dict[str, Any], files: Sequence[Path | None]) -> None:
    """Print where it began and where it ended, and what was written."""
    out = console()
    out.print(
        f"[bold]{summary['domain']}/{summary['task'] or 'mission'}[/bold], planner"
        f" {summary['planner']}, seed {summary['seed']}: {summary['steps']} steps,"
        f" {summary['cpu_seconds']:.1f} CPU s"
    )
    for line in _gain_lines(summary) if "proved" in summary else _ratio_lines(summary):
        out.print(f"  {line}")
    for path in (summary["out"], *files):
        if path:
            out.print(f"  -> {path}", soft_wrap=True)


def _ratio_lines(summary: dict[str, Any]) -> list[str]:
    """Tell of a world in which the optimum is known."""
    lines = []
    for name, kind in (("zero-shot", "zero_shot_"), ("few-shot", "")):
        ratio, success = (100 * summary[f"{kind}{what}"] for what in ("return_ratio", "success"))
        lines.append(f"{name:<10} return {ratio:6.2f} % of the optimum, success {success:6.2f} %")
    if summary["steps_to_99"] is not None:
        lines.append(f"99 % of the optimum after {summary['steps_to_99']} steps")
    return lines


def _gain_lines(summary: dict[str, Any]) -> list[str]:
    """Tell of worlds that were drawn, in which both policies ran."""
    kind, worlds = summary["score_is"], int(summary["worlds"])
    lines = []
    for name, which in (("zero-shot", "zero_shot_"), ("few-shot", "")):
        success, score = 100 * summary[f"{which}success"], summary[f"{which}score"]
        lines.append(f"{name:<10} success {success:6.2f} %, {kind} {score:.4f}")
    low, high = summary["gain_low"], summary["gain_high"]
    found = f"{summary['gain']:+.4f} (95 %: {low:+.4f} to {high:+.4f}) in {worlds} worlds"
    if summary["proved"]:
        return [*lines, f"proved better: {kind} {found} that nothing was chosen by"]
    if summary["candidate"]:
        return [*lines, f"not proved better ({kind} {found}): the zero-shot policy is kept"]
    return [*lines, "nothing better was found in validation: the zero-shot policy is kept"]
