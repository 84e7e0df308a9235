"""`skm patterns`: the mission patterns, in plain words and as formulas, with an example each."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from skm_cli.output import console, print_json


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm patterns` to the command."""
    parser = subparsers.add_parser(
        "patterns",
        help="list the mission patterns of the plain-words language",
        description="List the 22 robotic mission patterns: words, formula, and an example to run.",
        epilog='example: skm run office "visit coffee, mail in order then office; never decoration"',
    )
    parser.add_argument(
        "pattern", nargs="?", help="show only patterns with this text in their name"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the patterns."""
    from rich.markup import escape  # noqa: PLC0415

    from skm_machine.errors import SkmError, did_you_mean  # noqa: PLC0415
    from skm_machine.logic.patterns import PATTERNS  # noqa: PLC0415
    from skm_sim.office.spec import EXAMPLES  # noqa: PLC0415

    chosen = [pattern for pattern in PATTERNS if (args.pattern or "") in pattern.name]
    if not chosen:
        names = [pattern.name for pattern in PATTERNS]
        raise SkmError(f"no pattern '{args.pattern}'{did_you_mean(args.pattern, names)}")
    if args.json:
        print_json([{**asdict(pattern), "example": EXAMPLES[pattern.name]} for pattern in chosen])
        return 0
    out = console()
    for pattern in chosen:
        out.print(f"[bold]{pattern.name}[/bold] ({pattern.group}): {pattern.meaning}")
        for what, text in (
            ("words", pattern.words),
            ("formula", pattern.formula),
            ("example", f'skm run office "{EXAMPLES[pattern.name]}"'),
        ):
            out.print(f"  {what:<9}{escape(text)}", soft_wrap=True)
    return 0
