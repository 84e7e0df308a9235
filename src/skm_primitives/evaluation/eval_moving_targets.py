"""Evaluation of Moving Targets: missions that repeat, beside the reference on the true state.

`--task skills` pursues single skills instead, by the network alone and as they are executed.
"""

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
from skm_primitives.deep.moving_targets.exact_skills import ExactPixelPrimitives
from skm_primitives.deep.moving_targets.pixel_primitives import PixelPrimitives
from skm_primitives.deep.moving_targets.skill_report import milliseconds_per_step, skill_report
from skm_primitives.episodes import Episode, run_episode
from skm_primitives.evaluation.statistics import mean_interval, proportion_interval
from skm_primitives.planning.policy import make_policy
from skm_primitives.primitives import Primitives, default_checkpoint, load_primitives
from skm_sim.domain import DomainSpec, Task, get_domain
from skm_sim.moving_targets import board
from skm_sim.moving_targets.missions import random_missions
from skm_sim.moving_targets.reference import optimal_rounds

DEFAULT_EPISODES = 100
DEFAULT_SKILL_BOARDS = 500


def run(args: argparse.Namespace) -> int:
    """Evaluate the tasks, or the random missions, and print a table or JSON."""
    spec = get_domain(args.domain)
    primitives: Primitives
    if args.exact:
        primitives = ExactPixelPrimitives(spec)
    else:
        primitives = load_primitives(args.checkpoint or default_checkpoint(spec.name), spec)
    if args.task == "skills":
        return _run_skills(spec, primitives, args)
    results = {
        task.name: evaluate(
            spec, primitives, task, args.planner, args.seed, args.episodes or DEFAULT_EPISODES
        )
        for task in _tasks(spec, args.task)
    }
    document = {
        "domain": spec.name,
        "planner": args.planner,
        "seed": args.seed,
        "checkpoint": primitives.digest,
        "mean_ratio": float(np.mean([result["ratio"] for result in results.values()])),
        "tasks": results,
    }
    if args.json:
        print_json(document)
    else:
        _print(spec, args, results)
    return 0


def _run_skills(spec: DomainSpec, primitives: Primitives, args: argparse.Namespace) -> int:
    """Evaluate single skills, and the time that a composed step takes, and print them."""
    if not isinstance(primitives, PixelPrimitives):
        raise SkmError(f"these primitives of '{spec.name}' were not learned from pixels")
    boards = args.episodes or DEFAULT_SKILL_BOARDS
    task = list(spec.tasks.values())[1]
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(mission, primitives, args.planner)
    document = {
        "domain": spec.name,
        "seed": args.seed,
        "checkpoint": primitives.digest,
        "episodes": boards,
        **skill_report(primitives, boards, args.seed),
        "milliseconds_per_step": milliseconds_per_step(primitives, policy),
    }
    if args.json:
        print_json(document)
        return 0
    title = (
        f"{spec.name}, single skills on {boards} boards each, within {spec.primitive_steps} steps"
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for header in ("skill", "as executed", "95 %", "network alone", "95 %"):
        table.add_column(header, justify="left" if header == "skill" else "right")
    executed, alone = document["skills"]["executed"], document["skills"]["greedy"]
    for name in executed:
        row = [name]
        for rate in (executed[name], alone[name]):
            low, high = proportion_interval(round(rate * boards), boards)
            row += [f"{rate:.3f}", f"{low:.3f}–{high:.3f}"]
        table.add_row(*row)
    console().print(table)
    console().print(f"a composed step: {document['milliseconds_per_step']} ms of CPU time")
    return 0


def _tasks(spec: DomainSpec, name: str) -> list[Task]:
    """Return the domain's tasks, one of them, or the 20 missions that no training mentioned."""
    if name == "all":
        return list(spec.tasks.values())
    if name == "random":
        return list(random_missions())
    found = [task for task in random_missions() if task.name == name]
    return found or [spec.task(name)]


def evaluate(
    spec: DomainSpec, primitives: Primitives, task: Task, planner: str, seed: int, count: int
) -> dict[str, Any]:
    """Run one task on `count` random boards; the reference runs on the same boards."""
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(mission, primitives, planner)
    boards = board.sample(np.random.default_rng([seed, 7]), count)
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    episodes: list[Episode] = []
    optimal: list[int] = []
    label = f"eval {spec.name}/{task.name}"
    for index in track(range(count), label, console=error_console(), transient=True):
        options = {"state": boards[index].tobytes()}
        episodes.append(
            run_episode(
                env, primitives, policy, max_steps=task.max_steps, seed=index, options=options
            )
        )
        rng = np.random.default_rng([seed, index])
        optimal.append(optimal_rounds(boards[index], mission.machine, task.max_steps, rng))
    env.close()
    returns = [float(episode.accepting_visits) for episode in episodes]
    failed = sum(episode.status is Status.FAILED for episode in episodes)
    mean_return, optimal_return = float(np.mean(returns)), float(np.mean(optimal))
    return {
        "mission": task.formula,
        "mean_return": mean_return,
        "mean_return_interval": mean_interval(returns),
        "optimal_return": optimal_return,
        "optimal_return_interval": mean_interval([float(rounds) for rounds in optimal]),
        "ratio": mean_return / optimal_return if optimal_return else 1.0,
        "violations": failed / count,
        "violations_interval": proportion_interval(failed, count),
        "episodes": count,
    }


def _print(spec: DomainSpec, args: argparse.Namespace, results: dict[str, dict[str, Any]]) -> None:
    title = f"{spec.name}, planner {args.planner}, zero-shot, rounds in 50 steps"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    headers = ("task", "return", "95 %", "reference", "ratio", "violations", "episodes")
    for header in headers:
        table.add_column(header, justify="left" if header == "task" else "right")
    for name, result in results.items():
        low, high = result["mean_return_interval"]
        table.add_row(
            name,
            f"{result['mean_return']:.2f}",
            f"{low:.2f}–{high:.2f}",
            f"{result['optimal_return']:.2f}",
            f"{result['ratio']:.3f}",
            f"{result['violations']:.3f}",
            str(result["episodes"]),
        )
    console().print(table)
    mean_ratio = np.mean([result["ratio"] for result in results.values()])
    console().print(f"mean ratio {mean_ratio:.3f}")
