"""A mission that is kept in parts: as JSON, and as sentences."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from skm_cli.language import said
from skm_cli.output import console, counted
from skm_cli.reports.check import judgement_document, mission_document
from skm_machine import Mission
from skm_machine.analysis import Analysis, Judgement, meaning
from skm_machine.factored import FactoredMachine
from skm_primitives.planning.large_missions import Plan


def parts_document(
    mission: Mission,
    analysis: Analysis,
    plan: Plan | None,
    refused: str,
    judgement: Judgement | None,
) -> dict[str, Any]:
    """Return what is known of a mission in parts; `refused`: why it cannot be planned."""
    machine = mission.machine
    assert isinstance(machine, FactoredMachine)
    document: dict[str, Any] = {
        **mission_document(mission, analysis),
        "parts": [
            {"clause": str(part.clause), "states": part.num_states} for part in machine.watched
        ],
        "recurrences": [str(part.clause) for part in machine.recurrences],
    }
    if plan is not None:
        document["plan"] = {
            "steps": plan.steps,
            "at_least": plan.at_least,
            "cpu_seconds": plan.seconds,
        }
        document["plan_text"] = str(plan)
    if refused:
        document["refused"] = refused
    if judgement is not None:
        document["trace"] = judgement_document(judgement, machine.names)
    return document


def print_parts(mission: Mission, analysis: Analysis, document: dict[str, Any]) -> None:
    """Print what a mission in parts means, and how long it takes."""
    out = console()
    out.print(f"[bold]{escape(str(mission.formula))}[/bold]", soft_wrap=True)
    if mission.words is not None:
        out.print(escape(said(f"  in words: {mission.words}")), soft_wrap=True)
    out.print(escape(said(f"  read as {mission.reading}")), soft_wrap=True)
    for line in meaning(mission, analysis):
        out.print(f"  {escape(said(line))}", soft_wrap=True)
    if "plan_text" in document:
        what = "first round planned" if mission.machine.endless else "planned"
        seconds = document["plan"]["cpu_seconds"]
        out.print(
            said(f"  {what} from where `skm run` begins: {document['plan_text']} ({seconds:.1f} s)")
        )
    if "refused" in document:
        out.print(f"  [yellow]{escape(said(document['refused']))}[/yellow]", soft_wrap=True)
    if "trace" in document:
        trace = document["trace"]
        verdict = f"trace {'satisfied' if trace['satisfied'] else 'not satisfied'}"
        after = trace["accepted_at"]
        done = f"; succeeded after {counted(after, 'step')}" if after else ""
        out.print(said(f"  {verdict}{done}"))
