"""`skm check`: what a mission means, before any robot moves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from skm_cli.output import add_reading_options, print_json, written

if TYPE_CHECKING:
    from skm_cli.reports.check import Meaning
    from skm_machine.analysis import Trace
    from skm_machine.mission import Mission
    from skm_primitives.planning.outlook import Outlook
    from skm_sim.spec import DomainSpec


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm check` to the command."""
    parser = subparsers.add_parser(
        "check",
        help="explain a mission: its machine, its plan, how it can succeed and fail",
        description="Translate and plan a mission, and explain it, before a robot moves.",
        epilog='example: skm check "F(coffee & X F office) & G !decoration" --trace "coffee; ; office"',
    )
    parser.add_argument(
        "mission", metavar="MISSION", help="a formula, plain words, or a mission file"
    )
    add_reading_options(parser, limits=True)
    parser.add_argument("--domain", help="also plan the mission in this domain, such as office")
    parser.add_argument(
        "--repeat", action="store_true", help="repeat the mission after each success"
    )
    parser.add_argument(
        "--events",
        default="",
        metavar="NAMES",
        help=(
            "propositions that the robot does not control; reports whether they can fail the "
            "mission"
        ),
    )
    parser.add_argument(
        "--translator",
        choices=("builtin", "spot"),
        default="builtin",
        help="translator of formulas: skm itself, or Spot if it is installed",
    )
    parser.add_argument(
        "--draw", metavar="FILE.svg", type=Path, help="save a drawing of the machine"
    )
    parser.add_argument(
        "--export", metavar="FILE.hoa|.dot", type=Path, help="save the machine as HOA or Graphviz"
    )
    parser.add_argument(
        "--trace",
        metavar="TRACE",
        help='check a trace: the labels of each step, such as "coffee; ; office"',
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check one mission; one that can never succeed gives exit code 1, one that cannot be read 2."""
    from skm_cli.mission_files import mission_text  # noqa: PLC0415
    from skm_cli.reports.check import Meaning, check_document, print_check  # noqa: PLC0415
    from skm_machine import analyse, compile_mission, judge, plan_paper  # noqa: PLC0415
    from skm_machine.events import (  # noqa: PLC0415
        EventScript,
        check_events,
        event_verdict,
    )

    text = mission_text(args)
    events = EventScript(args.events).names
    known, gamma, step_seconds = None, 0.9, None
    spec = None
    if args.domain:
        from skm_sim import get_domain  # noqa: PLC0415

        spec = get_domain(args.domain)
        known, gamma, step_seconds = spec.propositions, spec.gamma, spec.step_seconds
        check_events(events, known)
        events = (*events, *spec.events)
    mission = compile_mission(
        text,
        format=args.format,
        propositions=known,
        repeat=args.repeat,
        horizon=args.horizon,
        translator=args.translator,
        step_seconds=step_seconds,
        clock=spec is None or step_seconds is not None,
        events=events,
        max_states=args.max_states,
        max_seconds=args.translation_seconds,
        parts=_parts(args, spec),
    )
    ahead = found = None
    if spec is not None and mission.machine.satisfiable:
        from skm_primitives.planning.map_domains import on_building  # noqa: PLC0415
        from skm_primitives.planning.outlook import outlook_in  # noqa: PLC0415

        ahead = outlook_in(spec, mission)
        found = None if ahead is None else on_building(spec, ahead.policy)
    if ahead is not None and ahead.policy is not None:
        mission = ahead.policy.mission  # one machine, where the planner needs that
    if not args.json and "title" in args and args.title:
        print(args.title)
    if mission.in_parts:
        return _check_parts(args, mission, spec, ahead)
    meant = Meaning(
        mission,
        analyse(mission) if ahead is None else ahead.analysis,
        plan_paper(mission.planned.machine, gamma) if ahead is None else ahead.skills,
        event_verdict(mission.machine, mission.events) if ahead is None else ahead.verdict,
        None if ahead is None else ahead.shown,
        {} if ahead is None else ahead.steps,
    )
    trace = judgement = None
    if args.trace is not None:
        trace, seconds = _parse_trace(args.trace, known or mission.propositions)
        judgement = judge(mission, trace, seconds)
    _write_files(args, meant)
    if args.json:
        document = check_document(meant, trace, judgement)
        if found is not None:
            document["map"] = found.document(mission.machine.names)
        if ahead is not None:
            document["domain"] = ahead.document()
        print_json(document)
    else:
        print_check(meant, trace, judgement, ahead.sentences if ahead else ())
        if found is not None:
            from skm_cli.reports.map import print_journeys  # noqa: PLC0415

            print_journeys(found, mission.machine.names)
    possible = ahead is None or ahead.possible
    return 0 if meant.analysis.satisfiable and possible else 1


def _parts(args: argparse.Namespace, spec: DomainSpec | None) -> str:
    """Return when the mission is to be kept in parts: see `compile_mission`."""
    limited = args.max_states is not None or args.translation_seconds is not None
    if limited or args.draw or args.export:
        return "never"
    if spec is None:
        return "if too large"
    from skm_machine.errors import SkmError  # noqa: PLC0415
    from skm_primitives import load_primitives  # noqa: PLC0415
    from skm_primitives.planning.planners import parts_for  # noqa: PLC0415

    try:
        return parts_for(load_primitives(spec))
    except SkmError:
        return "if too large"


def _check_parts(
    args: argparse.Namespace, mission: Mission, spec: DomainSpec | None, ahead: Outlook | None
) -> int:
    """Say what a mission in parts means, and on a map how long it takes from where `skm run` begins."""
    from skm_cli.reports.parts import parts_document, print_parts  # noqa: PLC0415
    from skm_machine import analyse, judge  # noqa: PLC0415
    from skm_primitives.planning.large_mission_policy import LargeMissionPolicy  # noqa: PLC0415

    trace = judgement = plan = None
    if args.trace is not None:
        trace, seconds = _parse_trace(args.trace, mission.propositions)
        judgement = judge(mission, trace, seconds)
    refused = "" if ahead is None else ahead.blocked
    if spec is not None and ahead is not None and isinstance(ahead.policy, LargeMissionPolicy):
        from skm_machine.errors import UnachievableMissionError  # noqa: PLC0415

        env = spec.make()
        observation, _ = env.reset(seed=0)
        env.close()
        try:
            plan = ahead.policy.plan_from(observation)
        except UnachievableMissionError as error:
            refused = str(error)
    analysis = analyse(mission)
    document = parts_document(mission, analysis, plan, refused, judgement)
    if args.json:
        print_json(document)
    else:
        print_parts(mission, analysis, document)
    return 0 if analysis.satisfiable and not refused else 1


def _parse_trace(text: str, known: tuple[str, ...]) -> tuple[Trace, list[float] | None]:
    """Return the label sets of a trace and, where they are said, the seconds at which each begins."""
    from skm_machine.errors import MissionError, did_you_mean  # noqa: PLC0415

    trace, seconds = [], []
    for step in text.split(";"):
        words, at, second = step.partition("@")
        if at:
            try:
                seconds.append(float(second.strip().removesuffix("s")))
            except ValueError:
                hint = "a time in seconds follows '@', as in 'coffee@2.5'"
                raise MissionError(hint, text, text.find(step)) from None
        labels = frozenset(words.replace(",", " ").split())
        for name in sorted(labels):
            if name not in known:
                position = text.find(name)
                raise MissionError(
                    f"unknown proposition '{name}' in the trace{did_you_mean(name, known)}",
                    text,
                    position,
                )
        trace.append(labels)
    if seconds and len(seconds) < len(trace):
        raise MissionError("either all states of a trace have a time, or none", text)
    if seconds != sorted(seconds):
        raise MissionError("the times of a trace must not go back", text)
    return trace, seconds or None


def _write_files(args: argparse.Namespace, meant: Meaning) -> None:
    from skm_machine import to_dot, to_hoa  # noqa: PLC0415
    from skm_machine.errors import SkmError  # noqa: PLC0415

    mission = meant.mission
    title = mission.text if mission.formula is not None else ""
    if args.draw:
        from skm_machine.drawing import draw_machine  # noqa: PLC0415

        if args.draw.suffix != ".svg":
            raise SkmError(f"--draw writes SVG: name the file {args.draw.with_suffix('.svg')}")
        drawing = draw_machine(mission.machine, meant.skills.skills, title, shown=meant.shown)
        with written(args.draw) as path:
            path.write_text(drawing, encoding="utf-8")
    if args.export:
        writers = {".hoa": to_hoa, ".dot": to_dot}
        if args.export.suffix not in writers:
            raise SkmError(f"--export writes .hoa or .dot, not '{args.export.suffix}'")
        text = writers[args.export.suffix](mission.machine)
        with written(args.export) as path:
            path.write_text(text, encoding="utf-8")
