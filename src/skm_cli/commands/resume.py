"""`skm resume`: go on with what was paused, or waits to be allowed after a restart."""

from __future__ import annotations

import argparse

from skm_cli.commands.queue import ask_to
from skm_cli.options import add_system_options

EPILOG = """\
examples:
  skm resume
  skm resume --namespace /robot1 --json

To drop the mission instead: `skm queue`, then `skm queue remove NUMBER`.

exit codes:
  0  it goes on
  1  nothing was paused
  2  nobody answered in time
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm resume` to the command."""
    parser = subparsers.add_parser(
        "resume",
        help="go on with a mission that was paused, or outlived a restart",
        description="Go on with a mission that was paused, or that outlived a restart (resume:=ask).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_system_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask the machine."""
    return ask_to(args, pause=False)
