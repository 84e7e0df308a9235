"""`skm check`: what a mission means, before any robot moves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from skm_cli.output import print_json

if TYPE_CHECKING:
    from skm_machine import Mission, SkillMachine
    from skm_machine.analysis import Trace


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm check` to the command."""
    parser = subparsers.add_parser(
        "check",
        help="say what a mission means: its machine, its skills, how it succeeds and fails",
        description="Translate a mission, plan over it, and say what it means, before any robot moves.",
        epilog='example: skm check "F(coffee & X F office) & G !decoration" --trace "coffee; ; office"',
    )
    parser.add_argument("mission", metavar="MISSION", help="a formula, or a file with a mission")
    parser.add_argument("--format", choices=("auto", "ltl", "hoa", "rm"), default="auto")
    parser.add_argument(
        "--domain", help="check the propositions against this domain's, such as office"
    )
    parser.add_argument("--repeat", action="store_true", help="start over each time it succeeds")
    parser.add_argument(
        "--horizon",
        choices=("auto", "finite", "infinite"),
        default="auto",
        help="read G F and F G as missions without end (auto), or over finite traces",
    )
    parser.add_argument("--translator", choices=("builtin", "spot"), default="builtin")
    parser.add_argument("--draw", metavar="FILE.svg", type=Path, help="draw the machine")
    parser.add_argument("--export", metavar="FILE.hoa|.dot", type=Path, help="write the machine")
    parser.add_argument(
        "--trace",
        metavar="TRACE",
        help='labels of each step, as "coffee; ; office": is it satisfied?',
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check one mission; one that can never succeed gives exit code 1, one that cannot be read 2."""
    from skm_cli.reports.check_report import check_document, print_check  # noqa: PLC0415
    from skm_machine import analyse, compile_mission, judge, plan_paper  # noqa: PLC0415
    from skm_machine.mission import read_mission_text  # noqa: PLC0415

    known, gamma = None, 0.9
    if args.domain:
        from skm_sim import get_domain  # noqa: PLC0415

        spec = get_domain(args.domain)
        known, gamma = spec.propositions, spec.gamma
    mission = compile_mission(
        read_mission_text(args.mission),
        format=args.format,
        propositions=known,
        repeat=args.repeat,
        horizon=args.horizon,
        translator=args.translator,
    )
    analysis = analyse(mission)
    skills = plan_paper(mission.machine, gamma)
    trace = None if args.trace is None else _parse_trace(args.trace, known or mission.propositions)
    judgement = None if trace is None else judge(mission, trace)
    _write_files(args, mission, skills)
    if args.json:
        print_json(check_document(mission, analysis, skills, trace, judgement))
    else:
        print_check(mission, analysis, skills, trace, judgement)
    return 0 if analysis.satisfiable else 1


def _parse_trace(text: str, known: tuple[str, ...]) -> Trace:
    from skm_machine.errors import MissionError, did_you_mean  # noqa: PLC0415

    trace = []
    for step in text.split(";"):
        labels = frozenset(step.replace(",", " ").split())
        for name in sorted(labels):
            if name not in known:
                position = text.find(name)
                raise MissionError(
                    f"unknown proposition '{name}' in the trace{did_you_mean(name, known)}",
                    text,
                    position,
                )
        trace.append(labels)
    return trace


def _write_files(args: argparse.Namespace, mission: Mission, skills: SkillMachine) -> None:
    from skm_machine import to_dot, to_hoa  # noqa: PLC0415
    from skm_machine.errors import SkmError  # noqa: PLC0415

    title = mission.text if mission.formula is not None else ""
    if args.draw:
        from skm_machine.drawing import draw_machine  # noqa: PLC0415

        if args.draw.suffix != ".svg":
            raise SkmError(f"--draw writes SVG: name the file {args.draw.with_suffix('.svg')}")
        args.draw.write_text(draw_machine(mission.machine, skills.skills, title), encoding="utf-8")
    if args.export:
        writers = {".hoa": to_hoa, ".dot": to_dot}
        if args.export.suffix not in writers:
            raise SkmError(f"--export writes .hoa or .dot, not '{args.export.suffix}'")
        args.export.write_text(writers[args.export.suffix](mission.machine), encoding="utf-8")
