"""The state of a running system, as text."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from skm_cli.output import console


def print_status(document: dict[str, Any]) -> None:
    """Print a line for each node, the skills, and what the machine is about."""
    out = console()
    for name, part in document["nodes"].items():
        health = part["health"]
        level = health["level"] if health else "silent" if part["running"] else "not running"
        message = f"  {escape(health['message'])}" if health else ""
        out.print(f"{name:<11} {level}{message}", soft_wrap=True)
    if document["primitives"]:
        skills = document["primitives"]
        out.print(
            f"skills      {skills['domain']}, {skills['goals']} goals, "
            f"checkpoint {escape(skills['checkpoint'])} ({skills['digest'][:12]})",
            soft_wrap=True,
        )
    if document["machine"]:
        out.print(f"phase       {document['machine']['phase']}", end="")
        out.print(escape(_phase_details(document["machine"])), soft_wrap=True)
        true = set(document["machine"]["true_events"])
        events = [f"{name} {name in true}".lower() for name in document["machine"]["events"]]
        if events:
            out.print(f"events      {', '.join(events)}", soft_wrap=True)


def _phase_details(machine: dict[str, Any]) -> str:
    if machine["phase"] == "waiting":
        return f" for {machine['waiting_for']}"
    if not machine["mission"]:
        return "; no mission yet"
    words = f"\n            {machine['words']}" if machine["words"] else ""
    if machine["outcome"]:
        reason = f": {machine['reason']}" if machine["reason"] else ""
        return (
            f"; the last mission, {machine['mission']}, {machine['outcome']} "
            f"after {machine['steps']} steps{reason}{words}"
        )
    return f" {machine['mission']}, step {machine['steps']}{words}"
