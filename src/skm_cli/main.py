"""Entry point of the `skm` command: find the sub-command, run it, turn errors into messages."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from skm_machine.errors import SkmError

COMMANDS = (
    "check",
    "new",
    "map",
    "patterns",
    "train",
    "run",
    "eval",
    "finetune",
    "baseline",
    "reproduce",
    "plot",
    "up",
    "demo",
    "mission",
    "verify",
    "monitor",
    "runs",
    "status",
    "view",
    "bench",
)
"""Each is the module `skm_cli.commands.<name>` with `add_parser(subparsers)` and `run(args)`."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command, with every sub-command added."""
    parser = argparse.ArgumentParser(
        prog="skm",
        description="Run temporal-logic missions on robots by composing learned skills.",
        epilog='example: skm check "F(button & X F cylinder) & G !region" --domain safety',
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"skm_cli.commands.{name}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `skm` with the given arguments; bad input prints a message and gives exit code 2."""
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # small matrices: more threads only get in the way
    args = build_parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except SkmError as error:
        print(f"skm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("skm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
