"""`skm status`: what a running system is doing, from what its nodes latch and report."""

from __future__ import annotations

import argparse

from skm_cli.options import add_system_options
from skm_cli.output import print_json
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm status
  skm status --namespace /robot1 --json
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm status` to the command."""
    parser = subparsers.add_parser(
        "status",
        help="show the state of a running system",
        description="Show the state of a running system (see `skm up`).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_system_options(parser, timeout=5.0)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Listen until every part has been heard or the time is up, and show what was heard."""
    from skm_ros.client.ros_client import RosClient, require_ros  # noqa: PLC0415

    require_ros()
    from skm_cli.reports.status import print_status  # noqa: PLC0415
    from skm_ros.client.monitoring import Heard  # noqa: PLC0415

    with RosClient(args.namespace) as client:
        heard = Heard(client)
        client.spin_until(lambda: heard.all, args.timeout)
        document = heard.document()
        if not any(part["running"] for part in document["nodes"].values()):
            raise SkmError(f"nothing answered within {args.timeout:g} s; {client.how_to_start()}")
    if args.json:
        print_json(document)
    else:
        print_status(document)
    return 0 if document["ready"] else 1
