"""Evaluation of the tabular domains: exact over all start cells, seed by seed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from rich.table import Table

from skm_cli.output import console, error_console, print_json
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.planning.policy import make_policy
from skm_primitives.primitives import (
    Primitives,
    TabularPrimitives,
    default_checkpoint,
    load_primitives,
)
from skm_primitives.tabular.exact_evaluation import Runs, best_success, evaluate_policy, joined
from skm_primitives.tabular.q_learning import TabularLearner
from skm_sim.domain import DomainSpec, Task, get_domain
from skm_sim.tabular.model import TabularModel

TRAINING_STEPS: Final = 100_000
"""How long the primitives of every seed are trained, the shipped ones too."""


def run(args: argparse.Namespace) -> int:
    """Evaluate the tasks of one tabular domain and print a table or JSON."""
    spec = get_domain(args.domain)
    tasks = list(spec.tasks.values()) if args.task == "all" else [spec.task(args.task)]
    model = gymnasium.make(spec.env_id).unwrapped.model  # type: ignore[attr-defined]
    runs: dict[str, list[Runs]] = {task.name: [] for task in tasks}
    seeds = range(args.seeds)
    for seed in track(seeds, f"eval {spec.name}", console=error_console(), transient=True):
        primitives = _primitives(spec, args.checkpoint, seed)
        for task in tasks:
            runs[task.name].append(_evaluate(spec, model, primitives, task, args, seed))
    results = {name: _result(model, found) for name, found in runs.items()}
    if args.epsilon:
        for task in tasks:
            mission = compile_mission(task.formula, propositions=spec.propositions)
            best = best_success(model, mission.machine, args.epsilon, task.max_steps)
            results[task.name]["best_success"] = float(best.mean())
    if args.json:
        document = {"domain": spec.name, "planner": args.planner, "epsilon": args.epsilon}
        print_json({**document, "seeds": args.seeds, "tasks": results})
    else:
        _print(spec, args, results)
    return 0


def _primitives(spec: DomainSpec, checkpoint: str | None, seed: int) -> Primitives:
    """Return the primitives of a training seed: seed 0 is shipped, others are trained now."""
    if checkpoint is not None:
        if seed > 0:
            raise SkmError("--checkpoint is one training seed: leave out --seeds")
        return load_primitives(checkpoint, spec)
    if seed == 0:
        return load_primitives(default_checkpoint(spec.name), spec)
    learner = TabularLearner.start(spec, {"seed": seed})
    while learner.steps < TRAINING_STEPS:
        learner.run_round()
    return TabularPrimitives(learner.state)


def _evaluate(
    spec: DomainSpec,
    model: TabularModel,
    primitives: Primitives,
    task: Task,
    args: argparse.Namespace,
    seed: int,
) -> Runs:
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(mission, primitives, args.planner, slip=args.epsilon)
    return evaluate_policy(
        model,
        primitives,
        policy,
        max_steps=task.max_steps,
        epsilon=args.epsilon,
        repetitions=(args.episodes or 10) if args.epsilon else 1,
        seed=args.seed + seed,
    )


def _result(model: TabularModel, per_seed: Sequence[Runs]) -> dict[str, Any]:
    """Return the figures of one task: starts on a constraint apart, all starts, and seed by seed."""
    constraints = [model.propositions.index(name) for name in model.constraints]
    on_constraint: NDArray[np.bool_] = np.any(model.cell_labels[:, constraints], axis=1)

    def off(runs: Runs) -> Runs:
        return runs.among(~on_constraint[runs.start_cells])

    both = joined(per_seed)
    return {
        **off(both).summary(),
        "constraint_starts": both.among(on_constraint[both.start_cells]).summary(),
        "all_starts": both.summary(),
        "impossible_starts": int(np.unique(both.start_cells[both.optimal < 0]).size),
        "per_seed": [off(runs).summary() for runs in per_seed],
    }


def _print(spec: DomainSpec, args: argparse.Namespace, results: dict[str, dict[str, Any]]) -> None:
    title = f"{spec.name}, planner {args.planner}, {args.seeds} seed(s), ε = {args.epsilon:g}, zero-shot"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("task", no_wrap=True)
    columns = {
        "success": "success",
        "best_success": "best\npossible",
        "return_ratio": "return /\noptimum",
        "mean_steps": "steps",
        "optimal_steps": "optimal\nsteps",
        "violations": "vio-\nlations",
        "apart": "success from\na constraint",
    }
    shown = [key for key in columns if key != "best_success" or args.epsilon]
    for key in shown:
        table.add_column(columns[key], justify="right")
    for name, result in results.items():
        figures = {**result, "apart": result["constraint_starts"].get("success")}
        table.add_row(name, *(_figure(figures.get(key)) for key in shown))
    console().print(table)


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}" if value < 2 else f"{value:.2f}"
