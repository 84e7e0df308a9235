"""`skm check`: what a mission means, before any robot moves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.output import console, labels_text, print_json

if TYPE_CHECKING:
    from skm_machine import Mission, SkillMachine
    from skm_machine.analysis import Analysis, Judgement, Trace

MOST_ROWS = 40
"""Larger machines are cut short in the table; --json gives them whole."""


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
    from skm_machine import analyse, compile_mission, judge, plan_paper  # noqa: PLC0415
    from skm_machine.mission import read_mission_text  # noqa: PLC0415

    known, gamma = None, 0.9
    if args.domain:
        from skm_sim.domain import get_domain  # noqa: PLC0415

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
        print_json(_document(mission, analysis, skills, trace, judgement))
    else:
        _print_report(mission, analysis, skills, trace, judgement)
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
        from skm_machine.drawing.machine_picture import draw_machine  # noqa: PLC0415

        if args.draw.suffix != ".svg":
            raise SkmError(f"--draw writes SVG: name the file {args.draw.with_suffix('.svg')}")
        args.draw.write_text(draw_machine(mission.machine, skills.skills, title), encoding="utf-8")
    if args.export:
        writers = {".hoa": to_hoa, ".dot": to_dot}
        if args.export.suffix not in writers:
            raise SkmError(f"--export writes .hoa or .dot, not '{args.export.suffix}'")
        args.export.write_text(writers[args.export.suffix](mission.machine), encoding="utf-8")


def _document(
    mission: Mission,
    analysis: Analysis,
    skills: SkillMachine,
    trace: Trace | None,
    judgement: Judgement | None,
) -> dict[str, Any]:
    """Return everything that the report says, for programs."""
    machine, names = mission.machine, mission.machine.names

    def as_lists(found: Trace | None) -> list[list[str]] | None:
        return None if found is None else [sorted(labels) for labels in found]

    document: dict[str, Any] = {
        "mission": mission.text,
        "format": mission.format,
        "propositions": list(mission.propositions),
        "satisfiable": analysis.satisfiable,
        "co_safe": machine.co_safe,
        "can_fail": analysis.can_fail,
        "infinite": machine.endless,
        "states": [
            {
                "name": name,
                "initial": state == machine.initial,
                "accepted": state in machine.terminal - machine.failure,
                "failed": state in machine.failure,
                "value": skills.values[state],
            }
            for state, name in enumerate(names)
        ],
        "edges": [
            {
                "source": names[edge.source],
                "target": names[edge.target],
                "label": str(edge.label),
                "reward": edge.reward,
            }
            for edge in machine.edges
        ],
        "skills": [
            {
                "state": names[skill.state],
                "expression": str(skill.reach),
                "constraints": list(skill.constraints),
                "avoid": str(skill.avoid),
                "targets": [names[target] for target in skill.targets],
                "forbidden": [names[target] for target in skill.forbidden],
                "value": skill.value,
            }
            for skill in skills.skills.values()
        ],
        "witness": as_lists(analysis.witness),
        "counterexample": as_lists(analysis.counterexample),
    }
    if trace is not None and judgement is not None:
        document["trace"] = {
            "labels": as_lists(trace),
            "states": [names[state] for state in judgement.states],
            "satisfied": judgement.satisfied,
            "accepted_at": judgement.accepted_at,
            "visits": judgement.visits,
        }
    return document


def _print_report(
    mission: Mission,
    analysis: Analysis,
    skills: SkillMachine,
    trace: Trace | None,
    judgement: Judgement | None,
) -> None:
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    machine, names, out = mission.machine, mission.machine.names, console()
    text = str(mission.formula) if mission.formula is not None else f"a {mission.format} file"
    out.print(f"[bold]{escape(text)}[/bold]")
    for line in _meaning(mission, analysis):
        out.print(f"  {escape(line)}")
    if skills.skills:
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for column in ("state", "reach", "keep off", "then", "value"):
            table.add_column(column, justify="right" if column == "value" else "left")
        for skill in list(skills.skills.values())[:MOST_ROWS]:
            targets = ", ".join(names[target] for target in skill.targets)
            avoid = "" if skill.avoid.operator == "false" else str(skill.avoid)
            value = f"{skill.value:.3g}"
            table.add_row(
                names[skill.state], escape(str(skill.reach)), escape(avoid), targets, value
            )
        out.print()
        out.print(table)
        if len(skills.skills) > MOST_ROWS:
            out.print(
                f"  … and {len(skills.skills) - MOST_ROWS} more states; --json prints all of them"
            )
    if trace is not None and judgement is not None:
        out.print()
        for number, (labels, state) in enumerate(
            zip(trace, judgement.states, strict=True), start=1
        ):
            out.print(f"  step {number:<3} {escape(labels_text(labels)):<28} → {names[state]}")
        verdict = "satisfied" if judgement.satisfied else "not satisfied"
        if judgement.accepted_at and not machine.endless:
            verdict += f"; a robot would have succeeded, and ended, at step {judgement.accepted_at}"
        elif machine.endless:
            verdict += f" so far; rounds completed: {judgement.visits}"
        out.print(f"  trace {verdict}")


def _meaning(mission: Mission, analysis: Analysis) -> list[str]:
    """Return, in sentences, how the mission succeeds and fails."""
    machine = mission.machine
    count = (
        f"{machine.num_states} states over {', '.join(mission.propositions) or 'no propositions'}"
    )
    if not analysis.satisfiable:
        return [count, "unsatisfiable: no trace can ever succeed"]
    lines = [count]
    if machine.endless:
        lines.append("has no end: every completed round counts 1")
    elif machine.co_safe:
        lines.append("success is for good (co-safe): nothing that follows could undo it")
    else:
        lines.append("success is 'so far': the mission ends at its first accepting step")
    if analysis.witness is not None:
        lines.append(f"shortest success:  {_trace_text(analysis.witness)}")
    if analysis.counterexample is not None:
        causes = dict.fromkeys(str(edge.label) for edge in analysis.failures)
        lines.append(f"shortest failure:  {_trace_text(analysis.counterexample)}")
        lines.append(f"can fail by:       {'  or  '.join(list(causes)[:6])}")
    else:
        lines.append("cannot fail: success stays possible whatever happens")
    return lines


def _trace_text(trace: Trace) -> str:
    return " ; ".join(labels_text(labels) for labels in trace)
