"""`skm bench`: how fast the nodes go round beside a bare loop, and whether they are in time."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from skm_cli.output import print_json
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm bench loop
  skm bench loop --steps 500 --rounds 9 --json
  skm bench realtime --rate 50 --steps 500
  skm bench faults --rate 50 --trials 50 --json
  skm bench core

core: CPU milliseconds of what has no ROS in it: compiling a mission, a step of a world, alone and in a
batch, and a step of a mission with the shipped skills.

loop: the nodes run a patrol in the office in lock-step, as three processes and as one. Beside them
runs a bare loop: the same messages of the same sizes over the same four hops with the same quality of
service, and nothing else. Rounds of the two are taken in turn; the median round counts.
overhead = time of the nodes' loop / time of the bare loop.

faults: while the robot moves, each node is killed (SIGKILL) and frozen (SIGSTOP); the table says after
how many seconds the robot brakes and is at rest, how far it still goes, when the machine stops it and
when the client has its result: median and worst.

realtime: the point robot patrols at a fixed rate. late = share of the steps at which the action to
the state had not arrived when it was due, counted by the simulator; latency is from the publication of
a state to the arrival of its action, both in the simulator.
"""


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
    parser.add_argument(
        "what", choices=("loop", "realtime", "faults", "core"), help="what to measure"
    )
    parser.add_argument("--steps", type=int, help="loop: per round (default: 200; realtime: 500)")
    parser.add_argument("--rounds", type=int, default=15, help="loop: of each (default: 15)")
    parser.add_argument("--trials", type=int, default=5, help="faults: of each (default: 5)")
    parser.add_argument("--rate", type=float, default=50.0, help="realtime: Hz (default: 50)")
    parser.add_argument("--domain", help="default: as config/graph.yaml has it")
    parser.add_argument("--mission", help="default: as config/graph.yaml has it")
    parser.add_argument(
        "--single-process", action="store_true", help="realtime: all nodes in one process"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure what is asked for, and print it."""
    if args.what == "core":
        return _run_core(args.domain, as_json=args.json)
    from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.graph import load_benchmarks  # noqa: PLC0415

    usual = load_benchmarks()[args.what]
    domain, mission = args.domain or usual["domain"], args.mission or usual["mission"]
    steps = int(usual["steps"]) if args.steps is None else args.steps
    if steps < 1 or args.rounds < 1 or args.trials < 1:
        raise SkmError("--steps, --rounds and --trials must be at least 1.")
    if not 0.01 <= args.rate <= 1000:
        raise SkmError(f"--rate is {args.rate}; it must be from 0.01 to 1000 Hz.")
    if args.what == "loop":
        return _run_loop(args, domain, mission, steps)
    if args.what == "faults":
        return _run_faults(args, domain, mission)
    return _run_real_time(args, domain, mission, steps)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _run_core(domain: str | None, *, as_json: bool) -> int:
    """Measure the core, of one domain or of all that come with skills."""
    from skm_cli.reports.bench_report import print_core  # noqa: PLC0415
    from skm_primitives.evaluation.speed import measure_speed  # noqa: PLC0415
    from skm_sim import domain_names, get_domain  # noqa: PLC0415

    specs = [get_domain(name) for name in ([domain] if domain else domain_names())]
    timings = measure_speed(spec for spec in specs if spec.checkpoint)
    if as_json:
        print_json([timing.document() for timing in timings])
        return 0
    print_core(timings)
    return 0


def _run_faults(args: argparse.Namespace, domain: str, mission: str) -> int:
    """Kill and freeze the nodes, and say what followed."""
    from skm_cli.reports.bench_report import print_faults  # noqa: PLC0415
    from skm_ros.bench.fault_bench import measure_faults, summary  # noqa: PLC0415

    faults = measure_faults(domain, mission, args.rate, args.trials, _say)
    if args.json:
        print_json({"domain": domain, "rate": args.rate, "faults": summary(faults)})
    else:
        print_faults(summary(faults), args.rate)
    return 0


def _run_real_time(args: argparse.Namespace, domain: str, mission: str, steps: int) -> int:
    """Measure how well a rate is held."""
    from skm_cli.reports.bench_report import print_real_time  # noqa: PLC0415
    from skm_ros.bench.realtime_bench import measure_real_time  # noqa: PLC0415

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
    from skm_cli.reports.bench_report import print_loops  # noqa: PLC0415
    from skm_ros.bench.loop_bench import VARIANTS, measure_loops  # noqa: PLC0415

    document: dict[str, Any] = measure_loops(domain, mission, steps, args.rounds, _say)
    if args.json:
        print_json(document)
        return 0
    print_loops(document, tuple(VARIANTS))
    return 0
