"""Entry point of the `skm` command: find the sub-command, run it, turn errors into messages."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

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
    "skills",
    "baseline",
    "reproduce",
    "plot",
    "up",
    "demo",
    "mission",
    "queue",
    "pause",
    "resume",
    "event",
    "place",
    "verify",
    "monitor",
    "runs",
    "status",
    "view",
    "mcp",
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
    try:
        code = _run(arguments)
        sys.stdout.flush()  # or the interpreter would find at its end that nothing can be written
    except SkmError as error:
        _complain(str(error))
        return 2
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        what = "write the output" if error.filename is None else f"use {error.filename}"
        _complain(f"cannot {what}: {error.strerror or error}.")
        _drop_output()
        return 2
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        args = build_parser().parse_args(arguments)
    except SystemExit:  # after --help, or a usage error
        sys.stdout.flush()
        raise
    return int(args.run(args))


def _complain(message: str) -> None:
    with suppress(OSError):
        print(f"skm: {message}", file=sys.stderr)


def _drop_output() -> None:
    """Let what is still buffered go nowhere: to write it once more would fail once more."""
    with suppress(OSError, ValueError):  # of a standard output that is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
