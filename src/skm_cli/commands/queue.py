"""`skm queue`: the missions that wait for their turn: look at them, take one out, move one."""

from __future__ import annotations

import argparse

from skm_cli.language import said
from skm_cli.options import add_system_options
from skm_cli.output import print_json

EPILOG = """\
examples:
  skm mission "F mail" --queue --priority 5    put a mission in
  skm queue                                    what is under way, and what waits, in its order
  skm queue remove 3                           take mission number 3 out; one under way is cancelled
  skm queue move 3 1                           mission number 3 comes next
  skm queue clear                              take out all that wait

Missions with a higher priority run first, missions with the same priority in the order of their arrival.
They do not interrupt the current mission. If a mission was cancelled or ended by an error, the next one
waits for `skm resume`.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm queue` to the command."""
    parser = subparsers.add_parser(
        "queue",
        help="list, remove and reorder waiting missions",
        description="List the waiting missions of a running system, or change them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what",
        nargs="?",
        default="list",
        choices=("list", "remove", "move", "clear"),
        help="what to do (default: list)",
    )
    parser.add_argument("number", nargs="?", type=int, help="remove, move: number of the mission")
    parser.add_argument(
        "place", nargs="?", type=int, help="move: new position; 1 is the next mission"
    )
    add_system_options(parser)
    parser.set_defaults(run=run)


def ask_to(args: argparse.Namespace, *, pause: bool) -> int:
    """Ask the machine to pause or to go on, and print what it says: `skm pause`, `skm resume`."""
    from skm_ros.client.ros_client import RosClient, require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.client.queue import (  # noqa: PLC0415
        QueueRefusedError,
        pause_mission,
        resume_mission,
    )

    code = 0
    with RosClient(args.namespace) as client:
        try:
            message = (pause_mission if pause else resume_mission)(client, args.timeout)
        except QueueRefusedError as error:
            code, message = 1, str(error)
    if args.json:
        print_json({"success": code == 0, "message": message})
    else:
        print(said(message))
    return code


def run(args: argparse.Namespace) -> int:
    """Ask the machine, and show what is to be done now."""
    from skm_machine.errors import SkmError  # noqa: PLC0415
    from skm_ros.client.ros_client import RosClient, require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.client.queue import QueueRefusedError, edit_queue  # noqa: PLC0415

    wanted = {"remove": ("number",), "move": ("number", "place")}.get(args.what, ())
    for name in ("number", "place"):
        if (getattr(args, name) is None) == (name in wanted):
            verb = "needs" if name in wanted else "takes no"
            raise SkmError(f"`skm queue {args.what}` {verb} {name}; see `skm queue --help`.")
    with RosClient(args.namespace) as client:
        try:
            queue = edit_queue(
                client, args.what, args.number or 0, args.place or 0, timeout=args.timeout
            )
        except QueueRefusedError as error:
            if args.json:
                print_json({"success": False, "message": str(error)})
            else:
                print(said(f"refused: {error}"))
            return 1
    if args.json:
        print_json({"success": True, "message": "", **queue.document()})
        return 0
    if queue.paused:
        print(said(queue.reason))
    for one in queue.missions:
        state = said("under way" if one.under_way else f"priority {one.priority}")
        print(f"{one.number:>4}  {state:<12}  {one.mission}")
    if not queue.missions:
        print(said("nothing is under way, and nothing waits"))
    return 0
