"""`skm eval`: how well a domain's tasks are solved, beside the optimum."""

from __future__ import annotations

import argparse
from pathlib import Path

from skm_cli.options import PLANNERS, planner_name
from skm_cli.output import add_keep_option, add_workers_option, print_json, seed_number, track
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm eval office --task all --seeds 5 --planner product
  skm eval office --task coffee --planner paper --json
  skm eval zones --task finite --planner paper --possible-only
  skm eval safety --task 2 --layouts test --episodes 20
  skm eval zones --task finite --episodes 500 --seed 7
  skm eval moving_targets --task skills --episodes 500
  skm eval safety --task 5 --finetuned runs/finetune_safety_5
  skm eval office --missions 20 --seed 3 --save-missions set.txt
  skm eval office --mission-set set.txt --planner values --json
  skm eval zones --task all --workers auto --keep runs/zones_eval
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm eval` to the command."""
    parser = subparsers.add_parser(
        "eval",
        help="evaluate skills and planners on the tasks of a domain",
        description="Run the tasks of a domain zero-shot, and compare them with the optimum.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "domain",
        help=("a domain: a name such as office, package.module:SPEC, or a folder of `skm map`"),
    )
    parser.add_argument(
        "--task",
        default="all",
        help="a task of the domain, or all (the default); safety, moving_targets: also skills; "
        "zones: also finite, infinite, hard; moving_targets: also random, missions drawn before any "
        "training",
    )
    parser.add_argument(
        "--missions",
        type=int,
        default=0,
        metavar="N",
        help=(
            "evaluate N random missions instead of tasks, from --episodes starts each "
            "(default: 100); in finite worlds, only feasible missions and starts"
        ),
    )
    parser.add_argument(
        "--mission-set",
        metavar="FILE",
        help=(
            "evaluate the missions of a file instead of tasks: one formula per line, # starts"
            " a comment"
        ),
    )
    parser.add_argument(
        "--save-missions",
        metavar="FILE",
        help="save the evaluated missions to a file for --mission-set",
    )
    parser.add_argument(
        "--planner",
        type=planner_name,
        metavar="NAME",
        default="product",
        help=f"{PLANNERS} (default: product)",
    )
    parser.add_argument(
        "--possible-only",
        action="store_true",
        help="with --planner paper: ignore label sets that never occur",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=1,
        help="number of training seeds; seed 0 is the shipped one (default: 1)",
    )
    parser.add_argument("--epsilon", type=float, default=0.0, help="probability of a random action")
    parser.add_argument(
        "--episodes",
        type=int,
        help=("office: runs per start with --epsilon (default: 10); otherwise runs per task"),
    )
    parser.add_argument(
        "--layouts",
        default="",
        help=(
            "safety: random feasible layouts (default), or `test`, the fixed layout of the authors"
        ),
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE|NAME[:FILE]",
        help=(
            "skills to use instead of the shipped ones: a checkpoint, or skills of an "
            "installed package"
        ),
    )
    parser.add_argument(
        "--finetuned",
        metavar="FILE",
        help="evaluate a policy of `skm finetune` for this --task",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="moving_targets: use exact skills, to measure the planner alone",
    )
    parser.add_argument("--seed", type=seed_number, default=0, help="seed of the evaluation")
    add_workers_option(parser, "1", "the tasks or missions, each a job")
    add_keep_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Evaluate one domain, and print a table or JSON."""
    from skm_cli.reports.eval import print_evaluation  # noqa: PLC0415
    from skm_primitives.evaluation import EvaluationOptions  # noqa: PLC0415
    from skm_primitives.evaluation.mission_trials import (  # noqa: PLC0415
        MissionsEvaluation,
        mission_set_text,
        read_mission_set,
    )
    from skm_primitives.evaluation.spread import evaluate_spread  # noqa: PLC0415

    options = EvaluationOptions(
        task=args.task,
        missions=args.missions,
        mission_set=read_mission_set(args.mission_set) if args.mission_set else (),
        planner=args.planner,
        possible_only=args.possible_only,
        seeds=args.seeds,
        epsilon=args.epsilon,
        episodes=args.episodes,
        variant=args.layouts,
        checkpoint=args.checkpoint,
        finetuned=args.finetuned,
        exact=args.exact,
        seed=args.seed,
        track=track,
    )
    if args.save_missions and not (options.missions or options.mission_set):
        raise SkmError(
            "--save-missions writes the missions of --missions or --mission-set; give one."
        )
    if args.save_missions and Path(args.save_missions).exists():
        raise SkmError(f"{args.save_missions} exists; give --save-missions another name.")
    evaluation = evaluate_spread(args.domain, options, args.workers, args.keep)
    if args.save_missions and isinstance(evaluation, MissionsEvaluation):
        _save(Path(args.save_missions), mission_set_text(evaluation))
    if args.json:
        print_json(evaluation.document())
    else:
        print_evaluation(evaluation)
    return 0


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SkmError(f"cannot write {path}: {error.strerror or error}.") from error
