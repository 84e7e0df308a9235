"""What the commands share: consoles, JSON on standard output, progress bars, how missions are read.

Nothing but the standard library is imported until something is shown: `skm --help` is quick.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table


MOST_COLUMNS = 10_000
"""Of a line in a pipe: no line is cut."""


def console() -> Console:
    """Return the console for results that people read; in a pipe no line is cut."""
    from rich.console import Console  # noqa: PLC0415

    sized = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if sized else MOST_COLUMNS)


def error_console() -> Console:
    """Return the console for progress and remarks, which leaves standard output to results."""
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=True, highlight=False)


def add_reading_options(parser: argparse.ArgumentParser, *, limits: bool = False) -> None:
    """Add how a mission is read and, where the command itself translates it, within which limits."""
    parser.add_argument(
        "--format",
        choices=("auto", "ltl", "words", "hoa", "rm"),
        default="auto",
        help="format of the mission (default: detected)",
    )
    parser.add_argument(
        "--horizon",
        choices=("auto", "finite", "infinite"),
        default="auto",
        help=(
            "read the formula as a mission with an end (finite) or as a recurring mission "
            "(infinite); default: skm decides, and `skm check` says why"
        ),
    )
    if limits:
        parser.add_argument(
            "--max-states", type=int, help="maximum number of machine states (default: 20000)"
        )
        parser.add_argument(
            "--translation-seconds",
            type=float,
            help="maximum time of the translation, in seconds (default: 3)",
        )


def add_workers_option(parser: argparse.ArgumentParser, default: str | None, what: str) -> None:
    """Add who does the jobs of a command, and where finished ones are kept."""
    parser.add_argument(
        "--workers",
        default=default,
        metavar="WHO",
        help=f"who does {what}: a number of processes, auto (one for each core), ray,"
        f" ray://HOST:PORT or slurm (default: {default or 1}; docs/results/paper.md)",
    )


def add_keep_option(parser: argparse.ArgumentParser) -> None:
    """Add where finished jobs are kept."""
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="save finished jobs in this folder, and skip those that are already there",
    )


def print_json(document: Any) -> None:  # noqa: ANN401 - any JSON document
    """Print one JSON document on standard output."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def plain_table(title: str, headers: Sequence[str], *, wrap: bool = True) -> Table:
    """Return a table without lines: the first column to the left, figures to the right."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for index, header in enumerate(headers):
        table.add_column(header, justify="right" if index else "left", no_wrap=not (wrap or index))
    return table


def whole_lines(table: Table) -> None:
    """Print a table whose lines are as long as they are: in a pipe, and on a narrow terminal, too."""
    import io  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    text = io.StringIO()
    Console(file=text, width=MOST_COLUMNS, highlight=False).print(table)
    print("\n".join(line.rstrip() for line in text.getvalue().splitlines()))


def seed_number(text: str) -> int:
    """Return the seed that an argument gives; generators take none below 0."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise ArgumentTypeError(f"a seed is a whole number from 0 up, not '{text}'")
    return number


def seed_list(text: str) -> list[int]:
    """Return the seeds that an argument gives: a number of them, a range 0-7, or a list 3,5."""
    try:
        if "-" in text:
            first, last = (int(part) for part in text.split("-"))
            seeds = list(range(first, last + 1))
        else:
            numbers = [int(part) for part in text.split(",")]
            seeds = list(range(numbers[0])) if len(numbers) == 1 else numbers
    except ValueError:
        seeds = []
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise ArgumentTypeError(f"seeds are a number (8), a range (0-7) or a list (3,5): '{text}'")
    return seeds


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Make the folder of a file that is about to be written; say what prevents it from being."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise SkmError(f"cannot write {path}: {error.strerror or error}.") from error


def counted(count: int, what: str) -> str:
    """Return a number with what it counts: "1 step", "2 steps"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def track(items: Sequence[Any], what: str) -> Any:  # noqa: ANN401 - what `rich` makes of them
    """Return items with a progress bar on standard error that goes away at the end."""
    from rich.progress import track as bar  # noqa: PLC0415

    return bar(items, what, console=error_console(), transient=True)


def steps_bar(unit: str = "step") -> Progress:
    """Return a progress bar on standard error with the rate and an estimate of the time left."""
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text  # noqa: PLC0415

    class Rate(ProgressColumn):
        """Steps a second; where they are slow, seconds a step."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if not speed:
                return Text("")
            return Text(f"{speed:,.0f} {unit}s/s" if speed >= 1 else f"{1 / speed:,.0f} s/{unit}")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=error_console(),
        refresh_per_second=4,
    )


def start_options(start: str | None) -> dict[str, Any] | None:
    """Return the reset options of a start such as `2,2`; none, if chance is to decide.

    Whole numbers stay whole: they are rows and columns where a domain has such.
    """
    if start is None:
        return None
    try:
        whole = not any(mark in start for mark in ".eE")
        first, second = (
            int(part) if whole else float(part) for part in start.replace(",", " ").split()
        )
    except ValueError:
        raise SkmError(
            f"--start takes a row and a column, such as 2,2, or x,y in metres, not '{start}'"
        ) from None
    return {"start": (first, second)}
