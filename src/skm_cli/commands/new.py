"""`skm new domain`: a package to begin with, that runs as it is."""

from __future__ import annotations

import argparse
from pathlib import Path

EPILOG = """\
examples:
  skm new domain kitchen
  skm new domain car --from MountainCarContinuous-v0
  skm new domain maze --from gymnasium_robotics:PointMaze_Large-v3

The package contains an environment with labels, a spec, a test, and a README that explains what to edit.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm new` to the command."""
    parser = subparsers.add_parser(
        "new",
        help="create a package with a domain of your own",
        description="Create a package with a domain that runs, for you to edit.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("domain",), help="what to create")
    parser.add_argument("name", metavar="NAME", help="name, such as kitchen")
    parser.add_argument(
        "--from", dest="env_id", metavar="ENV_ID", help="wrap this Gymnasium environment"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder to create (default: ./NAME)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the package, and say what is in it."""
    from skm_cli.new_domain import write_domain  # noqa: PLC0415

    folder = args.out or Path(args.name)
    for path in write_domain(args.name, folder, args.env_id):
        print(path)
    print(f"{folder / 'README.md'} says what to do next.")
    return 0
