"""`skm bench`: how fast the nodes go round beside a bare loop, and whether they are in time."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from skm_cli.output import console, print_json
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.primitives import Primitives

EPILOG = """\
examples:
  skm bench loop
  skm bench loop --steps 500 --rounds 9 --json
  skm bench realtime --rate 50 --steps 500

loop: the nodes run a patrol in the office in lock-step, as three processes and as one. Beside them
runs a bare loop: the same messages of the same sizes over the same four hops with the same quality of
service, and nothing else. Rounds of the two are taken in turn; the median round counts.
overhead = time of the nodes' loop / time of the bare loop.

realtime: the point robot patrols at a fixed rate. late = share of the steps at which the action to
the state had not arrived when it was due, counted by the simulator; latency is from the publication of
a state to the arrival of its action, both in the simulator.
"""
MISSION = "F(A & X F(B & X F(C & X F D))) & G !decoration"
REAL_TIME_MISSION = "G F button & G F region"
VARIANTS = {
    "three_processes": ((), ("machine", "primitives", "sim")),
    "single_process": (("--single-process",), ("all",)),
}
"""Options of `skm up`, and parts of the bare loop, by variant."""


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
    parser.add_argument("what", choices=("loop", "realtime"), help="what to measure")
    parser.add_argument("--steps", type=int, help="loop: per round (default: 200; realtime: 500)")
    parser.add_argument("--rounds", type=int, default=15, help="loop: of each (default: 15)")
    parser.add_argument("--rate", type=float, default=50.0, help="realtime: Hz (default: 50)")
    parser.add_argument("--domain", default="safety", help="realtime: default: safety")
    parser.add_argument(
        "--mission", default=REAL_TIME_MISSION, help='realtime: default: "%(default)s"'
    )
    parser.add_argument(
        "--single-process", action="store_true", help="realtime: all nodes in one process"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure what is asked for, and print it."""
    from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

    require_ros()
    if args.steps is None:
        args.steps = 200 if args.what == "loop" else 500
    if args.steps < 1 or args.rounds < 1:
        raise SkmError("--steps and --rounds must be at least 1.")
    if not 0.01 <= args.rate <= 1000:
        raise SkmError(f"--rate is {args.rate}; it must be from 0.01 to 1000 Hz.")
    return _run_loop(args) if args.what == "loop" else _run_real_time(args)


def _run_real_time(args: argparse.Namespace) -> int:
    """Measure how well a rate is held."""
    from skm_ros.bench.realtime_bench import measure_real_time  # noqa: PLC0415

    options = ["--single-process"] if args.single_process else []
    print(f"measuring {args.steps} steps at {args.rate:g} Hz", file=sys.stderr)
    found = measure_real_time(args.domain, args.mission, args.rate, args.steps, options)
    if args.json:
        asked = {"domain": args.domain, "mission": args.mission, "asked_rate": args.rate}
        print_json({**asked, "single_process": args.single_process, **found})
        return 0
    latency, bare = (
        ", ".join(f"{name} {value:.1f}" for name, value in found[key].items())
        for key in ("latency_ms", "bare_timer_late_ms")
    )
    out = console()
    out.print(f"rate     {found['rate']:.2f} Hz of {args.rate:g}")
    out.print(f"late     {found['late_steps']} of {found['steps']} steps ({found['late']:.2%})")
    out.print(f"latency  {latency} ms")
    out.print(f"machine  a thread that only sleeps woke late by {bare} ms")
    out.print(f"load     {found['load_before']:.1f} before, {found['load_after']:.1f} after")
    return 0


def _run_loop(args: argparse.Namespace) -> int:
    """Measure both variants and the loop in process."""
    from skm_primitives.primitives import default_checkpoint, load_primitives  # noqa: PLC0415
    from skm_ros.bench.loop_bench import HOPS, BareLoop, NodeLoop, compare  # noqa: PLC0415
    from skm_sim.domain import get_domain  # noqa: PLC0415

    spec = get_domain("office")
    primitives = load_primitives(default_checkpoint(spec.name), spec)
    document: dict[str, Any] = {
        "domain": spec.name,
        "mission": MISSION,
        "steps_per_round": args.steps,
        "hops": HOPS,
        "goals": len(primitives.goals),
    }
    for variant, (options, parts) in VARIANTS.items():
        print(f"measuring {variant.replace('_', ' ')}", file=sys.stderr)
        with NodeLoop(spec.name, MISSION, options) as loop, BareLoop(primitives, parts) as bare:
            document[variant] = compare(loop, bare, args.steps, args.rounds)
    document["in_process"] = {"steps_per_second": in_process_rate(primitives, args.steps)}
    if args.json:
        print_json(document)
    else:
        _print(document)
    return 0


def in_process_rate(primitives: Primitives, steps: int) -> float:
    """Return the steps per second of the same mission with no ROS at all, planning left out."""
    import gymnasium  # noqa: PLC0415

    from skm_machine import compile_mission  # noqa: PLC0415
    from skm_primitives.episodes import run_episode  # noqa: PLC0415
    from skm_primitives.planning.policy import make_policy  # noqa: PLC0415
    from skm_sim.domain import get_domain  # noqa: PLC0415

    spec = get_domain(primitives.domain)
    mission = compile_mission(MISSION, propositions=spec.propositions, repeat=True)
    policy = make_policy(mission, primitives)
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    began = time.perf_counter()
    episode = run_episode(env, primitives, policy, max_steps=steps, seed=0)
    seconds = time.perf_counter() - began
    env.close()
    return episode.steps / seconds


def _print(document: dict[str, Any]) -> None:
    out = console()
    out.print(f"{'':<16} {'steps/s':>9} {'bare':>9} {'overhead':>9}")
    for variant in VARIANTS:
        row = document[variant]
        out.print(
            f"{variant.replace('_', ' '):<16} {row['steps_per_second']:>9.0f} "
            f"{row['bare_steps_per_second']:>9.0f} {row['overhead']:>9.2f}"
        )
    out.print(f"{'in process':<16} {document['in_process']['steps_per_second']:>9.0f}")
