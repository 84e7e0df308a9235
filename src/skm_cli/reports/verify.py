"""What a verification found, as lines and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from skm_cli.output import console, counted, plain_table
from skm_machine.logic.printer import labels_text
from skm_primitives.recording.verification import Closest, Verification

MOST_TRANSITIONS = 30
"""How many of the machine's moves are shown."""


def print_verification(found: Verification) -> None:
    """Print verdict, transitions with times, how close it came, and every disagreement."""
    out = console()
    out.print(f"[bold]{escape(found.mission.strip())}[/bold]")
    for move, seconds in found.transitions[:MOST_TRANSITIONS]:
        mark = "  ★" if move.reward > 0 else ""
        way = f"{found.names[move.source]} → {found.names[move.target]:<10}"
        labels = escape(labels_text(move.labels))
        out.print(f"  step {move.step:<5} {seconds:8.2f} s  {way} {labels}{mark}")
    if len(found.transitions) > MOST_TRANSITIONS:
        out.print(f"  … and {len(found.transitions) - MOST_TRANSITIONS} more")
    rounds = f", {counted(found.rounds, 'round')} completed" if found.endless else ""
    steps = counted(found.steps, "step")
    out.print(f"{found.verdict} after {steps}, {found.seconds:.1f} s{rounds}")
    for step, held in found.violations:
        out.print(f"  violated at step {step}: {escape(labels_text(held))} held")
    out.print(f"  closest to what is forbidden: {nearness(found)}")
    if not found.other:
        stop = found.stop_seconds
        said = "" if stop is None else f", the robot was told to stop after {1e3 * stop:.0f} ms"
        out.print(f"  recorded: {found.recorded}{said}")
    for text in found.missing:
        out.print(f"  [yellow]missing:[/yellow] {escape(text)}")
    for wrong in found.disagreements:
        where = "" if wrong.step is None else f" at step {wrong.step}"
        out.print(f"  [red]{wrong.kind}{where}:[/red] {escape(wrong.text)}")
    if not found.disagreements:
        out.print("  nothing in the recording contradicts the replay")


def nearness(found: Verification) -> str:
    """Return how close it came, in words."""
    parts = [
        _distance(closest, unit)
        for closest, unit in ((found.nearest_steps, "steps"), (found.nearest_metres, "m"))
        if closest is not None
    ]
    return "; ".join(parts) or "the recording cannot tell"


def _distance(closest: Closest, unit: str) -> str:
    number = f"{closest.distance:.2f} m" if unit == "m" else counted(int(closest.distance), "step")
    what = f" from '{closest.what}'" if closest.what else ""
    return f"{number}{what} at step {closest.step}"


def print_table(rows: Sequence[tuple[Path, Verification | str]]) -> None:
    """Print a line for each recording."""
    headers = ("recording", "mission", "recorded", "verdict", "steps", "rounds", "result")
    table = plain_table("", headers)
    for path, found in rows:
        if isinstance(found, str):
            reason = escape(found.removeprefix(f"{path} ")[:160])
            table.add_row(path.name, "", "", "", "", "", f"[red]{reason}[/red]")
            continue
        kinds = ", ".join(dict.fromkeys(wrong.kind for wrong in found.disagreements))
        result = f"[red]{found.result}: {kinds}[/red]" if kinds else found.result
        mission = found.mission.strip().splitlines()[0][:50] if found.mission.strip() else ""
        numbers = str(found.steps), str(found.rounds)
        table.add_row(path.name, escape(mission), found.recorded, found.verdict, *numbers, result)
    console().print(table)
