"""Options of commands that leave something of a mission's run: its picture, its recording."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_keeping_options(parser: argparse.ArgumentParser) -> None:
    """Add `--picture` and `--record`."""
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.svg",
        help="draw the run as .svg and .png; the simulator must publish markers",
    )
    parser.add_argument(
        "--record",
        type=Path,
        nargs="?",
        const=Path("runs"),
        metavar="FOLDER",
        help="keep the run in a file there (default: runs); see `skm verify`",
    )
