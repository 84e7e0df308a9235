"""`skm finetune`: learn one task few-shot, beginning at the zero-shot level."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from skm_cli.output import error_console, print_json, steps_bar
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm finetune office --task coffee_mail --plot curve.png --curve curve.csv
  skm finetune office_absorbing --task coffee_strict --seed 3 --json
  skm finetune office --task coffee_mail --steps 800000 --resume

The policy is evaluated exactly, from every start, every 4000 steps; the best one is kept, the
zero-shot policy being the first, so that the result is never worse than that.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm finetune` to the command."""
    parser = subparsers.add_parser(
        "finetune",
        help="improve on the zero-shot policy of a task by few-shot Q-learning",
        description="Learn one task of a tabular domain by Q-learning with its skill machine"
        " (Algorithm 3), beginning at the level of the zero-shot policy.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help="a tabular domain: office, office_absorbing, or your own")
    parser.add_argument("--task", required=True, help="a task of the domain, such as coffee_mail")
    parser.add_argument(
        "--planner",
        choices=("paper", "grounded", "values"),
        help="of the skill machine (default: paper)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=400_000,
        help="environment steps in all, rounded up to whole rounds of 4000 (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, help="seed of everything random (default: 0)")
    parser.add_argument("--epsilon", type=float, help="share of random actions (default: 0.5)")
    parser.add_argument("--alpha", type=float, help="step size; the paper has 0.1 (default: 1)")
    parser.add_argument(
        "--episode-steps", type=int, help="cut an episode off after so many (default: 200)"
    )
    parser.add_argument("--checkpoint", help="primitives to use instead of the shipped ones")
    parser.add_argument(
        "--out", type=Path, help="checkpoint to write (default: runs/finetune_DOMAIN_TASK)"
    )
    parser.add_argument("--resume", action="store_true", help="continue the checkpoint at --out")
    parser.add_argument("--overwrite", action="store_true", help="replace the checkpoint at --out")
    parser.add_argument("--curve", type=Path, metavar="FILE.csv", help="write the learning curve")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the learning curve")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Learn, showing progress on stderr; the exit code is 130 if the run was interrupted."""
    started = time.process_time()
    from skm_cli.reports.finetune_report import (  # noqa: PLC0415
        draw_curve,
        print_finetune,
        write_curve,
    )
    from skm_primitives.checkpoint import checkpoint_path  # noqa: PLC0415
    from skm_primitives.tabular.finetune import FinetuneLearner  # noqa: PLC0415
    from skm_primitives.training import begin_learner, train  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415

    _check(args)
    spec = get_domain(args.domain)
    out = checkpoint_path(args.out or Path("runs") / f"finetune_{spec.name}_{args.task}")
    names = ("task", "planner", "seed", "epsilon", "alpha", "episode_steps", "checkpoint")
    options = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    modes = {"resume": args.resume, "overwrite": args.overwrite}
    learner = begin_learner(FinetuneLearner, spec, options, out, **modes)
    if not learner.markov:
        error_console().print(
            f"skm: in the task '{args.task}', what matters is not all observed; learning may not"
            " help, and the zero-shot policy is kept where it does not."
        )
    with steps_bar() as progress:
        bar = progress.add_task("", total=args.steps)

        def report(steps: int) -> None:
            progress.update(bar, completed=steps, description=learner.status)

        report(learner.steps)
        result = train(learner, args.steps, out, shlex.join(["skm", *sys.argv[1:]]), report)
    if args.curve:
        write_curve(learner, args.curve)
    if args.plot:
        draw_curve(learner, args.plot)
    summary = {
        "domain": spec.name,
        **learner.options,
        "steps": learner.steps,
        "episodes": learner.episodes,
        "cpu_seconds": round(time.process_time() - started, 3),
        **result.card.scores,
        "steps_to_99": learner.steps_to(0.99),
        "markov": learner.markov,
        "out": str(out),
        "digest": result.card.digest,
        "interrupted": result.interrupted,
    }
    if args.json:
        print_json(summary)
    else:
        print_finetune(summary, (args.curve, args.plot))
    if result.interrupted:
        print(f"skm: interrupted and saved; --resume continues {out}", file=sys.stderr)
    return 130 if result.interrupted else 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that do not fit together, before anything is learned."""
    if args.steps < 1:
        raise SkmError(f"--steps is {args.steps}; it must be at least 1.")
    if args.resume and args.overwrite:
        raise SkmError("--resume continues a checkpoint, --overwrite replaces it; give one.")
    if args.plot and args.plot.suffix not in (".png", ".svg", ".pdf"):
        raise SkmError(f"--plot writes .png, .svg or .pdf, not '{args.plot.name}'.")
