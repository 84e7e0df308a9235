"""`skm run`: one episode of a mission, in process, with no ROS."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from skm_cli.output import print_json
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm run office "F(coffee & X F office) & G !decoration" --start 2,2 --render run.png
  skm run office "F mail" --seed 7 --json

A mission ends when it is accepted or failed, when its time is up, or when nothing that is tried
brings it on ("no progress"). The exit code is 0 if it succeeds (without end: if it completes a
round), else 1.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm run` to the command."""
    parser = subparsers.add_parser(
        "run",
        help="run a mission once in a simulated domain",
        description="Plan a mission, run it once with the learned skills, and say what happened.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help="a domain, such as office")
    parser.add_argument("mission", metavar="MISSION", help="a formula, or a file with a mission")
    parser.add_argument("--format", choices=("auto", "ltl", "hoa", "rm"), default="auto")
    parser.add_argument("--planner", choices=("grounded", "paper"), default="grounded")
    parser.add_argument("--repeat", action="store_true", help="start over each time it succeeds")
    parser.add_argument("--seed", type=int, default=0, help="seed of the world (default: 0)")
    parser.add_argument("--start", metavar="ROW,COL", help="start cell, in the office domains")
    parser.add_argument("--max-steps", type=int, default=1000, help="give up after (default: 1000)")
    parser.add_argument("--checkpoint", help="primitives to use instead of the shipped ones")
    parser.add_argument("--render", type=Path, metavar="FILE.png|.gif", help="draw the run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run one episode and report it."""
    from skm_cli.film import Film  # noqa: PLC0415
    from skm_cli.reports.run_report import print_run, run_document  # noqa: PLC0415
    from skm_machine import compile_mission  # noqa: PLC0415
    from skm_machine.mission import read_mission_text  # noqa: PLC0415
    from skm_primitives import load_primitives, make_policy, run_episode  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415
    from skm_sim.world import draws  # noqa: PLC0415

    spec = get_domain(args.domain)
    mission = compile_mission(
        read_mission_text(args.mission),
        format=args.format,
        propositions=spec.propositions,
        repeat=args.repeat,
    )
    if args.render and not draws(spec):
        raise SkmError(f"--render: the environment of '{spec.name}' draws no pictures")
    env = spec.make("rgb_array" if args.render else None)
    primitives = load_primitives(spec, args.checkpoint)
    policy = make_policy(mission, primitives, args.planner)
    film = Film(args.render)
    options = start_options(args.start)
    if args.render:
        env.reset(seed=args.seed, options=options)  # as the run will: a film shows the start, too
        film.step(env)
    episode = run_episode(
        env,
        primitives,
        policy,
        max_steps=args.max_steps,
        seed=args.seed,
        options=options,
        watch=lambda *_: film.step(env),
    )
    film.save(env)
    env.close()
    asked = {"domain": args.domain, "mission": mission.text, "planner": args.planner}
    document = {**asked, "seed": args.seed, **run_document(mission, primitives, episode)}
    if args.json:
        print_json(document)
    else:
        print_run(mission, document)
    return 0 if document["outcome"] == "accepted" or episode.accepting_visits else 1


def start_options(start: str | None) -> dict[str, Any] | None:
    """Return the reset options of a start cell such as `2,2`; none, if chance is to decide."""
    if start is None:
        return None
    try:
        row, column = (int(part) for part in start.split(","))
    except ValueError:
        raise SkmError(f"--start takes a row and a column, such as 2,2, not '{start}'") from None
    return {"start": (row, column)}
