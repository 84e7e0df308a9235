"""`skm bench`: how fast the nodes go round beside a bare loop, and whether they are in time."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.output import print_json, seed_list
from skm_machine.errors import SkmError, did_you_mean

if TYPE_CHECKING:
    from skm_primitives.evaluation.robot_trials import RobotRun

EPILOG = """\
examples:
  skm bench loop
  skm bench loop --steps 500 --rounds 9 --json
  skm bench realtime --rate 50 --steps 500
  skm bench faults --rate 50 --trials 50 --json
  skm bench patrol --rate 50 --minutes 60 --json
  skm bench faults --system robot --domain hall --mission "G F kitchen & G F store" --rate 20
  skm bench patrol --system robot --domain hall --mission "G F kitchen & G F store" --rate 20
  skm bench robot --domain hall --missions 20 --starts 5 --seed 3
  skm bench robot --domain safety --tasks 1 2 --starts 20 --seed 3
  skm bench web --pages 5 --rate 50
  skm bench peers --worlds letter_world --seeds 1-3 --starts 200 --picture peers.png
  skm bench peers --combine seed1.json seed2.json seed3.json --picture peers.png --table peers.md
  skm bench core

peers: learns in worlds of other zero-shot agents (LetterWorld, FlatWorld; in ZoneEnv seed 0 are the
shipped skills) with default settings, a checkpoint for each seed below --out, which a second call goes
on with; runs their tasks, recurring tasks and formulas as in their evaluation sets, beside what is
published. Over all tasks: interquartile mean and stratified bootstrap interval, as rliable has them.

core: CPU milliseconds of what has no ROS in it: compiling a mission, a step of a world, alone and in a
batch, and a step of a mission with the shipped skills.

loop: the nodes run a patrol in the office in lock-step, as three processes and as one. Beside them
runs a bare loop: the same messages of the same sizes over the same four hops with the same quality of
service, and nothing else. Rounds of the two are taken in turn; the median round counts.
overhead = time of the nodes' loop / time of the bare loop.

faults: while the robot moves, each node is killed (SIGKILL) and frozen (SIGSTOP); the table says after
how many seconds the robot brakes and is at rest, how far it still goes, when the machine stops it and
when the client has its result: median and worst.

robot: missions drawn at random run on safety-gymnasium's Car, or on ir-sim's robot (--robot irsim, an
extra), with noise, in the given domain on a map, through the bridge's own driving: in simulated time,
faster than life; with --real-time once each through real nodes, one after the other. Judged on the
robot's true pose at 50 Hz. In a domain that is on no map but says how a robot plays its part (safety),
the domain's tasks, in arenas drawn at random.

patrol: a mission without end; every minute a row with rounds, late steps, stops, latency, and the memory
and CPU share of each node. Twice a minute (--stops) the robot is stopped by the service stop, and let go
again; the row has the longest time from such a call to the beginning of braking.

web: the point robot patrols with the page served; windows without a page and with some open pages are
taken in turn. It tells late actions of both, updates a second, and the server's share of a core.

