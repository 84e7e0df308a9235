"""What a mission means: as JSON, and as sentences with a table."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from skm_cli.output import console
from skm_machine import Mission, SkillMachine
from skm_machine.analysis import Analysis, Judgement, Trace
from skm_machine.logic.labels import labels_text

MOST_ROWS = 40
"""Larger machines are cut short in the table; --json gives them whole."""


def check_document(
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


def print_check(
    mission: Mission,
    analysis: Analysis,
    skills: SkillMachine,
    trace: Trace | None,
    judgement: Judgement | None,
) -> None:
    """Print what a mission means, its skills in a table, and how a trace is judged."""
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
        lines.append(f"shortest failure:  {_trace_text(analysis.counterexample)}")
        lines.append(f"can fail by:       {'  or  '.join(map(str, analysis.failures))}")
    else:
        lines.append("cannot fail: success stays possible whatever happens")
    return lines


def _trace_text(trace: Trace) -> str:
    return " ; ".join(labels_text(labels) for labels in trace)
