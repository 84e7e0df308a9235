"""`skm event`: tell a running mission that something has happened that the robot does not control."""

from __future__ import annotations

import argparse
import math

from skm_cli.language import said
from skm_cli.options import add_system_options
from skm_cli.output import print_json
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm event                                    the events, and which of them are true
  skm event call
  skm event low_battery --off --json

A system declares its events when it starts: `skm up demo --events call,low_battery`. An event keeps its
value until you set it again. The command returns when the mission has read the event, and prints the
state from which it counts.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm event` to the command."""
    parser = subparsers.add_parser(
        "event",
        help="set an event of the current mission",
        description=("Set a proposition that the robot does not control, for the current mission."),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "event",
        nargs="?",
        metavar="NAME",
        help="name of the event; without a name, show all events",
    )
    parser.add_argument("--off", action="store_true", help="set the event to false (default: true)")
    add_system_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Set the event and wait until it has taken effect, or show what the events are."""
    if not 0 < args.timeout < math.inf:
        raise SkmError(f"--timeout is {args.timeout:g}; it must be above 0.")
    from skm_ros.client.ros_client import RosClient, require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.client.events import set_event  # noqa: PLC0415
    from skm_ros.client.monitoring import Heard  # noqa: PLC0415

    with RosClient(args.namespace) as client:
        if args.event is None:
            heard = Heard(client)
            if not client.spin_until(lambda: heard.machine is not None, args.timeout):
                raise SkmError(
                    f"nothing answered within {args.timeout:g} s; {client.how_to_start()}"
                )
            true = set(heard.machine.true_events)
            document = {name: name in true for name in heard.machine.events}
        else:
            document = set_event(client, args.event, not args.off, args.timeout)
    if args.json:
        print_json(document)
    elif args.event is None:
        for name, holds in document.items():
            print(f"{name}: {said('true' if holds else 'false')}")
        if not document:
            print(said("this system has no events; `skm up … --events NAME,NAME` declares them"))
    elif document["effective"]:
        value = "false" if args.off else "true"
        world = f"episode {document['episode']}, step {document['step']} of the world"
        since = f"from step {document['mission_steps']} of the mission on"
        print(said(f"{args.event} is {value} {since} ({world})"))
    else:
        print(said(f"refused: {document['reason']}"))
    return 0 if args.event is None or document["effective"] else 1
