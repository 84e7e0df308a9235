"""`skm completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError

SHELLS: Final = ("bash", "zsh", "fish")
EPILOG = """\
examples:
  skm completion bash > ~/.local/share/bash-completion/completions/skm
  skm completion zsh > ~/.zfunc/_skm              with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  skm completion fish > ~/.config/fish/completions/skm.fish

A shell that is started after that completes commands, options and their choices.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm completion` to the command."""
    parser = subparsers.add_parser(
        "completion",
        help="print the completion for bash, zsh or fish",
        description="Print a script that lets a shell complete commands, options and their choices.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab  # noqa: PLC0415
    except ImportError as error:
        raise SkmError("completion needs the package 'shtab': pip install shtab") from error
    from skm_cli.main import build_parser  # noqa: PLC0415
    from skm_sim.registry import domain_names  # noqa: PLC0415

    parser = build_parser()
    for action in _arguments(parser):
        if action.dest == "domain":
            action.choices = domain_names()
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=args.shell))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser, and of all commands below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _arguments(inner)