realtime: the point robot patrols at a fixed rate. late = share of the steps at which the action to
the state had not arrived when it was due, counted by the simulator; latency is from the publication of
a state to the arrival of its action, both in the simulator.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm bench` to the command."""
    parser = subparsers.add_parser(
        "bench",
        help="benchmark the nodes",
        description=(
            "Measure the nodes: loop overhead, real-time rate, faults, robots, patrols, the "
            "web page and more."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_options(parser)
    parser.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be said."""
    parser.add_argument(
        "what",
        choices=("loop", "realtime", "faults", "robot", "patrol", "web", "peers", "core"),
        help="what to measure",
    )
    parser.add_argument("--steps", type=int, help="loop: per round (default: 200; realtime: 500)")
    parser.add_argument("--rounds", type=int, default=15, help="loop: of each (default: 15)")
    parser.add_argument("--trials", type=int, default=5, help="faults: of each (default: 5)")
    parser.add_argument("--minutes", type=int, default=10, help="patrol: how long (default: 10)")
    parser.add_argument(
        "--stops", type=int, default=2, help="patrol: calls of stop a minute (default: 2)"
    )
    parser.add_argument("--rate", type=float, default=50.0, help="realtime: Hz (default: 50)")
    parser.add_argument(
        "--seed", type=int, help="faults, patrol, robot: of the world, of all chance"
    )
    parser.add_argument("--domain", help="default: as config/graph.yaml has it")
    parser.add_argument("--mission", help="default: as config/graph.yaml has it")
    parser.add_argument(
        "--system", choices=("demo", "robot"), default="demo", help="faults, patrol: of which nodes"
    )
    parser.add_argument("--missions", type=int, default=20, help="robot: how many (default: 20)")
    parser.add_argument(
        "--starts", type=int, help="robot: of each mission (default: 5); peers: of each task (200)"
    )
    parser.add_argument("--worlds", nargs="+", help="peers: letter_world, flat_world, zones")
    parser.add_argument(
        "--seeds", type=seed_list, default=[0, 1, 2], help="peers: of the training (default: 0-2)"
    )
    parser.add_argument(
        "--formulas",
        default="200",
        help="peers: how many, or a file with one a line (default: 200)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/peers"), help="peers: skills (default: runs/peers)"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="peers: steps of every task")
    parser.add_argument(
        "--table", type=Path, metavar="FILE.md", help="peers: what was found, as Markdown"
    )
    parser.add_argument(
        "--combine", nargs="+", type=Path, metavar="FILE.json",
        help="peers: measure nothing, but put together what was printed with --json",
    )  # fmt: skip
    parser.add_argument("--tasks", nargs="+", help="robot, on no map: tasks of the domain")
    parser.add_argument(
        "--robot", choices=("car", "irsim"), default="car", help="robot: which one (default: car)"
    )
    parser.add_argument("--real-time", action="store_true", help="robot: through real nodes")
    parser.add_argument("--pages", type=int, default=5, help="web: open pages (default: 5)")
    parser.add_argument(
        "--single-process", action="store_true", help="realtime: all nodes in one process"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Measure what is asked for, and print it."""
    if args.what == "core":
        return _run_core(args.domain, as_json=args.json)
    if args.what == "robot":
        return _run_robot(args)
    if args.what == "peers":
        return _run_peers(args)
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
    from skm_bench.core import measure_speed  # noqa: PLC0415
    from skm_cli.reports.bench import print_core  # noqa: PLC0415
    from skm_sim import domain_names, get_domain  # noqa: PLC0415

    specs = [get_domain(name) for name in ([domain] if domain else domain_names())]
    timings = measure_speed(spec for spec in specs if spec.checkpoint)
    if as_json:
        print_json([timing.document() for timing in timings])
        return 0
    print_core(timings)
    return 0


def _run_peers(args: argparse.Namespace) -> int:
    """Learn in the peers' worlds, and run what they are asked for."""
    from skm_bench.peers.trials import WORLDS, combined, measure_world  # noqa: PLC0415

    if args.combine:
        documents = [row for path in args.combine for row in json.loads(path.read_text())]
        return _say_peers(combined(documents), args)
    worlds, starts = args.worlds or WORLDS, 200 if args.starts is None else args.starts
    for name in worlds:
        if name not in WORLDS:
            raise SkmError(f"no world '{name}'{did_you_mean(name, WORLDS)}")
    if starts < 1:
        raise SkmError("--starts must be at least 1.")
    formulas: int | list[str]
    if args.formulas.isdigit():
        formulas = int(args.formulas)
    else:
        formulas = [line for line in Path(args.formulas).read_text().splitlines() if line.strip()]
    found = [
        measure_world(name, args.seeds, starts, formulas, args.out, args.steps, _say)
        for name in worlds
    ]
    return _say_peers(found, args)


def _say_peers(found: list[dict[str, Any]], args: argparse.Namespace) -> int:
    """Print what was found; draw it, and write it as tables, if that is asked for."""
    from skm_cli.reports.bench import print_peers  # noqa: PLC0415

    if args.picture is not None:
        from skm_bench.peers.picture import peers_figure  # noqa: PLC0415

        args.picture.parent.mkdir(parents=True, exist_ok=True)
        peers_figure(found).savefig(args.picture)
    if args.table is not None:
        from skm_bench.peers.markdown import peers_markdown  # noqa: PLC0415

        args.table.parent.mkdir(parents=True, exist_ok=True)
        args.table.write_text(peers_markdown(found), encoding="utf-8")
    if args.json:
        print_json(found)
        return 0
    for world in found:
        print_peers(world)
    return 0


def _run_faults(args: argparse.Namespace, domain: str, mission: str, seed: int) -> int:
    """Kill and freeze the nodes, and say what followed."""
    from skm_bench.faults import measure_faults, summary  # noqa: PLC0415
    from skm_cli.reports.bench import print_faults  # noqa: PLC0415

    faults = measure_faults(args.system, domain, mission, args.rate, seed, args.trials, _say)
    if args.json:
        print_json({"domain": domain, "rate": args.rate, "faults": summary(faults)})
    else:
        print_faults(summary(faults), args.rate)
    return 0


def _run_patrol(args: argparse.Namespace, domain: str, mission: str, seed: int) -> int:
    """Patrol for minutes, and say how each went."""
    from skm_bench.patrol import measure_patrol  # noqa: PLC0415
    from skm_cli.reports.bench import print_patrol  # noqa: PLC0415

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
    from skm_bench.page import measure_pages  # noqa: PLC0415
    from skm_cli.reports.bench import print_pages  # noqa: PLC0415

    found = measure_pages(domain, mission, args.rate, steps, seed, args.pages, _say)
    if args.json:
        print_json({"domain": domain, "mission": mission, "rate": args.rate, **found})
    else:
        print_pages(found, args.rate)
    return 0


def _run_real_time(args: argparse.Namespace, domain: str, mission: str, steps: int) -> int:
    """Measure how well a rate is held."""
    from skm_bench.realtime import measure_real_time  # noqa: PLC0415
    from skm_cli.reports.bench import print_real_time  # noqa: PLC0415

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
    from skm_bench.loop import VARIANTS, measure_loops  # noqa: PLC0415
    from skm_cli.reports.bench import print_loops  # noqa: PLC0415

    document: dict[str, Any] = measure_loops(domain, mission, steps, args.rounds, _say)
    if args.json:
        print_json(document)
        return 0
    print_loops(document, tuple(VARIANTS))
    return 0


def _say_run(run: RobotRun) -> None:
    planned = f" of {run.planned:.2f} planned" if run.planned else ""
    print(
        f"{run.outcome}, in truth {run.true_outcome}: {run.seconds:.1f} s, {run.way:.2f}"
        f" m{planned}: {run.mission}",
        file=sys.stderr,
    )


def _run_robot(args: argparse.Namespace) -> int:
    """Run missions drawn at random, or a domain's tasks, on a robot."""
    from skm_primitives.evaluation.robot_trials import trials_document  # noqa: PLC0415
    from skm_sim.robots.embodiment import is_on_map  # noqa: PLC0415

    if not args.domain:
        raise SkmError("--domain must name a domain on a map; `skm map` makes one.")
    args.starts = 5 if args.starts is None else args.starts
    if args.missions < 1 or args.starts < 1:
        raise SkmError("--missions and --starts must be at least 1.")
    if args.real_time:
        from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

        require_ros()
    if args.robot != "car" and not is_on_map(args.domain):
        raise SkmError(f"--robot {args.robot}: tasks of domains that are on no map run on the Car.")
    seed = args.seed or 0
    runs = _run_missions(args, seed) if is_on_map(args.domain) else _run_tasks(args, seed)
    from skm_cli.reports.bench import print_trials  # noqa: PLC0415

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
        from skm_bench.robot import real_time_trials  # noqa: PLC0415

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
        sensors=SensorModel(),
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
        from skm_bench.robot import real_time_embodiments  # noqa: PLC0415

        return real_time_embodiments(
            spec, tasks, args.starts, seed=seed, rate=args.rate, say=_say_run
        )
    primitives = load_primitives(spec)
    return run_embodiments(
        spec, primitives, tasks, args.starts, seed=seed, sensors=SensorModel(), say=_say_run
    )
