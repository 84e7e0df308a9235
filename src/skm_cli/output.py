"""What the commands share: consoles, JSON on standard output, progress bars.

Nothing but the standard library is imported until something is shown: `skm --help` is quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table


def console() -> Console:
    """Return the console for results that people read."""
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=False)


def error_console() -> Console:
    """Return the console for progress and remarks, which leaves standard output to results."""
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=True, highlight=False)


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


def track(items: Sequence[Any], what: str) -> Any:  # noqa: ANN401 - what `rich` makes of them
    """Return items with a progress bar on standard error that goes away at the end."""
    from rich.progress import track as bar  # noqa: PLC0415

    return bar(items, what, console=error_console(), transient=True)


def steps_bar() -> Progress:
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
        """Steps a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} steps/s")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=error_console(),
        refresh_per_second=4,
    )
