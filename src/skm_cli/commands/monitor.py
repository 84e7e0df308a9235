"""`skm monitor`: judge the labels of a running system live, whatever drives the robot."""

from __future__ import annotations

import argparse
import json
import time

from skm_cli.output import add_reading_options

EPILOG = """\
examples:
  skm monitor "G !region"
  skm monitor "F(coffee & X F office) & G !decoration" --namespace /robot1 --json
  skm monitor "G F A & G F C" --max-seconds 60

The command prints a line when the verdict changes: satisfied, violated or still possible, with the
shortest way to violate the mission. It ends when the mission is decided, on Ctrl-C, or after
--max-seconds. For a permanent monitor, use `skm up … --monitor "G !region"` and the topic `verdict`.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm monitor` to the command."""
    parser = subparsers.add_parser(
        "monitor",
        help="monitor the labels of a running system",
        description=(
            "Check the labels of a running system against a mission, live. Moves nothing."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "mission", metavar="MISSION", help="a formula, plain words, or a mission file"
    )
    add_reading_options(parser)
    parser.add_argument(
        "--step-seconds",
        type=float,
        help=(
            "duration of a step, for bounds in seconds (default: use the time stamps of the labels)"
        ),
    )
    parser.add_argument(
        "--namespace", default="/skm", help="namespace of the system (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        help="seconds to wait for labels (default: %(default)g)",
    )
    parser.add_argument(
        "--max-seconds", type=float, default=0.0, help="stop after this time (default: never)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document per line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Listen, and tell every change."""
    from skm_ros.client.ros_client import RosClient, counted_interrupts, require_ros  # noqa: PLC0415

    require_ros()
    from skm_machine.errors import SkmError  # noqa: PLC0415
    from skm_machine.mission import read_mission_text  # noqa: PLC0415
    from skm_ros.client.monitoring import Listener, verdict_document, verdict_line  # noqa: PLC0415

    options = {
        "format": args.format,
        "horizon": args.horizon,
        "step_seconds": args.step_seconds,
    }

    def tell(verdict: object) -> None:
        line = json.dumps(verdict_document(verdict)) if args.json else verdict_line(verdict)
        print(line, flush=True)

    with RosClient(args.namespace) as client, counted_interrupts() as interrupts:
        listener = Listener(client, read_mission_text(args.mission), tell, **options)
        began = time.monotonic()

        def is_over() -> bool:
            late = 0 < args.max_seconds < time.monotonic() - began
            return listener.decided or interrupts.count > 0 or late

        client.spin_until(lambda: listener.heard or is_over(), args.timeout)
        if not listener.heard and not interrupts.count:
            raise SkmError(f"nothing publishes labels; {client.how_to_start()}")
        client.spin_until(is_over)
        return listener.exit_code
