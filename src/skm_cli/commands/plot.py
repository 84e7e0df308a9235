"""`skm plot`: the pictures of the paper, drawn from what was learned."""

from __future__ import annotations

import argparse
from pathlib import Path

from skm_cli.options import PLANNERS, planner_name
from skm_cli.output import print_json, seed_number, track, written
from skm_machine.errors import SkmError

KINDS = ("values", "trajectories", "returns", "curve", "calibration")

EPILOG = """\
examples:
  skm plot values office --out values.png
  skm plot trajectories office --task coffee_mail --finetune-steps 100000 --out paths.png
  skm plot trajectories safety --out safety.png
  skm plot returns moving_targets --episodes 20 --out returns.png
  skm plot curve moving_targets --out curve.png
  skm plot curve moving_targets --beside runs/stepping --out curves.png
  skm plot calibration safety --out calibration.png
  skm plot trajectories office_absorbing --finetuned coffee=runs/finetune_office_absorbing_coffee

The extension of --out selects the format: .png, .svg or .pdf.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm plot` to the command."""
    parser = subparsers.add_parser(
        "plot",
        help="plot values, trajectories and returns",
        description=(
            "Plot the value functions of the skills, trajectories of tasks, their returns, "
            "learning curves, or the calibration of values."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("domain", metavar="DOMAIN", help="a domain, such as office")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.png", help="output file (default: DOMAIN_KIND.png)"
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE|NAME[:FILE]",
        help=(
            "skills to use instead of the shipped ones: a checkpoint, or skills of an "
            "installed package"
        ),
    )
    parser.add_argument("--beside", help="curve: another checkpoint to compare with")
    parser.add_argument(
        "--dpi", type=int, default=120, help="pixels per inch (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    paths = parser.add_argument_group("trajectories and returns")
    paths.add_argument("--task", nargs="+", metavar="TASK", help="tasks to plot (default: all)")
    paths.add_argument(
        "--planner",
        type=planner_name,
        metavar="NAME",
        help=f"{PLANNERS} (default: paper in the office, else product)",
    )
    paths.add_argument(
        "--starts", nargs="+", metavar="ROW,COL", help="start cells of the trajectories"
    )
    paths.add_argument(
        "--finetuned",
        nargs="+",
        default=[],
        metavar="TASK=FILE",
        help=("checkpoints of `skm finetune`, plotted next to the zero-shot trajectories"),
    )
    paths.add_argument(
        "--finetune-steps",
        type=int,
        default=0,
        metavar="N",
        help="run few-shot learning first, with N steps",
    )
    paths.add_argument(
        "--seed",
        type=seed_number,
        default=0,
        help="seed of --finetune-steps, of start positions and of boards",
    )
    paths.add_argument(
        "--episodes",
        type=int,
        help="returns: runs per task (default: 100); calibration: runs per skill (200)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Draw one picture, and say where it was written."""
    from skm_primitives.figures import FigureOptions, draw_figure  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415

    out = args.out or Path(f"{args.domain}_{args.kind}.png")
    if out.suffix not in (".png", ".svg", ".pdf"):
        raise SkmError(f"--out writes .png, .svg or .pdf, not '{out.name}'.")
    if not 10 <= args.dpi <= 1200:
        raise SkmError(f"--dpi is {args.dpi}; it must be from 10 to 1200.")
    options = FigureOptions(
        tasks=args.task or (),
        planner=args.planner or "",
        checkpoint=args.checkpoint,
        beside=args.beside,
        seed=args.seed,
        episodes=args.episodes,
        starts=args.starts or (),
        finetuned=_finetuned(args.finetuned),
        finetune_steps=args.finetune_steps,
        track=track,
    )
    drawn = draw_figure(get_domain(args.domain), args.kind, options)
    with written(out):
        drawn.figure.savefig(out, dpi=args.dpi)
    if args.json:
        print_json({"kind": args.kind, "domain": args.domain, "out": str(out), **drawn.document})
    else:
        planner = drawn.document.get("planner")
        by = f", planner {planner}" if planner else ""
        print(f"{args.kind} of {args.domain}{by} -> {out}")
    return 0


def _finetuned(texts: list[str]) -> dict[str, str]:
    """Return the checkpoints of TASK=FILE arguments, by task."""
    for text in texts:
        if "=" not in text:
            raise SkmError(
                f"--finetuned takes TASK=FILE, such as coffee=runs/coffee, not '{text}'."
            )
    return {name: path for name, _, path in (text.partition("=") for text in texts)}
