"""`skm demo`: the three nodes as processes, one mission through them, and a picture of the run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from skm_cli.options import add_web_options, keep_token
from skm_cli.output import print_json, seed_number

EPILOG = """\
examples:
  skm demo
  skm demo "F(button & X F region)" --seed 16
  skm demo --web
  skm demo --domain office --picture runs/office.svg
  skm demo --domain moving_targets --seed 5
  skm demo "F(mail & X F office) & G !decoration" --domain office --mode lockstep

By default, a point robot presses a button, then goes to the cylinder, and never touches a region. The
picture shows its path in the colours of the machine's states. The .svg file also shows the machine.

With --web, you can watch the run in a browser, and the nodes keep running until Ctrl-C.

The nodes use ROS_DOMAIN_ID if it is set, and otherwise a free domain id.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm demo` to the command; what is not said is as config/graph.yaml has it."""
    parser = subparsers.add_parser(
        "demo",
        help="run one mission with the ROS 2 nodes and draw it",
        description=(
            "Start simulator, primitives and machine, run one mission, draw it, and stop the nodes."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "mission",
        metavar="MISSION",
        nargs="?",
        help=("mission (default: task 2 of safety and moving_targets, otherwise the first task)"),
    )
    parser.add_argument("--domain", help="a domain (default: safety)")
    parser.add_argument(
        "--mode",
        choices=("lockstep", "realtime"),
        help="wait for each action, or step at a fixed rate (default: realtime)",
    )
    parser.add_argument("--rate", type=float, help="steps per second in real time (default: 10)")
    parser.add_argument("--seed", type=seed_number, help="seed of the world (default: 95)")
    parser.add_argument(
        "--checkpoint",
        metavar="FILE|NAME[:FILE]",
        help=(
            "skills to use instead of the shipped ones: a checkpoint, or skills of an "
            "installed package"
        ),
    )
    parser.add_argument(
        "--picture",
        metavar="FILE.svg",
        help="picture of the run, as .svg and .png (default: runs/demo.svg)",
    )
    add_web_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


OPTIONS: Final = (
    *("mission", "domain", "mode", "rate", "seed", "checkpoint", "picture"),
    *("web", "web_host", "web_port", "web_read_only", "web_public_url", "web_deadman"),
)


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

    require_ros()
    from skm_primitives.figures.run import check_picture  # noqa: PLC0415
    from skm_ros.client.demo_run import run_demo  # noqa: PLC0415

    if args.picture:
        check_picture(Path(args.picture))
    given = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    keep_token(given)
    document = run_demo(given)
    if args.json:
        print_json(document)
    return {"accepted": 0, "rejected": 2}.get(document["outcome"], 1)
