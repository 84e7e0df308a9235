"""What a mission means: as JSON, and as sentences with a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from skm_cli.language import said
from skm_cli.output import console
from skm_machine import Mission, SkillMachine
from skm_machine.analysis import Analysis, Judgement, Trace, meaning
from skm_machine.events import EventVerdict
from skm_machine.logic.printer import labels_text
from skm_machine.possible import Shown
from skm_machine.reward_machine import Edge

if TYPE_CHECKING:
    from skm_machine.drawing.machine import DrawnMachine

MOST_ROWS = 40
"""Larger machines are cut short in the table; --json gives more of them."""

MOST_EDGES, MOST_SKILLS = 1000, 500
"""What --json gives at most; `complete` says whether that is all."""


@dataclass(frozen=True)
class Meaning:
    """What a mission means: by itself, or in a domain with its skills."""

    mission: Mission
    analysis: Analysis
    skills: SkillMachine
    verdict: EventVerdict
    shown: Shown | None = None
    """The label sets that can show in each machine state; None: any."""
    steps: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Steps to go in each machine state, the least and the most, if these are known."""

    @cached_property
    def drawn(self) -> DrawnMachine:
        """The states and edges that can be, as they are drawn."""
        from skm_machine.drawing.machine import MachineParts  # noqa: PLC0415 (for JSON alone)

        return MachineParts(self.mission.machine, self.shown or ()).whole()


def check_document(
    meant: Meaning, trace: Trace | None, judgement: Judgement | None
) -> dict[str, Any]:
    """Return everything that the report says, for programs."""
    mission, analysis, skills = meant.mission, meant.analysis, meant.skills
    machine, names = mission.machine, mission.machine.names
    states = range(machine.num_states) if meant.shown is None else sorted(meant.shown)

    edges = list(islice(_edges(meant), MOST_EDGES + 1))
    document: dict[str, Any] = {
        **mission_document(mission, analysis),
        **({} if mission.clocks is None else {"ticks": list(mission.clocks.names)}),
        "states": [
            {
                "name": names[state],
                "initial": state == machine.initial,
                "accepted": state in machine.terminal - machine.failure,
                "failed": state in machine.failure,
                "value": skills.values[state],
            }
            for state in states
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
        "commitments": [
            {
                "source": names[edge.source],
                "target": names[edge.target],
                "keep": str(edge.label),
            }
            for edge in machine.commitment_edges
            if edge.source in states and edge.target in states
        ],
        "events": {
            "declared": list(mission.events),
            "can_make_it_fail": [risk.document() for risk in meant.verdict.risks],
            "proved_for": meant.verdict.proved_for if mission.events else None,
        },
    }
    if trace is not None and judgement is not None:
        document["trace"] = {
            "labels": as_lists(trace),
            **judgement_document(judgement, names),
        }
    return document


def mission_document(mission: Mission, analysis: Analysis) -> dict[str, Any]:
    """Return what is said of any mission, whether it has one machine or is kept in parts."""
    machine = mission.machine
    return {
        "mission": mission.text,
        "format": mission.format,
        "formula": None if mission.formula is None else str(mission.formula),
        "words": mission.words,
        "propositions": list(mission.propositions),
        "satisfiable": analysis.satisfiable,
        "co_safe": machine.co_safe,
        "can_fail": analysis.can_fail,
        "infinite": machine.endless,
        "reading": None if mission.reading is None else mission.reading.document(),
        "witness": as_lists(analysis.witness),
        "counterexample": as_lists(analysis.counterexample),
    }


def judgement_document(judgement: Judgement, names: Sequence[str]) -> dict[str, Any]:
    """Return how a trace was judged; `names` are those of the machine's states."""
    return {
        "states": [names[state] for state in judgement.states],
        "satisfied": judgement.satisfied,
        "accepted_at": judgement.accepted_at,
        "visits": judgement.visits,
    }


def as_lists(trace: Trace | None) -> list[list[str]] | None:
    """Return a trace as sorted lists of labels."""
    return None if trace is None else [sorted(labels) for labels in trace]


def _steps(span: tuple[int, int] | None) -> str:
    """Return the steps to go, from the best place and from the worst."""
    if span is None:
        return ""
    least, most = span
    return f"{least}" if least == most else f"{least}–{most}"


def _edges(meant: Meaning) -> Iterator[Edge]:
    """Yield the edges that can be, with the machine's own numbers."""
    machine = meant.mission.machine
    if meant.shown is None:
        yield from machine.iterate_edges()
        return
    numbers = meant.drawn.numbers
    for edge in meant.drawn.edges:
        yield replace(edge, source=numbers[edge.source], target=numbers[edge.target])


def print_check(
    meant: Meaning,
    trace: Trace | None,
    judgement: Judgement | None,
    remarks: Sequence[str] = (),
) -> None:
    """Print what a mission means, its skills in a table, and how a trace is judged."""
    mission, skills = meant.mission, meant.skills
    machine, names, out = mission.machine, mission.machine.names, console()
    text = str(mission.formula) if mission.formula is not None else f"a {mission.format} file"
    out.print(f"[bold]{escape(text)}[/bold]")
    if mission.words is not None:
        out.print(escape(said(f"  in words: {mission.words}")))
    reading = mission.reading
    if reading is not None:
        out.print(escape(said(f"  read as {reading}")), soft_wrap=True)
        out.print(escape(said(f"  the other reading, {reading.other}")), soft_wrap=True)
    for line in meaning(mission, meant.analysis, meant.verdict, meant.shown):
        out.print(f"  {escape(said(line))}", soft_wrap=True)
    for remark in remarks:
        out.print(f"  [yellow]{escape(said(remark))}[/yellow]", soft_wrap=True)
    if skills.skills:
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        last = "steps" if meant.steps else "value"
        for column in ("state", "reach", "avoid", "then", last):
            table.add_column(said(column), justify="right" if column == last else "left")
        for skill in list(skills.skills.values())[:MOST_ROWS]:
            targets = ", ".join(names[target] for target in skill.targets)
            avoid = "" if skill.avoid.operator == "false" else str(skill.avoid)
            value = _steps(meant.steps.get(skill.state)) if meant.steps else f"{skill.value:.3g}"
            table.add_row(
                names[skill.state], escape(str(skill.reach)), escape(avoid), targets, value
            )
        out.print()
        out.print(table)
        if len(skills.skills) > MOST_ROWS:
            more = len(skills.skills) - MOST_ROWS
            out.print(said(f"  … and {more} more states; --json gives more of them"))
    if trace is not None and judgement is not None:
        out.print()
        for number, (labels, state) in enumerate(
            zip(trace, judgement.states, strict=True), start=1
        ):
            step = said(f"  step {number:<3}")
            out.print(f"{step} {escape(labels_text(labels)):<28} → {names[state]}")
        verdict = "trace satisfied" if judgement.satisfied else "trace not satisfied"
        if judgement.accepted_at and not machine.endless:
            verdict += f"; a robot would have succeeded, and ended, at step {judgement.accepted_at}"
        elif machine.endless:
            verdict += f" so far; rounds completed: {judgement.visits}"
        out.print(said(f"  {verdict}"))
