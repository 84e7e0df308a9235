"""`skm reproduce`: the figures and tables of the paper, made again by one command."""

from __future__ import annotations

import argparse
from pathlib import Path

from skm_cli.output import add_workers_option, print_json, steps_bar
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm reproduce paper --quick --out runs/paper_quick
  skm reproduce paper --workers auto --out runs/paper
  skm reproduce paper --only figure-2 figure-3 --runs 10

Parts: findings, figure-2 (ow_returns), figure-2-best, task-4, planners, tasks,
figure-3 (returns), figure-6 (ow_values_base), figure-7 (ow_trajectories), figure-8 (gr1),
figure-9 (gr2), figure-12 (rm_sm), figure-13 (safety). The folder has report.html, figures/, tables/ and
raw/; what is in raw/ is not done again.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm reproduce` to the command."""
    parser = subparsers.add_parser(
        "reproduce",
        help="reproduce the figures and tables of the paper",
        description=(
            "Reproduce the figures and tables of the Skill Machines paper, in a folder with a"
            " report page."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("paper",), help="what to reproduce")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs") / "paper",
        help="output folder (default: %(default)s)",
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PART", help="parts to reproduce (default: all)"
    )
    parser.add_argument("--runs", type=int, default=60, help="runs per method (default: 60)")
    parser.add_argument("--quick", action="store_true", help="use 5 runs and 10 episodes")
    add_workers_option(parser, "auto", "the runs")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the parts, showing progress on stderr; an interrupted run goes on where it was."""
    from skm_primitives.reproduction import ReproduceOptions, reproduce  # noqa: PLC0415

    if args.runs < 1:
        raise SkmError(f"--runs is {args.runs}; it must be at least 1.")
    with steps_bar("run") as progress:
        bar = progress.add_task("reproduce", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total, description=what or "reproduce")

        options = ReproduceOptions(args.out, args.only, args.runs, args.quick, args.workers, show)
        report = reproduce(options)
    if args.json:
        print_json({"report": str(report), "parts": options.parts()})
    else:
        print(f"the report is {report}")
    return 0
