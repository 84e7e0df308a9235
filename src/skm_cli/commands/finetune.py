"""`skm finetune`: learn one task few-shot, beginning at the zero-shot level."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from skm_cli.options import PLANNERS, planner_name
from skm_cli.output import error_console, steps_bar
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm finetune office --task coffee_mail --plot curve.png --curve curve.csv
  skm finetune office_absorbing --task coffee_strict --seed 3 --json
  skm finetune office --task coffee_mail --steps 800000 --resume
  skm finetune safety --task 2 --steps 100000 --seed 0
  skm finetune moving_targets --mission "F(blue & X F purple)" --repeat --planner paper

Tabular domains: Q-learning over actions (Algorithm 3). Every 4000 steps, the policy is evaluated exactly
from every start, and the best policy is kept, including the zero-shot policy.
Domains with networks: Q-learning over skills. A policy that is better than zero-shot in validation
worlds is tested again in other worlds; if it fails this test, the zero-shot policy is kept.
"""

NAMED = ("task", "mission", "repeat", "planner", "seed", "checkpoint")
OPTIONS = (*NAMED, "epsilon", "alpha", "episode_steps")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm finetune` to the command."""
    parser = subparsers.add_parser(
        "finetune",
        help="improve the policy of one task by few-shot learning",
        description=(
            "Improve one task by few-shot learning (Algorithm 3), starting from the zero-shot"
            " policy."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help="a domain, such as office, safety, or your own")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--task", help="a task of the domain, such as coffee_mail")
    what.add_argument("--mission", help="a mission instead of a task")
    parser.add_argument(
        "--repeat", action="store_true", default=None, help="repeat --mission after each success"
    )
    parser.add_argument(
        "--planner",
        type=planner_name,
        metavar="NAME",
        help=f"{PLANNERS} (default: paper in tabular domains, else product)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        help=(
            "total number of environment steps, rounded up to whole rounds (default: 400000; "
            "networks: 100000)"
        ),
    )
    parser.add_argument("--seed", type=int, help="random seed (default: 0)")
    parser.add_argument(
        "--epsilon", type=float, help="probability of a random choice (default: 0.5; networks: 0.3)"
    )
    parser.add_argument(
        "--alpha", type=float, help="tabular: step size (default: 1; the paper uses 0.1)"
    )
    parser.add_argument(
        "--episode-steps", type=int, help="tabular: maximum length of an episode (default: 200)"
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another setting of the learner, such as hold=3 (docs/how-to/few_shot.md)",
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
        "--out", type=Path, help="output checkpoint (default: runs/finetune_DOMAIN_TASK)"
    )
    parser.add_argument("--resume", action="store_true", help="continue the checkpoint at --out")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing checkpoint")
    parser.add_argument(
        "--curve", type=Path, metavar="FILE.csv", help="save the learning curve as CSV"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="save a plot of the learning curve"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Learn, showing progress on stderr; the exit code is 130 if the run was interrupted."""
    started = time.process_time()
    from skm_cli.reports.finetune import finish_finetune  # noqa: PLC0415
    from skm_primitives.few_shot.finetuning import few_shot_learner  # noqa: PLC0415
    from skm_primitives.learning.settings import parse_settings  # noqa: PLC0415
    from skm_primitives.learning.training import begin_learner, train  # noqa: PLC0415
    from skm_primitives.skills.checkpoint import checkpoint_path  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415

    _check(args)
    spec = get_domain(args.domain)
    out = args.out or Path("runs") / f"finetune_{spec.name}_{args.task or 'mission'}"
    out = checkpoint_path(out)
    kind = few_shot_learner(spec)
    options = {name: getattr(args, name) for name in OPTIONS if getattr(args, name) is not None}
    options |= parse_settings(kind.settings_class, args.settings)
    modes = {"resume": args.resume, "overwrite": args.overwrite}
    learner = begin_learner(kind, spec, options, out, **modes)
    if learner.remark:
        error_console().print(f"skm: {learner.remark}")
    steps = args.steps or learner.default_steps
    with steps_bar() as progress:
        bar = progress.add_task("", total=steps)

        def report(steps: int) -> None:
            progress.update(bar, completed=steps, description=learner.status)

        report(learner.steps)
        result = train(learner, steps, out, shlex.join(["skm", *sys.argv[1:]]), report)
    about = {"out": str(out), "digest": result.card.digest, "interrupted": result.interrupted}
    finish_finetune(args, learner, result.card, time.process_time() - started, about)
    if result.interrupted:
        print(f"skm: interrupted and saved; --resume continues {out}", file=sys.stderr)
    return 130 if result.interrupted else 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that do not fit together, before anything is learned."""
    if args.steps is not None and args.steps < 1:
        raise SkmError(f"--steps is {args.steps}; it must be at least 1.")
    if args.resume and args.overwrite:
        raise SkmError("--resume continues a checkpoint, --overwrite replaces it; give one.")
    if args.plot and args.plot.suffix not in (".png", ".svg", ".pdf"):
        raise SkmError(f"--plot writes .png, .svg or .pdf, not '{args.plot.name}'.")
