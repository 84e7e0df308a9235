"""Evaluation of the Safety domain: missions on random feasible layouts, or on the authors' layout."""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
from rich.progress import track
from rich.table import Table

from skm_cli.output import console, error_console, print_json
from skm_machine import Status, compile_mission
from skm_machine.errors import SkmError
from skm_primitives.deep.box_primitives import BoxPrimitives
from skm_primitives.deep.skill_runs import run_skill
from skm_primitives.episodes import Episode, run_episode
from skm_primitives.evaluation.statistics import proportion_interval
from skm_primitives.planning.policy import make_policy
from skm_primitives.primitives import Primitives, default_checkpoint, load_primitives
from skm_sim.domain import DomainSpec, Task, get_domain
from skm_sim.safety.feasibility import SKILLS, STAGES, sample_feasible
from skm_sim.safety.layout import Layout, authors_layouts, sample_layouts

DEFAULT_EPISODES = {"random": 200, "test": 20}


def run(args: argparse.Namespace) -> int:
    """Evaluate the tasks of the Safety domain and print a table or JSON."""
    spec = get_domain(args.domain)
    primitives = load_primitives(args.checkpoint or default_checkpoint(spec.name), spec)
    if args.task == "skills":
        results = _evaluate_skills(spec, primitives, args)
    else:
        tasks = list(spec.tasks.values()) if args.task == "all" else [spec.task(args.task)]
        results = {task.name: _evaluate(spec, primitives, task, args) for task in tasks}
    document = {
        "domain": spec.name,
        "planner": args.planner,
        "layouts": args.layouts,
        "seed": args.seed,
        "checkpoint": primitives.digest,
        "tasks": results,
    }
    if args.json:
        print_json(document)
    else:
        _print(spec, args, results)
    return 0


def _evaluate(
    spec: DomainSpec, primitives: Primitives, task: Task, args: argparse.Namespace
) -> dict[str, Any]:
    """Run one task on every layout, each from its start."""
    count = args.episodes or DEFAULT_EPISODES[args.layouts]
    layouts, share = _layouts(args, task, count)
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(mission, primitives, args.planner)
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    label = f"eval {spec.name}/{task.name}"
    episodes: list[Episode] = [
        run_episode(
            env, primitives, policy, max_steps=task.max_steps, options={"layout": layouts[index]}
        )
        for index in track(range(count), label, console=error_console(), transient=True)
    ]
    env.close()
    accepted = [episode for episode in episodes if episode.status is Status.ACCEPTED]
    failed = sum(episode.status is Status.FAILED for episode in episodes)
    return {
        "success": len(accepted) / count,
        "success_interval": proportion_interval(len(accepted), count),
        "violations": failed / count,
        "violations_interval": proportion_interval(failed, count),
        "mean_steps": float(np.mean([e.steps for e in accepted])) if accepted else None,
        "feasible": share,
        "episodes": count,
    }


def _evaluate_skills(
    spec: DomainSpec, primitives: Primitives, args: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Pursue each single skill on feasible random layouts, all layouts of a skill as one batch."""
    if not isinstance(primitives, BoxPrimitives):
        raise SkmError(f"these primitives of '{spec.name}' have no batch of values to evaluate")
    count = args.episodes or DEFAULT_EPISODES["random"]
    random = np.random.default_rng(args.seed)
    results: dict[str, dict[str, Any]] = {}
    for name, skill in track(
        SKILLS.items(), f"eval {spec.name} skills", console=error_console(), transient=True
    ):
        layouts, share = sample_feasible(random, count, [skill])
        runs = run_skill(primitives, spec, skill, {"layout": layouts}, count, spec.primitive_steps)
        succeeded = int(runs.succeeded.sum())
        results[name] = {
            "success": succeeded / count,
            "success_interval": proportion_interval(succeeded, count),
            "violations": None,
            "mean_steps": float(runs.steps[runs.succeeded].mean()) if succeeded else None,
            "feasible": share,
            "episodes": count,
        }
    return results


def _layouts(args: argparse.Namespace, task: Task, count: int) -> tuple[Layout, float]:
    """Return the layouts to run on, and what share of all layouts the task is possible on."""
    random = np.random.default_rng([args.seed, int(task.name)])
    sample = authors_layouts if args.layouts == "test" else sample_layouts
    return sample_feasible(random, count, STAGES[task.name], sample)


def _print(spec: DomainSpec, args: argparse.Namespace, results: dict[str, dict[str, Any]]) -> None:
    title = f"{spec.name}, planner {args.planner}, {args.layouts} layouts, zero-shot"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for header in ("task", "success", "95 %", "violations", "steps", "feasible", "episodes"):
        table.add_column(header, justify="left" if header == "task" else "right")
    for name, result in results.items():
        low, high = result["success_interval"]
        steps = result["mean_steps"]
        table.add_row(
            name,
            f"{result['success']:.3f}",
            f"{low:.3f}–{high:.3f}",
            "–" if result["violations"] is None else f"{result['violations']:.3f}",
            "–" if steps is None else f"{steps:.1f}",
            f"{result['feasible']:.2f}",
            str(result["episodes"]),
        )
    console().print(table)
