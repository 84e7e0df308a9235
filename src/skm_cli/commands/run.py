"""`skm run`: one episode of a mission, in process, with no ROS."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.language import said
from skm_cli.options import PLANNERS, planner_name
from skm_cli.output import add_reading_options, print_json, seed_number, start_options
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_machine.events import EventScript, Risk
    from skm_machine.mission import Mission
    from skm_primitives import Episode
    from skm_primitives.skills.values import Skills
    from skm_sim.spec import DomainSpec


MAX_STEPS = 1000
EPILOG = """\
examples:
  skm run office "F(coffee & X F office) & G !decoration" --start 2,2 --render run.png
  skm run office "F mail" --seed 7 --json
  skm run office "G(battery_low -> F office) & G F A & G F B" --events "battery_low@30-80"

The run ends when the mission is accepted or has failed, after --max-steps, or when the robot makes no
progress. A recurring mission is "satisfied so far" if it completed rounds and did not fail.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm run` to the command."""
    parser = subparsers.add_parser(
        "run",
        help="run a mission once in a simulated domain",
        description="Plan a mission, run it once in simulation, and print what happened.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "domain", help="a domain, such as office or a folder of `skm map`; or a mission file"
    )
    parser.add_argument(
        "mission", metavar="MISSION", nargs="?", help="a formula, plain words, or a mission file"
    )
    add_reading_options(parser, limits=True)
    parser.add_argument(
        "--planner", type=planner_name, metavar="NAME", help=f"{PLANNERS} (default: product)"
    )
    parser.add_argument(
        "--possible-only",
        action="store_true",
        help="with --planner paper: ignore label sets that never occur",
    )
    parser.add_argument(
        "--repeat", action="store_true", help="repeat the mission after each success"
    )
    parser.add_argument(
        "--seed", type=seed_number, default=0, help="seed of the world (default: 0)"
    )
    parser.add_argument(
        "--start",
        metavar="ROW,COL",
        help="start cell, in the office domains; on a map x,y in metres (--start=-2.5,0)",
    )
    parser.add_argument(
        "--max-steps", type=int, help="maximum number of steps (default: 1000; more on large maps)"
    )
    parser.add_argument(
        "--events",
        default="",
        metavar="SCRIPT",
        help=(
            "propositions that the robot does not control, and the steps in which they are "
            'true: "battery_low@30-80, door_open@5-, person_near~0.02, alarm"'
        ),
    )
    parser.add_argument(
        "--robots",
        metavar="ROBOTS",
        help=(
            'run with a team: robots and their start positions, "r1=X,Y; r2=X,Y"; in zones '
            "also the number of robots, such as 2"
        ),
    )
    parser.add_argument(
        "--gone",
        default="",
        metavar="ROBOT@STEP",
        help="with --robots: this robot fails at this step",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE|NAME[:FILE]",
        help=(
            "skills to use instead of the shipped ones: a checkpoint, or skills of an "
            "installed package"
        ),
    )
    parser.add_argument(
        "--render",
        type=Path,
        metavar="FILE.png|.svg|.gif",
        help="save a picture or an animation of the run",
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE.mcap", help="record the run; see `skm verify`"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing recording")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run one episode and report it."""
    from skm_cli.mission_files import mission_text  # noqa: PLC0415
    from skm_cli.reports.run import print_run, run_document  # noqa: PLC0415
    from skm_cli.run_files import Film, interrupts_between_steps, run_recorder  # noqa: PLC0415
    from skm_cli.team_run import run_a_team  # noqa: PLC0415
    from skm_machine.events import EventScript, check_events  # noqa: PLC0415
    from skm_primitives import load_primitives, make_policy, run_episode  # noqa: PLC0415
    from skm_primitives.execution.mission_run import usual_limit  # noqa: PLC0415
    from skm_primitives.planning.feasibility_report import unlearned  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415

    text = mission_text(args)
    if args.domain is None:
        raise SkmError(f"{args.mission} names no domain: write `skm run DOMAIN {args.mission}`")
    if args.robots is not None:
        return run_a_team(args, text)
    args.planner = args.planner or "product"
    spec = get_domain(args.domain)
    events = EventScript(args.events, args.seed)
    check_events(events.names, spec.propositions)
    film = Film(args.render, spec)
    env = film.env()
    primitives = load_primitives(spec, args.checkpoint)
    mission = _compiled(args, text, spec, events, primitives)
    policy = make_policy(mission, primitives, args.planner, possible_only=args.possible_only)
    mission = policy.mission  # one machine, where the planner needs that
    for name in unlearned(mission, primitives):
        _remark(f"no skill was learned to avoid '{name}'")
    options = start_options(args.start)
    risks: tuple[Risk, ...] = ()
    if mission.events:
        from skm_primitives.planning.outlook import risks_from  # noqa: PLC0415

        observation, _ = env.reset(seed=args.seed, options=options)  # as the run will
        risks = risks_from(policy, primitives, observation)
    _tell(risks)
    recorder = run_recorder(args, spec, env, events.names)
    if args.render:
        env.reset(seed=args.seed, options=options)  # as the run will: a film shows the start, too
        film.step(env)
    with interrupts_between_steps(args.record is not None, lambda: film.step(env)) as watch:
        episode = run_episode(
            env,
            primitives,
            policy,
            max_steps=args.max_steps or usual_limit(policy, MAX_STEPS),
            seed=args.seed,
            options=options,
            watch=watch,
            events=events,
            recorder=recorder,
        )
    film.save(env, mission, primitives, episode)
    env.close()
    document = {
        "domain": args.domain,
        "mission": mission.text,
        "planner": args.planner + ", possible only" * args.possible_only,
        "seed": args.seed,
        **run_document(policy, primitives, episode),
    }
    if mission.events:
        document["can_make_it_fail"] = [risk.document() for risk in risks]
    _warn(episode, document)
    if args.json:
        print_json(document)
    else:
        print_run(mission, document)
    succeeded = episode.accepting_visits and document["outcome"] != "failed"
    return 0 if document["outcome"] == "accepted" or succeeded else 1


def _remark(text: str) -> None:
    """Say something beside the result."""
    print(f"skm: {said(text)}", file=sys.stderr)


def _tell(risks: Sequence[Risk]) -> None:
    """Say which events can make the mission fail, and how."""
    from skm_machine.analysis import counterexample_text  # noqa: PLC0415

    for risk in risks:
        what = f"{' and '.join(risk.events)} can make it fail whatever the robot does"
        _remark(f"{what}: {counterexample_text(risk.counterexample)}")


def _compiled(
    args: argparse.Namespace, text: str, spec: DomainSpec, events: EventScript, skills: Skills
) -> Mission:
    """Return the mission: in parts, where that suits the skills and no limits are given."""
    from skm_machine import compile_mission  # noqa: PLC0415
    from skm_primitives.planning.planners import parts_for  # noqa: PLC0415

    limited = args.max_states is not None or args.translation_seconds is not None
    return compile_mission(
        text,
        format=args.format,
        propositions=spec.propositions,
        repeat=args.repeat,
        step_seconds=spec.step_seconds,
        clock=spec.step_seconds is not None,
        horizon=args.horizon,
        events=(*events.names, *spec.events),
        max_states=args.max_states,
        max_seconds=args.translation_seconds,
        parts=None if limited else parts_for(skills),
    )


def _warn(episode: Episode, document: dict[str, Any]) -> None:
    """Say which deadlines were not expected to be met, before the result says whether they were."""
    if episode.warnings:
        document["warnings"] = list(episode.warnings)
    for warning in episode.warnings:
        _remark(warning)
