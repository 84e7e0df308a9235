"""`skm resume`: go on with what was paused, or waits to be allowed after a restart."""

from __future__ import annotations

import argparse

from skm_cli.commands.queue import ask_to
from skm_cli.options import add_system_options

EPILOG = """\
examples:
  skm resume
  skm resume --namespace /robot1 --json

To drop the mission instead, use `skm queue` and `skm queue remove NUMBER`.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm resume` to the command."""
    parser = subparsers.add_parser(
        "resume",
        help="resume a paused mission, or one that survived a restart",
        description=(
            "Resume a mission that was paused, or that survived a restart (--resume ask)."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_system_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask the machine."""
    return ask_to(args, pause=False)
