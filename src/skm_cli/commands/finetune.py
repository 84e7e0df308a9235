"""`skm finetune`: learn one task few-shot, beginning at the zero-shot level."""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.output import console, error_console, print_json
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from rich.progress import Progress

    from skm_primitives.tabular.finetune import FinetuneLearner
    from skm_sim.domain import DomainSpec

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
        "--planner", choices=("paper", "grounded"), help="of the skill machine (default: paper)"
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
    from skm_primitives.checkpoint import checkpoint_path  # noqa: PLC0415
    from skm_primitives.training import train  # noqa: PLC0415
    from skm_sim.domain import get_domain  # noqa: PLC0415

    _check(args)
    spec = get_domain(args.domain)
    out = checkpoint_path(args.out or Path("runs") / f"finetune_{spec.name}_{args.task}")
    learner = _learner(args, spec, out)
    if not learner.markov:
        error_console().print(
            f"skm: in the task '{args.task}', what matters is not all observed; learning may not"
            " help, and the zero-shot policy is kept where it does not."
        )
    with _progress() as progress:
        bar = progress.add_task("", total=args.steps)

        def report(steps: int) -> None:
            ratio = learner.current["return_ratio"]
            progress.update(bar, completed=steps, description=f"return {ratio:.3f} of the optimum")

        report(learner.steps)
        result = train(learner, args.steps, out, shlex.join(["skm", *sys.argv[1:]]), report)
    if args.curve:
        _write_curve(learner, args.curve)
    if args.plot:
        _draw_curve(learner, args.plot)
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
        _print(args, summary)
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


def _learner(args: argparse.Namespace, spec: DomainSpec, out: Path) -> FinetuneLearner:
    """Start a learner, or resume the one at `out`; refuse to destroy a checkpoint unasked."""
    from skm_primitives.checkpoint import CheckpointError  # noqa: PLC0415
    from skm_primitives.tabular.finetune import FinetuneLearner  # noqa: PLC0415

    names = ("task", "planner", "seed", "epsilon", "alpha", "episode_steps", "checkpoint")
    options = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if not args.resume:
        if out.exists() and not args.overwrite:
            raise CheckpointError(f"{out} exists; --resume continues it, --overwrite replaces it.")
        return FinetuneLearner.start(spec, options)
    learner = FinetuneLearner.resume(spec, out)
    for name, value in options.items():
        if (kept := learner.options[name]) != value:
            raise SkmError(
                f"{out} was begun with {name} {kept}, so it cannot go on with {value}; leave the"
                " option out to resume it, or learn another with --out."
            )
    return learner


def _write_curve(learner: FinetuneLearner, path: Path) -> None:
    """Write the learning curve as CSV, a line an evaluation."""
    from skm_primitives.tabular.finetune import COLUMNS  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for steps, episodes, *rest in learner.curve:
            writer.writerow([int(steps), int(episodes), *(f"{value:.6g}" for value in rest)])


def _draw_curve(learner: FinetuneLearner, path: Path) -> None:
    """Draw the learning curve between the zero-shot level and the optimum."""
    from skm_primitives.figures.finetune_curve import learning_curve_figure  # noqa: PLC0415

    title = (
        f"{learner.spec.name}/{learner.task.name}, few-shot on planner {learner.options['planner']}"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    learning_curve_figure(learner.curve, title).savefig(path)


def _print(args: argparse.Namespace, summary: dict[str, Any]) -> None:
    out = console()
    out.print(
        f"[bold]{summary['domain']}/{summary['task']}[/bold], planner {summary['planner']},"
        f" seed {summary['seed']}: {summary['steps']} steps, {summary['cpu_seconds']:.1f} CPU s"
    )
    for name, kind in (("zero-shot", "zero_shot_"), ("few-shot", "")):
        ratio, success = (100 * summary[f"{kind}{what}"] for what in ("return_ratio", "success"))
        out.print(f"  {name:<10} return {ratio:6.2f} % of the optimum, success {success:6.2f} %")
    if summary["steps_to_99"] is not None:
        out.print(f"  99 % of the optimum after {summary['steps_to_99']} steps")
    for path in (summary["out"], args.curve, args.plot):
        if path:
            out.print(f"  -> {path}", soft_wrap=True)


def _progress() -> Progress:
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=error_console(),
        refresh_per_second=4,
    )
