"""`skm pause`: let the robot rest without taking its mission back."""

from __future__ import annotations

import argparse

from skm_cli.commands.queue import ask_to
from skm_cli.options import add_system_options

EPILOG = """\
examples:
  skm pause
  skm pause --namespace /robot1

`skm resume` continues the mission. Labels still count during a pause, so the mission can fail. To stop a
robot in danger, use its emergency stop, or the service `stop` (docs/reference/ros.md).
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm pause` to the command."""
    parser = subparsers.add_parser(
        "pause",
        help="pause the current mission",
        description="Pause the mission of a running system. The robot stops.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_system_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask the machine."""
    return ask_to(args, pause=True)
