"""`skm runs`: the recordings in a folder, and what one of them holds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from skm_cli.output import console, plain_table, print_json, whole_lines
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm runs
  skm runs recordings --json
  skm runs --keep 200,30d
  skm runs runs/20261117-093122_F-coffee.mcap

For a folder (default: runs), the output is a table. For a file, it is the mission, the parameters, the
outcome and the topics.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm runs` to the command."""
    parser = subparsers.add_parser(
        "runs",
        help="list recorded runs, or open one",
        description="List recorded runs with mission, outcome and length, or show what one holds.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "place",
        type=Path,
        nargs="?",
        default=Path("runs"),
        metavar="FOLDER|RUN.mcap",
        help="folder of recordings to list (default: runs), or one recording",
    )
    parser.add_argument(
        "--keep",
        metavar="LIMIT",
        help=(
            "limits of the folder: 200 (recordings), 2GB (total size), 30d (days), or "
            "several: 200,30d; deletes the oldest"
        ),
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List, or show."""
    from rich.markup import escape  # noqa: PLC0415

    from skm_primitives.recording.files import details, listed  # noqa: PLC0415

    if args.place.is_file():
        found = details(args.place)
        print_json(found) if args.json else _show(found)
        return 0
    if args.keep:
        from skm_primitives.recording.retention import Retention  # noqa: PLC0415

        for path in Retention.parse(args.keep).apply(args.place):
            print(f"deleted {path}", file=sys.stderr)
    rows = listed(args.place)
    if args.json:
        print_json(rows)
        return 0
    if not rows:
        raise SkmError(
            f"there is no recording (*.mcap) in {args.place}; `skm run … --record FILE.mcap` and "
            "`skm up … --record FOLDER` make some"
        )
    headers = ("recording", "started", "domain", "outcome", "steps", "seconds", "KiB", "mission")
    table = plain_table("", headers, wrap=False)
    for text in (1, 2, 3, 7):
        table.columns[text].justify = "left"
    for row in rows:
        seconds = "" if row["seconds"] is None else f"{row['seconds']:.1f}"
        mission = escape(" ".join(row["mission"].split()))
        steps = "" if row["steps"] is None else str(row["steps"])
        name, started = Path(row["file"]).name, row["started"][:19]
        outcome = row["outcome"] if row["complete"] else f"{row['outcome']}, no end"
        size = f"{row['bytes'] / 1024:.0f}"
        table.add_row(name, started, row["domain"], outcome, steps, seconds, size, mission)
    whole_lines(table)
    return 0


def _show(found: dict[str, Any]) -> None:
    out = console()
    out.print(f"{found['file']}: {found['messages']} messages, {found['bytes'] / 1024:.0f} KiB")
    if not found["complete"]:
        out.print("[yellow]it has no end: killed, cut, or still being written[/yellow]")
    for name, values in found["metadata"].items():
        out.print(f"[bold]{name}[/bold]")
        for key, value in values.items():
            out.print(f"  {key:<20} {value}", markup=False)
    table = plain_table("", ("topic", "messages", "type"))
    for topic, about in found["topics"].items():
        table.add_row(topic, str(about["messages"]), about["type"])
    out.print(table)
    out.print(f"judge it: skm verify {found['file']}; look at it: skm view {found['file']}")
