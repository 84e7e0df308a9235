"""`skm bench robot`: missions on a robot, through the bridge."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from skm_cli.output import print_json
from skm_cli.reports.robot import print_trials
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.evaluation.robot_trials import RobotRun


def _say_run(run: RobotRun) -> None:
    planned = f" of {run.planned:.2f} planned" if run.planned else ""
    print(
        f"{run.outcome}, in truth {run.true_outcome}: {run.seconds:.1f} s, {run.way:.2f}"
        f" m{planned}: {run.mission}",
        file=sys.stderr,
    )


def run_robot(args: argparse.Namespace) -> int:
    """Run missions drawn at random, or a domain's tasks, on a robot."""
    from skm_primitives.evaluation.robot_trials import trials_document  # noqa: PLC0415
    from skm_sim.robots.embodiment import is_on_map  # noqa: PLC0415

    if not args.domain:
        raise SkmError("--domain must name a domain on a map; `skm map` makes one.")
    if args.missions < 1 or args.starts < 1:
        raise SkmError("--missions and --starts must be at least 1.")
    if args.real_time:
        from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

        require_ros()
    if args.robot != "car" and not is_on_map(args.domain):
        raise SkmError(f"--robot {args.robot}: tasks of domains that are on no map run on the Car.")
    seed = args.seed or 0
    runs = _run_missions(args, seed) if is_on_map(args.domain) else _run_tasks(args, seed)
    document = {"domain": args.domain, "robot": args.robot, "seed": seed, **trials_document(runs)}
    if args.json:
        print_json(document)
    else:
        print_trials(document)
    return 0


def _run_missions(args: argparse.Namespace, seed: int) -> list[RobotRun]:
    """Run missions drawn at random in a building."""
    from skm_primitives.evaluation.robot_trials import draw_trials, robot_trials  # noqa: PLC0415
    from skm_primitives.skills.loading import load_primitives  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415
    from skm_sim.maps.spec import load_building  # noqa: PLC0415
    from skm_sim.robots.simulated import SensorModel  # noqa: PLC0415

    spec, building = get_domain(args.domain), load_building(args.domain)
    primitives = load_primitives(spec)
    trials = draw_trials(spec, primitives, args.missions, args.starts, seed)
    if args.real_time:
        from skm_ros.bench.robot import real_time_trials  # noqa: PLC0415

        return real_time_trials(
            spec,
            building,
            primitives,
            trials,
            folder=args.domain,
            rate=args.rate,
            robot=args.robot,
            say=_say_run,
        )
    return robot_trials(
        spec,
        building,
        primitives,
        trials,
        seed=seed,
        senses=SensorModel(),
        robot=args.robot,
        say=_say_run,
    )


def _run_tasks(args: argparse.Namespace, seed: int) -> list[RobotRun]:
    """Run tasks of a domain whose robot the Car plays."""
    from skm_primitives.evaluation.robot_trials import run_embodiments  # noqa: PLC0415
    from skm_primitives.skills.loading import load_primitives  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415
    from skm_sim.robots.simulated import SensorModel  # noqa: PLC0415

    spec = get_domain(args.domain)
    tasks = args.tasks or [spec.demo_task.name]
    if args.real_time:
        from skm_ros.bench.robot import real_time_embodiments  # noqa: PLC0415

        return real_time_embodiments(
            spec, tasks, args.starts, seed=seed, rate=args.rate, say=_say_run
        )
    primitives = load_primitives(spec)
    return run_embodiments(
        spec, primitives, tasks, args.starts, seed=seed, senses=SensorModel(), say=_say_run
    )
