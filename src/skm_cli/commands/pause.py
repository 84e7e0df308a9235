"""`skm pause`: let the robot rest without taking its mission back."""

from __future__ import annotations

import argparse

from skm_cli.commands.queue import ask_to
from skm_cli.options import add_system_options

EPILOG = """\
examples:
  skm pause
  skm pause --namespace /robot1

The mission goes on with `skm resume`. What is true meanwhile still counts: a mission fails if what it
forbids happens. To stop a robot in danger, use its own stop, or the service `stop`
(docs/reference/ros.md).

exit codes:
  0  it is paused
  2  nobody answered in time
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm pause` to the command."""
    parser = subparsers.add_parser(
        "pause",
        help="let the robot rest; its mission waits",
        description="Let the robot of a running system rest: its mission waits where it is.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_system_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask the machine."""
    return ask_to(args, pause=True)
