"""`skm bench robot`: missions on a robot, through the bridge."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from skm_cli.output import print_json
from skm_cli.reports.robot_report import print_trials
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.evaluation.robot_trials import RobotRun


def _say_run(run: RobotRun) -> None:
    print(
        f"{run.outcome}, in truth {run.true_outcome}: {run.seconds:.1f} s, {run.way:.2f} m of"
        f" {run.planned:.2f} planned: {run.mission}",
        file=sys.stderr,
    )


def run_robot(args: argparse.Namespace) -> int:
    """Run missions drawn by chance on the Car."""
    from skm_primitives.evaluation.robot_trials import (  # noqa: PLC0415
        draw_trials,
        robot_trials,
        trials_document,
    )
    from skm_primitives.loading import load_primitives  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415
    from skm_sim.maps.map_folder import load_building  # noqa: PLC0415
    from skm_sim.robots.rig import Senses  # noqa: PLC0415

    if not args.domain:
        raise SkmError("--domain must name a domain on a map; `skm map` makes one.")
    if args.missions < 1 or args.starts < 1:
        raise SkmError("--missions and --starts must be at least 1.")
    seed = args.seed or 0
    spec, building = get_domain(args.domain), load_building(args.domain)
    primitives = load_primitives(spec)
    trials = draw_trials(spec, primitives, args.missions, args.starts, seed)
    if args.real_time:
        from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

        require_ros()
        from skm_ros.bench.robot_bench import real_time_trials  # noqa: PLC0415

        runs = real_time_trials(
            spec, building, primitives, trials, folder=args.domain, rate=args.rate, say=_say_run
        )
    else:
        runs = robot_trials(
            spec, building, primitives, trials, seed=seed, senses=Senses(), say=_say_run
        )
    document = {"domain": args.domain, "seed": seed, **trials_document(runs)}
    if args.json:
        print_json(document)
    else:
        print_trials(document)
    return 0
