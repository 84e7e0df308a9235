"""`skm bench`: how fast the nodes go round beside a bare loop, and whether they are in time."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from skm_cli.commands.bench_options import EPILOG, add_options
from skm_cli.commands.bench_robot import run_robot
from skm_cli.output import print_json
from skm_machine.errors import SkmError


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm bench` to the command."""
    parser = subparsers.add_parser(
        "bench",
        help="measure the loop of the nodes",
        description="Measure the lock-step loop of the nodes against a bare loop of messages, or"
        " how well the nodes hold a rate in real time.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure what is asked for, and print it."""
    if args.what == "core":
        return _run_core(args.domain, as_json=args.json)
    if args.what == "robot":
        return run_robot(args)
    from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.graph import load_benchmarks  # noqa: PLC0415

    usual = load_benchmarks()[args.what]
    domain, mission = args.domain or usual["domain"], args.mission or usual["mission"]
    steps = int(usual["steps"]) if args.steps is None else args.steps
    seed = int(usual.get("seed", 0)) if args.seed is None else args.seed
    if steps < 1 or min(args.rounds, args.trials, args.minutes) < 1 or args.stops < 0:
        raise SkmError("--steps, --rounds, --trials and --minutes must be at least 1, --stops 0.")
    if not 0.01 <= args.rate <= 1000:
        raise SkmError(f"--rate is {args.rate}; it must be from 0.01 to 1000 Hz.")
    if args.what == "loop":
        return _run_loop(args, domain, mission, steps)
    if args.what == "faults":
        return _run_faults(args, domain, mission, seed)
    if args.what == "patrol":
        return _run_patrol(args, domain, mission, seed)
    if args.what == "web":
        return _run_web(args, domain, mission, steps, seed)
    return _run_real_time(args, domain, mission, steps)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _run_core(domain: str | None, *, as_json: bool) -> int:
    """Measure the core, of one domain or of all that come with skills."""
    from skm_cli.reports.bench import print_core  # noqa: PLC0415
    from skm_primitives.evaluation.speed import measure_speed  # noqa: PLC0415
    from skm_sim import domain_names, get_domain  # noqa: PLC0415

    specs = [get_domain(name) for name in ([domain] if domain else domain_names())]
    timings = measure_speed(spec for spec in specs if spec.checkpoint)
    if as_json:
        print_json([timing.document() for timing in timings])
        return 0
    print_core(timings)
    return 0


def _run_faults(args: argparse.Namespace, domain: str, mission: str, seed: int) -> int:
    """Kill and freeze the nodes, and say what followed."""
    from skm_cli.reports.bench import print_faults  # noqa: PLC0415
    from skm_ros.bench.faults import measure_faults, summary  # noqa: PLC0415

    faults = measure_faults(args.system, domain, mission, args.rate, seed, args.trials, _say)
    if args.json:
        print_json({"domain": domain, "rate": args.rate, "faults": summary(faults)})
    else:
        print_faults(summary(faults), args.rate)
    return 0


def _run_patrol(args: argparse.Namespace, domain: str, mission: str, seed: int) -> int:
    """Patrol for minutes, and say how each went."""
    from skm_cli.reports.bench import print_patrol  # noqa: PLC0415
    from skm_ros.bench.patrol import measure_patrol  # noqa: PLC0415

    found = measure_patrol(
        args.system, domain, mission, args.rate, seed, args.minutes, args.stops, _say
    )
    if args.json:
        print_json({"domain": domain, "mission": mission, "rate": args.rate, **found})
    else:
        print_patrol(found, args.rate)
    return 0


def _run_web(args: argparse.Namespace, domain: str, mission: str, steps: int, seed: int) -> int:
    """Measure what open pages cost."""
    from skm_cli.reports.bench import print_pages  # noqa: PLC0415
    from skm_ros.bench.page import measure_pages  # noqa: PLC0415

    found = measure_pages(domain, mission, args.rate, steps, seed, args.pages, _say)
    if args.json:
        print_json({"domain": domain, "mission": mission, "rate": args.rate, **found})
    else:
        print_pages(found, args.rate)
    return 0


def _run_real_time(args: argparse.Namespace, domain: str, mission: str, steps: int) -> int:
    """Measure how well a rate is held."""
    from skm_cli.reports.bench import print_real_time  # noqa: PLC0415
    from skm_ros.bench.realtime import measure_real_time  # noqa: PLC0415

    options = ["--single-process"] if args.single_process else []
    _say(f"measuring {steps} steps at {args.rate:g} Hz")
    found = measure_real_time(domain, mission, args.rate, steps, options)
    if args.json:
        asked = {"domain": domain, "mission": mission, "asked_rate": args.rate}
        print_json({**asked, "single_process": args.single_process, **found})
        return 0
    print_real_time(found, args.rate)
    return 0


def _run_loop(args: argparse.Namespace, domain: str, mission: str, steps: int) -> int:
    """Measure both variants and the loop in process."""
    from skm_cli.reports.bench import print_loops  # noqa: PLC0415
    from skm_ros.bench.loop import VARIANTS, measure_loops  # noqa: PLC0415

    document: dict[str, Any] = measure_loops(domain, mission, steps, args.rounds, _say)
    if args.json:
        print_json(document)
        return 0
    print_loops(document, tuple(VARIANTS))
    return 0
