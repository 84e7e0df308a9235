"""`skm doctor`: what is installed, what the nodes can reach, and what to fix."""

from __future__ import annotations

import argparse
from typing import Final

from skm_cli.output import print_json

EXTRAS: Final = {
    "ros": "the nodes",
    "safety": "the domains safety and zones",
    "learn": "learning with networks",
    "record": "recordings",
    "web": "the page",
    "mcp": "missions proposed by assistants",
    "foxglove": "the nodes in Foxglove",
    "baselines": "`skm baseline`",
    "hub": "skills on Hugging Face",
    "irsim": "a second simulated robot",
}
"""What the extras of pyproject.toml are needed for; those for developers are left out."""
EPILOG = """\
examples:
  skm doctor
  skm doctor --json
  ROS_DOMAIN_ID=7 skm doctor --timeout 20

✓ works. – is not installed, and optional. ✗ is a problem; the next line explains how to fix it.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm doctor` to the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="check the installation",
        description=(
            "Check this installation: packages, ROS 2, GPU, ports, and communication between nodes."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        help="seconds to wait for communication over DDS (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make all checks, and print them."""
    from skm_cli.installation import STATES, examine  # noqa: PLC0415

    findings = []
    for finding in examine(args.timeout, EXTRAS):
        findings.append(finding)
        if not args.json:
            print(f"{STATES[finding.state]} {finding.subject}: {finding.found}", flush=True)
            if finding.fix:
                print(f"    {finding.fix}", flush=True)
    wrong = sum(finding.state == "wrong" for finding in findings)
    if args.json:
        print_json({"wrong": wrong, "findings": [finding._asdict() for finding in findings]})
    else:
        print("nothing has to be fixed" if not wrong else f"to be fixed: {wrong}")
    return 1 if wrong else 0
