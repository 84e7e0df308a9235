"""`skm completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError

SHELLS: Final = ("bash", "zsh", "fish")
EPILOG = """\
examples:
  skm completion bash > ~/.local/share/bash-completion/completions/skm
  skm completion zsh > ~/.zfunc/_skm              with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  skm completion fish > ~/.config/fish/completions/skm.fish

Start a new shell afterwards.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm completion` to the command."""
    parser = subparsers.add_parser(
        "completion",
        help="print the completion script for bash, zsh or fish",
        description=(
            "Print a script that completes commands, options, domains, tasks, checkpoints and"
            " recordings."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, help="your shell")
    parser.set_defaults(run=run)


RECORDINGS: Final = {"RUN.mcap|FOLDER", "FOLDER|RUN.mcap"}
FILES: Final = ("checkpoint", "finetuned", "labels", "params_file", "objects", "keep")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab  # noqa: PLC0415
    except ImportError as error:
        raise SkmError("completion needs the package 'shtab': pip install shtab") from error
    from skm_cli.main import build_parser  # noqa: PLC0415

    parser, words = build_parser(), _words()
    for action in _arguments(parser):
        if action.metavar in RECORDINGS:
            action.complete = shtab.glob("*.mcap")  # type: ignore[attr-defined]
        elif action.type is Path or action.dest in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.choices is None and action.dest in words:
            action.complete = _names_or_files(action.dest, words[action.dest])  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=args.shell))
    return 0


def _words() -> dict[str, list[str]]:
    """Return the values that arguments may have, by the argument's name."""
    from skm_primitives.planning.planners import planner_names  # noqa: PLC0415
    from skm_sim.registry import SHIPPED, domain_names, get_domain  # noqa: PLC0415

    names = domain_names()
    tasks = (task for name in SHIPPED for task in get_domain(name).tasks)
    words = {
        "domain": list(names),
        "planner": list(planner_names()),
        "task": list(dict.fromkeys(["all", *map(str, tasks)])),
    }
    with suppress(ImportError):  # without PyYAML there are no systems to start
        from skm_ros.graph import load_systems  # noqa: PLC0415

        words["system"] = list(load_systems())
    return words


def _names_or_files(what: str, names: list[str]) -> dict[str, Any]:
    """Return what completes one of these names; of a domain, also the folder of one."""
    function, joined = f"_skm_{what}", " ".join(names)
    files = what == "domain"
    bash = [f'  compgen -W "{joined}" -- "$1"', *(['  compgen -f -- "$1"'] if files else [])]
    fish = [
        f"  printf '%s\\n' {joined}",
        *(["  __fish_complete_path (commandline -ct)"] if files else []),
    ]
    also = " 'files:file:_files'" if files else ""
    zsh = f"  _alternative '{what}s:{what}:({joined})'{also}"
    return {
        "bash": function,
        "zsh": function,
        "fish": f"({function})",
        "preamble": {
            "bash": "\n".join([f"{function}() {{", *bash, "}"]),
            "zsh": f"{function}() {{\n{zsh}\n}}",
            "fish": "\n".join([f"function {function}", *fish, "end"]),
        },
    }


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser, and of all commands below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _arguments(inner)
