"""The state of a running system, as text."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from skm_cli.language import said
from skm_cli.output import console


def print_status(document: dict[str, Any]) -> None:
    """Print a line for each node, the skills, and what the machine is about."""
    out = console()
    for name, part in document["nodes"].items():
        health = part["health"]
        level = health["level"] if health else "silent" if part["running"] else "not running"
        message = f"  {escape(said(health['message']))}" if health else ""
        out.print(f"{name:<11} {said(level)}{message}", soft_wrap=True)
    if document["primitives"]:
        skills = document["primitives"]
        goals = said(f"{skills['goals']} goals")
        where = said(f"checkpoint {skills['checkpoint']} ({skills['digest'][:12]})")
        line = f"{said('skills'):<11} {skills['domain']}, {goals}, {where}"
        out.print(escape(line), soft_wrap=True)
    if document["machine"]:
        machine = document["machine"]
        out.print(escape(f"{said('phase'):<11} {_phase(machine)}"), soft_wrap=True)
        if machine["words"]:
            out.print(escape(f"{'':<11} {machine['words']}"), soft_wrap=True)
        true = set(machine["true_events"])
        events = [
            f"{name} {said('true' if name in true else 'false')}" for name in machine["events"]
        ]
        if events:
            out.print(f"{said('events'):<11} {', '.join(events)}", soft_wrap=True)


def _phase(machine: dict[str, Any]) -> str:
    """Return what the machine is doing, or what became of the last mission."""
    phase = said(machine["phase"])
    if machine["phase"] == "waiting":
        return said(f"waiting for {machine['waiting_for']}")
    if not machine["mission"]:
        return f"{phase}; {said('no mission yet')}"
    if not machine["outcome"]:
        return f"{phase} {machine['mission']}, {said('step ' + str(machine['steps']))}"
    last = f"the last mission, {machine['mission']}, {machine['outcome']}"
    ended = said(f"{last} after {machine['steps']} steps")
    reason = f": {said(machine['reason'])}" if machine["reason"] else ""
    return f"{phase}; {ended}{reason}"
