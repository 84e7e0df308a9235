"""What each planner makes of the same skills: the paper's, with and without its assumption, and skm's.

    python benchmarks/planner_table.py --episodes 50 --seed 2029
    python benchmarks/planner_table.py --episodes 50 --seed 2029 --domain zones --each-task

A cell is success, and behind the stroke the return over that of the optimum, or the rounds over those of
the reference on the true state, where a domain has either. In the offices figures are exact, over all
starts from which a task is possible, five training seeds; elsewhere each task has `--episodes` layouts,
the same for every planner. A row is the mean over the tasks of a domain. With `--keep DIR` nothing is
done twice.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skm_cli.output import console, plain_table, track
from skm_primitives.evaluation import EvaluationOptions
from skm_primitives.evaluation.spread import evaluate_spread

PLANNERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "paper": {"planner": "paper"},
    "paper, possible only": {"planner": "paper", "possible_only": True},
    "values": {"planner": "values"},
    "product (default)": {"planner": "product"},
}
DOMAINS: Final[Mapping[str, Mapping[str, Any]]] = {
    "office": {"seeds": 5},
    "office_absorbing": {"seeds": 5},
    "safety": {},
    "zones": {"task": "finite"},
    "moving_targets": {},
}
"""The domains, with the options of their evaluations."""
Figures = tuple[float | None, float | None]


def figures(task: Mapping[str, Any]) -> Figures:
    """Return success and ratio of a task's evaluation as JSON; None where there is none."""
    if "ratio" in task:
        return None, task["ratio"]
    task = task.get("all_starts", task)
    return task["success"], task.get("return_ratio")


def mean(found: list[float | None]) -> float | None:
    """Return the mean of what there is."""
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


def shown(success: float | None, ratio: float | None) -> str:
    """Return a cell of the table."""
    return " / ".join("–" if value is None else f"{value:.3f}" for value in (success, ratio))


def main() -> int:
    """Evaluate every planner on every domain and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domain", action="append", choices=DOMAINS, help="default: all")
    parser.add_argument("--episodes", type=int, default=50, help="layouts of each task")
    parser.add_argument("--seed", type=int, default=2029)
    parser.add_argument("--each-task", action="store_true", help="a row for each task as well")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--keep", type=Path, help="a folder in which results are kept")
    args = parser.parse_args()
    table = plain_table("success / ratio", ("domain", *PLANNERS))
    asked = [(domain, name) for domain in args.domain or DOMAINS for name in PLANNERS]
    found: dict[str, dict[str, dict[str, Figures]]] = {}
    for domain, name in track(asked, "planners"):
        layouts = (
            {"episodes": args.episodes, "seed": args.seed} if "seeds" not in DOMAINS[domain] else {}
        )
        options = EvaluationOptions(**DOMAINS[domain], **PLANNERS[name], **layouts)
        tasks = evaluate_spread(domain, options, args.workers, args.keep).document()["tasks"]
        for task, figures_of_task in tasks.items():
            found.setdefault(domain, {}).setdefault(task, {})[name] = figures(figures_of_task)
    for domain, tasks in found.items():
        if args.each_task:
            for task, cells in tasks.items():
                table.add_row(f"{domain}: {task}", *(shown(*cells[name]) for name in PLANNERS))
        means = [
            [mean([cells[name][i] for cells in tasks.values()]) for i in (0, 1)]
            for name in PLANNERS
        ]
        table.add_row(domain, *(shown(*pair) for pair in means))
    console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
