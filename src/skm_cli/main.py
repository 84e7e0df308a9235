"""Entry point of the `skm` command: find the sub-command, run it, turn errors into messages."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn, TypeGuard

from skm_cli.exit_codes import exit_codes_text
from skm_cli.language import said
from skm_machine.errors import MissionError, SkmError, concise, did_you_mean, nearest
from skm_machine.version import __version__

GROUPS: Final = {
    "missions, without ROS": ("check", "run", "eval", "patterns"),
    "domains and skills": ("new", "map", "train", "finetune", "skills"),
    "nodes and robots": ("demo", "up", "mission", "queue", "pause", "resume", "event", "place"),
    "status and recordings": ("status", "monitor", "runs", "verify", "view", "plot"),
    "research": ("baseline", "reproduce", "bench"),
    "skm": ("doctor", "completion", "mcp", "help"),
}
COMMANDS: Final = tuple(name for names in GROUPS.values() for name in names if name != "help")
"""Each is the module `skm_cli.commands.<name>` with `add_parser(subparsers)` and `run(args)`."""
EPILOG: Final = """\
examples:
  skm demo                                  run the demo with the ROS 2 nodes
  skm check "F(coffee & X F office) & G !decoration" --domain office
  skm run office "F(coffee & X F office) & G !decoration" --start 2,2 --render run.png
  skm help run                              show the help of `skm run`
  skm doctor                                check the installation

Exit codes: 0 success, 1 negative result, 2 the command could not run. `skm help COMMAND` lists those of
a command; docs/reference/exit_codes.md lists all of them.
"""


class UsageError(SystemExit):
    """Arguments that make no sense; what was wrong has been printed."""

    def __init__(self, message: str) -> None:
        super().__init__(2)
        self.message = message


class Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines, and say what may have been meant."""

    before_help: Callable[[], None] | None = None
    """Completes the help of arguments, where that takes time: only when it is asked for."""

    def format_help(self) -> str:
        """Return the help."""
        if self.before_help is not None:
            self.before_help()
        return super().format_help() + self.exit_codes

    exit_codes = ""
    """The table of exit codes that ends the help of a command."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401 - as in argparse
        """Parse arguments; what is left over is reported by the command that did not take it."""
        parsed, left = self.parse_known_args(args, namespace)
        if left:
            command = _command_of(self, args)
            option = left[0].split("=")[0]
            guess = nearest(option, command._option_string_actions) if option[0] == "-" else None
            hint = f"; did you mean '{guess}'?" if guess else ""
            command.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where the help is."""
        usage = f"see `{self.prog} --help`"
        print(f"{self.prog}: {concise(message)}\n{self.prog}: {usage}", file=sys.stderr)
        raise UsageError(message)


class MainParser(Parser):
    """The parser of `skm` itself: its help shows the commands in groups."""

    def format_help(self) -> str:
        """Return the help."""
        (commands,) = _subcommands(self)
        said = {action.dest: action.help for action in commands._get_subactions()}
        said["help"] = "show the help of a command: `skm help run`"
        lines = [f"usage: {self.usage}", "", self.description or ""]
        for title, names in GROUPS.items():
            lines += ["", f"{title}:", *(f"  {name:<12}{said[name]}" for name in names)]
        lines += ["", "options:", "  -h, --help  show this help", "  --version   show the version"]
        return "\n".join(lines) + f"\n\n{EPILOG}"


def _subcommands(parser: argparse.ArgumentParser) -> Iterator[argparse._SubParsersAction[Any]]:
    yield from (act for act in parser._actions if isinstance(act, argparse._SubParsersAction))


def _command_of(parser: Any, words: Sequence[str]) -> Any:  # noqa: ANN401 - a parser
    """Return the parser of the command, or command of a command, that some arguments name."""
    for commands in _subcommands(parser):
        for number, word in enumerate(words):
            if word in commands.choices:
                return _command_of(commands.choices[word], words[number + 1 :])
    return parser


def build_parser(only: Iterable[str] = COMMANDS) -> MainParser:
    """Return the parser of the whole command, with these sub-commands added."""
    parser = MainParser(
        prog="skm",
        usage="skm COMMAND …",
        description="Run temporal-logic missions on robots by composing learned skills.",
    )
    parser.add_argument("--version", action="version", version=f"skm {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="skm", parser_class=Parser
    )
    for name in only:
        importlib.import_module(f"skm_cli.commands.{name}").add_parser(commands)
        commands.choices[name].exit_codes = f"\n{exit_codes_text(name)}\n"
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `skm` with the given arguments; bad input prints a message and gives exit code 2."""
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # small matrices: more threads only get in the way
    words = list(sys.argv[1:] if arguments is None else arguments)
    wants_json = "--json" in words
    try:
        code = _run(words)
        sys.stdout.flush()  # or the interpreter would find at its end that nothing can be written
    except UsageError as error:
        if wants_json:
            _print_error("UsageError", error.message, 2)
        raise
    except SkmError as error:
        _complain(str(error))
        if wants_json:
            about = {"text": error.text, "position": error.position} if _placed(error) else {}
            message = error.message if isinstance(error, MissionError) else str(error)
            _print_error(type(error).__name__, message, 2, **about)
        return 2
    except KeyboardInterrupt:
        _complain("interrupted")
        if wants_json:
            _print_error("Interrupted", "interrupted", 130)
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        what = "write the output" if error.filename is None else f"use {error.filename}"
        message = f"cannot {what}: {error.strerror or error}."
        _complain(message)
        if wants_json and error.filename is not None:
            _print_error("OSError", message, 2)
        _drop_output()
        return 2
    return code


def _run(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words:
        words = ["--help"]
    said("")  # a language that there is not is an error before anything is done
    name = words[0]
    if not name.startswith("-") and name not in COMMANDS:
        build_parser(()).error(f"no command '{name}'{did_you_mean(name, (*COMMANDS, 'help'))}")
    try:
        args = build_parser([name] if name in COMMANDS else COMMANDS).parse_args(words)
    except SystemExit:  # after --help, or a usage error
        sys.stdout.flush()
        raise
    return int(args.run(args))


def _placed(error: SkmError) -> TypeGuard[MissionError]:
    return isinstance(error, MissionError) and error.position is not None


def _print_error(kind: str, message: str, code: int, **about: object) -> None:
    """Print what went wrong as the JSON document that was asked for."""
    document = {"error": {"kind": kind, "message": message, **about, "exit_code": code}}
    with suppress(OSError):
        print(json.dumps(document, indent=2, ensure_ascii=False), flush=True)


def _complain(message: str) -> None:
    """Say what went wrong in the language that was chosen; where in a mission it is stays below it."""
    what, _, where = message.partition("\n")
    with suppress(SkmError):  # of that choice: then this is what is said, in English
        what = said(what)
    with suppress(OSError):
        print(f"skm: {what}" + (f"\n{where}" if where else ""), file=sys.stderr)


def _drop_output() -> None:
    """Let what is still buffered go nowhere: to write it once more would fail once more."""
    with suppress(OSError, ValueError):  # of a standard output that is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
