"""`skm eval`: how well a domain's tasks are solved, beside the optimum."""

from __future__ import annotations

import argparse
import importlib
from typing import Final

from skm_machine.errors import SkmError, did_you_mean

EVALUATORS: Final = {
    "office": "skm_primitives.evaluation.eval_tabular",
    "office_absorbing": "skm_primitives.evaluation.eval_tabular",
    "moving_targets": "skm_primitives.evaluation.eval_moving_targets",
    "safety": "skm_primitives.evaluation.eval_safety",
}
"""The module with `run(args)` that evaluates each domain."""

EPILOG = """\
examples:
  skm eval office --task all --seeds 5 --planner grounded
  skm eval office --task coffee --planner paper --json
  skm eval safety --task 2 --layouts test --episodes 20
  skm eval moving_targets --task skills --episodes 500
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm eval` to the command."""
    parser = subparsers.add_parser(
        "eval",
        help="measure how well the tasks of a domain are solved",
        description="Run the tasks of a domain zero-shot and measure them, beside the optimum.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help=f"one of: {', '.join(EVALUATORS)}")
    parser.add_argument(
        "--task",
        default="all",
        help="a task of the domain, or all (the default); safety, moving_targets: also skills; "
        "moving_targets: also random, missions drawn before any training",
    )
    parser.add_argument("--planner", choices=("grounded", "paper"), default="grounded")
    parser.add_argument(
        "--seeds", type=int, default=1, help="training seeds; 0 is the shipped one (default: 1)"
    )
    parser.add_argument("--epsilon", type=float, default=0.0, help="share of random actions")
    parser.add_argument(
        "--episodes",
        type=int,
        help="office: runs of each start with --epsilon (default: 10); else runs of each task",
    )
    parser.add_argument(
        "--layouts",
        choices=("random", "test"),
        default="random",
        help="safety: random feasible layouts (the default), or the authors' fixed one",
    )
    parser.add_argument("--checkpoint", help="primitives to use instead of the shipped ones")
    parser.add_argument(
        "--exact",
        action="store_true",
        help="moving_targets: perfect skills, from the true state: what the planner alone can do",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the evaluation itself")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Evaluate one domain by its own module."""
    if args.domain not in EVALUATORS:
        raise SkmError(
            f"no evaluation for the domain '{args.domain}'{did_you_mean(args.domain, EVALUATORS)}"
        )
    if args.seeds < 1 or (args.episodes is not None and args.episodes < 1):
        raise SkmError("--seeds and --episodes must be at least 1")
    if not 0 <= args.epsilon <= 1:
        raise SkmError(f"--epsilon is a share between 0 and 1, not {args.epsilon}")
    if args.exact and args.domain != "moving_targets":
        raise SkmError("--exact goes with moving_targets only")
    return int(importlib.import_module(EVALUATORS[args.domain]).run(args))
