"""What a mission means: as JSON, and as sentences with a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from rich.markup import escape
from rich.table import Table

from skm_cli.output import console
from skm_machine import Mission, SkillMachine
from skm_machine.analysis import Analysis, Judgement, Trace
from skm_machine.event_game import event_risks
from skm_machine.logic.labels import labels_text
from skm_machine.meaning import meaning

MOST_ROWS = 40
"""Larger machines are cut short in the table; --json gives more of them."""

MOST_EDGES, MOST_SKILLS = 1000, 500
"""What --json gives at most; `complete` says whether that is all."""


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

    edges = list(islice(machine.iterate_edges(), MOST_EDGES + 1))
    document: dict[str, Any] = {
        "mission": mission.text,
        "format": mission.format,
        "formula": None if mission.formula is None else str(mission.formula),
        "words": mission.words,
        "propositions": list(mission.propositions),
        **({} if mission.clocks is None else {"ticks": list(mission.clocks.names)}),
        "satisfiable": analysis.satisfiable,
        "co_safe": machine.co_safe,
        "can_fail": analysis.can_fail,
        "infinite": machine.endless,
        "reading": _reading(mission),
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
            for edge in edges[:MOST_EDGES]
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
            for skill in list(skills.skills.values())[:MOST_SKILLS]
        ],
        "complete": len(edges) <= MOST_EDGES and len(skills.skills) <= MOST_SKILLS,
        "promises": [
            {
                "source": names[edge.source],
                "target": names[edge.target],
                "keep": str(edge.label),
            }
            for edge in machine.promise_edges
        ],
        "events": {
            "declared": list(mission.events),
            "can_make_it_fail": [
                {
                    "events": list(risk.events),
                    "story": as_lists(list(risk.story.steps)),
                    "forever": as_lists(list(risk.story.forever)),
                }
                for risk in event_risks(machine, mission.events)
            ],
        },
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


def _reading(mission: Mission) -> dict[str, Any] | None:
    reading = mission.reading
    if reading is None:
        return None
    return {"standing": reading.standing, "why": reading.why, "other": reading.other}


def print_check(
    mission: Mission,
    analysis: Analysis,
    skills: SkillMachine,
    trace: Trace | None,
    judgement: Judgement | None,
    remarks: Sequence[str] = (),
) -> None:
    """Print what a mission means, its skills in a table, and how a trace is judged."""
    machine, names, out = mission.machine, mission.machine.names, console()
    text = str(mission.formula) if mission.formula is not None else f"a {mission.format} file"
    out.print(f"[bold]{escape(text)}[/bold]")
    if mission.words is not None:
        out.print(f"  in words: {escape(mission.words)}")
    reading = mission.reading
    if reading is not None:
        out.print(f"  read as {escape(f'{reading.kind}: {reading.why}')}", soft_wrap=True)
        out.print(f"  the other reading, {escape(reading.other)}", soft_wrap=True)
    for line in meaning(mission, analysis):
        out.print(f"  {escape(line)}")
    for remark in remarks:
        out.print(f"  [yellow]{escape(remark)}[/yellow]", soft_wrap=True)
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
                f"  … and {len(skills.skills) - MOST_ROWS} more states; --json gives more of them"
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
