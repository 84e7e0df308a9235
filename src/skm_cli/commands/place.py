"""`skm place`: take a place out of service, or put it back: a closed door, a room that is cleaned."""

from __future__ import annotations

import argparse

from skm_cli.language import said
from skm_cli.options import add_system_options
from skm_cli.output import print_json

EPILOG = """\
examples:
  skm place                                    the places that are out of service
  skm place kitchen --close --note "floor is wet until noon"
  skm place kitchen --open

The robot does not enter a closed place. The current mission is planned again without it. The place
stays closed until you open it, also after a restart of the nodes. To close a door, define a place in
the doorway.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm place` to the command."""
    parser = subparsers.add_parser(
        "place",
        help="close a place of the map, or open it again",
        description="Close a place on the map of a running system, or open it again.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "place",
        nargs="?",
        metavar="NAME",
        help="name of the place; without a name, show closed places",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--close", action="store_true", help="close the place")
    how.add_argument("--open", action="store_true", help="open the place")
    parser.add_argument("--note", default="", help="reason, shown to people")
    add_system_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask the machine, and show what is closed now."""
    from skm_ros.client.ros_client import RosClient, require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.client.places import set_place  # noqa: PLC0415

    changes = args.place is not None and (args.close or args.open)
    name = args.place if changes else ""
    with RosClient(args.namespace) as client:
        answer = set_place(client, name, closed=args.close, note=args.note, timeout=args.timeout)
    closed = answer["closed"]
    if args.place is not None and not changes and args.place in closed:
        closed = {args.place: closed[args.place]}
    if args.json:
        print_json({**answer, "closed": closed})
        return 0 if answer["success"] else 1
    if not answer["success"]:
        print(said(f"refused: {answer['message']}"))
        return 1
    if answer["message"]:
        print(said(answer["message"]))
    for name, note in closed.items():
        print(said(f"{name}: out of service{f' ({note})' if note else ''}"))
    if not closed and not answer["message"]:
        print(said("every place is in service"))
    return 0
