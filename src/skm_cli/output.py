"""What the commands share: consoles, JSON on standard output, and label sets as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from typing import Any

from rich.console import Console


def console() -> Console:
    """Return the console for results that people read."""
    return Console(highlight=False)


def error_console() -> Console:
    """Return the console for progress and remarks, which leaves standard output to results."""
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:  # noqa: ANN401 - any JSON document
    """Print one JSON document on standard output."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def labels_text(labels: Collection[str]) -> str:
    """Return a label set as people write it: `{coffee, mail}`."""
    return "{" + ", ".join(sorted(labels)) + "}"
