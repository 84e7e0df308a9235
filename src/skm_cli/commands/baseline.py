"""`skm baseline`: learn a mission by a method that skill machines are compared with."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from skm_cli.output import (
    add_keep_option,
    add_workers_option,
    console,
    plain_table,
    print_json,
    seed_list,
    steps_bar,
)
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.baselines import Curves, LearningSettings
    from skm_primitives.baselines.methods import Experiment


EPILOG = """\
examples:
  skm baseline office --method crm --task coffee_mail --seeds 10
  skm baseline office --method ql --task coffee_mail --alpha 0.5 --initial 0.001 --seeds 10
  skm baseline office --method hrm --mission "G F A & G F C & G !decoration" --episode-steps 200
  skm baseline office --method ql-sm-paper --task all --seeds 60 --workers 2 --json

methods: ql, crm, hrm; ql-rs, crm-rs, hrm-rs with shaped rewards; hrm-all-edges with options for edges
that the world never takes; sm, sm-paper, sm-values: skills composed zero-shot by the planner product,
paper or values; ql-sm, ql-sm-paper: few-shot from there; ql-sm-paper-counters: its Q sees the world's
hidden counters. Settings left out are those in effect in the paper's comparison.
"""

SETTINGS = ("steps", "every", "alpha", "gamma", "epsilon", "test_epsilon", "initial")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm baseline` to the command."""
    parser = subparsers.add_parser(
        "baseline",
        help="train baselines: QL, CRM, HRM and others",
        description=(
            "Train baselines on missions of a tabular domain, and print the learning curve."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help="a tabular domain, such as office")
    parser.add_argument("--method", required=True, help="one of the methods below")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--task", help="a task of the domain, several separated by commas, or all")
    what.add_argument("--mission", help="a mission instead of a task")
    parser.add_argument("--repeat", action="store_true", help="repeat --mission after each success")
    parser.add_argument(
        "--horizon",
        choices=("auto", "finite", "infinite"),
        default="auto",
        help=(
            "read the formula as a mission with an end (finite) or as a recurring mission "
            "(infinite); default: skm decides, and `skm check` says why"
        ),
    )
    parser.add_argument(
        "--seeds",
        type=seed_list,
        default=range(1),
        help="number or list of seeds: 60, 0-59 or 3,5 (default: 1)",
    )
    parser.add_argument("--steps", type=int, help="steps per run (default: 400000)")
    parser.add_argument("--every", type=int, help="steps between evaluations (default: 1000)")
    parser.add_argument("--alpha", type=float, help="step size (default: 0.1; ql-sm: 0.5)")
    parser.add_argument("--gamma", type=float, help="discount (default: 0.9)")
    parser.add_argument(
        "--epsilon", type=float, help="probability of a random action in training (default: 0.5)"
    )
    parser.add_argument(
        "--test-epsilon",
        type=float,
        help="probability of a random action in evaluations (default: 0.1)",
    )
    parser.add_argument(
        "--initial", type=float, help="initial value of Q (default: 2; ql-sm: 0.001)"
    )
    parser.add_argument(
        "--episode-steps", type=int, help="maximum length of an episode (default: 1000)"
    )
    parser.add_argument("--episodes", type=int, help="episodes per evaluation (default: 10)")
    add_workers_option(parser, "1", "the runs")
    add_keep_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Learn, showing progress on stderr, and print how well it went beside the best possible."""
    from skm_primitives.baselines import best_return  # noqa: PLC0415
    from skm_primitives.baselines.methods import (  # noqa: PLC0415
        collected,
        find_method,
        jobs_of,
    )
    from skm_primitives.workers import Job, run_kept  # noqa: PLC0415

    experiment = _experiment(args)
    names = [*SETTINGS, "episode_steps"]
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.episodes is not None:
        given["evaluations"] = args.episodes
    settings = find_method(args.method).settings(**given)
    jobs = jobs_of(experiment, args.method, settings, args.seeds)
    problem = experiment.problem()
    results: dict[str, Any] = {}
    started, worked = time.monotonic(), time.process_time()
    with steps_bar() as progress:
        bar = progress.add_task(args.method, total=settings.steps * len(args.seeds))

        def done(job: Job, found: Any) -> None:  # noqa: ANN401 - the scores of some seeds
            results[job.key] = found
            progress.advance(bar, settings.steps * len(found))

        run_kept(jobs, args.workers, args.keep, done)
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - worked
    speed = round(settings.steps * len(args.seeds) / cpu_seconds) if args.workers == "1" else None
    curves = collected(args.method, settings, jobs, results)
    best = best_return(problem, settings.test_epsilon, settings.episode_steps)
    if args.json:
        missions = [mission for mission, _ in experiment.missions]
        kind = {"score": "rounds" if problem.endless else "success", "best_possible": best}
        about = {"domain": args.domain, "missions": missions, "seconds": round(seconds, 3)}
        about["steps_per_cpu_second"] = speed
        print_json({**about, **kind, **curves.document()})
    else:
        _print(curves, settings, best, endless=problem.endless)
        if speed:
            print(f"{speed:,} steps of learning a CPU second, evaluations included")
    return 0


def _experiment(args: argparse.Namespace) -> Experiment:
    from skm_primitives.baselines.methods import Experiment, of_tasks  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415

    if args.mission:
        return Experiment(args.domain, ((args.mission, args.repeat),), args.horizon)
    if args.repeat:
        raise SkmError("--repeat goes with --mission; a task says itself whether it repeats.")
    everything = list(get_domain(args.domain).tasks)
    return of_tasks(args.domain, everything if args.task == "all" else args.task.split(","))


def _print(curves: Curves, settings: LearningSettings, best: float, *, endless: bool) -> None:
    kind = "rounds an episode" if endless else "success"
    title = f"{curves.method}: {kind} at ε = {settings.test_epsilon}, {len(curves.seeds)} run(s)"
    table = plain_table(title, ["steps", "mean", "deviation", "best possible"])
    for steps in sorted({settings.steps * part // 8 for part in range(9)}):
        mean, deviation = curves.at(steps)
        table.add_row(f"{steps}", f"{mean:.3f}", f"{deviation:.3f}", f"{best:.3f}")
    console().print(table)
