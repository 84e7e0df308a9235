"""`skm train`: learn the skill primitives of a domain, once, into a checkpoint."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skm_cli.many_seeds import train_seeds
from skm_cli.output import add_workers_option, seed_list, steps_bar
from skm_cli.reports.train import print_settings, print_training
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.learning.training import Learner
    from skm_sim import DomainSpec


EPILOG = """\
examples:
  skm train office --steps 100000 --seed 0 --out runs/office
  skm train office --steps 200000 --out runs/office --resume
  skm train safety --seed 0 --out runs/safety
  skm train my_package.spec:KITCHEN --budget 10min --log tensorboard
  skm train zones --seed 0 --out runs/zones
  skm train moving_targets --learner dqn --out runs/stepping
  skm train safety --seeds 0-7 --workers ray
  skm train safety --help-settings
  skm train my_package.spec:KITCHEN --set hidden=128,128 --set agents=16

Training saves twice a minute, and on Ctrl-C. With --resume, the result is the same as without the
interruption. The checkpoint is OUT.safetensors, with a description in OUT.json.
"""


USUAL_BUDGET = 600.0
"""Seconds that learning a domain takes at most by default."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm train` to the command."""
    parser = subparsers.add_parser(
        "train",
        help="train the skills of a domain",
        description=("Train the skill primitives of a domain (Algorithm 1) and save a checkpoint."),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help="a domain, such as office, or package.module:SPEC")
    parser.add_argument(
        "--steps",
        type=int,
        help="environment steps in all, rounded up to whole rounds (default: tables: 100000, and in"
        " stochastic worlds until transition probabilities are known well enough; networks: as many"
        " as their preset plans, or as fit into 10min if these are fewer and the domain says nothing)",
    )
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="TIME",
        help="instead of --steps: as many as fit into 90s, 10min or 2h on this machine, by the speed of"
        " the first rounds; the card says how many that were, and how often networks were updated",
    )
    parser.add_argument(
        "--log",
        action="append",
        choices=("csv", "tensorboard", "wandb"),
        help="the score of every skill at every validation: as OUT.curve.csv (always written), as event"
        " files below OUT.tensorboard, or to Weights & Biases (pip install 'skm[wandb]')",
    )
    parser.add_argument("--seed", type=int, help="random seed (default: 0)")
    parser.add_argument(
        "--seeds", type=seed_list, help="a run for each of 0-7 or 3,5, to OUT_seed0 and so on"
    )
    add_workers_option(parser, None, "the runs of --seeds")
    parser.add_argument("--out", type=Path, help="checkpoint to write (default: runs/DOMAIN)")
    parser.add_argument("--resume", action="store_true", help="continue the checkpoint at --out")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing checkpoint")
    parser.add_argument("--alpha", type=float, help="step size; the paper has 0.1 (default: 1)")
    parser.add_argument("--epsilon", type=float, help="share of random actions (default: 0.5)")
    parser.add_argument("--agents", type=int, help="agents that act side by side (default: 20)")
    parser.add_argument(
        "--places",
        action=argparse.BooleanOptionalAction,
        help="tell goals apart by place; without, goals are the paper's 2^(P∪C) (default: yes)",
    )
    parser.add_argument(
        "--preset", help="networks: cpu (under an hour on one core) or paper (the paper's sizes)"
    )
    which = "networks: dqn or td3, instead of the learner of the domain (default: dqn)"
    parser.add_argument("--learner", dest="algorithm", help=which)
    parser.add_argument("--device", help="networks: cpu, cuda or auto (default: auto)")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another setting of the learner, such as agents=16 or hidden=128,128",
    )
    parser.add_argument(
        "--help-settings", action="store_true", help="list the settings of the learner"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train, showing progress on stderr; the exit code is 130 if the run was interrupted."""
    started = time.process_time()
    from skm_primitives.learning.settings import parse_settings  # noqa: PLC0415
    from skm_primitives.learning.training import learner_class, make_learner, train  # noqa: PLC0415
    from skm_primitives.skills.checkpoint import checkpoint_path  # noqa: PLC0415
    from skm_sim import SHIPPED, get_domain  # noqa: PLC0415

    if args.steps is not None and args.steps < 1:
        raise SkmError(f"--steps is {args.steps}; it must be at least 1.")
    if args.budget and (args.steps or args.resume or args.seeds):
        raise SkmError(
            "--budget decides the steps of one run that begins: give no --steps, --seeds or --resume"
            " with it; a resumed run keeps its plan."
        )
    if args.resume and args.overwrite:
        raise SkmError("--resume continues a checkpoint, --overwrite replaces it; give one.")
    if args.workers and not args.seeds:
        raise SkmError("--workers does the runs of several seeds; say which: --seeds 0-7.")
    spec = get_domain(args.domain)
    if args.domain not in SHIPPED and not args.help_settings:  # Those have tests of their own.
        _check(spec)
    kind = learner_class(spec, args.algorithm)
    if args.help_settings:
        return print_settings(spec, kind, args.preset)
    out = checkpoint_path(args.out or Path("runs") / spec.name)
    names = ("seed", "alpha", "epsilon", "agents", "places", "preset", "algorithm", "device")
    options = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    options |= parse_settings(kind.settings_class, args.settings)
    if args.seeds:
        return train_seeds(args, options, out)
    planned = kind.plans_ahead and "horizon" not in options
    if args.steps and not args.resume and planned:
        options["horizon"] = args.steps
    learner = make_learner(spec, options, out, resume=args.resume, overwrite=args.overwrite)
    before, log = learner.steps, training_log(args.log, learner, out)
    at_most = not (args.steps or args.budget or args.resume) and _unplanned(spec, kind, options)
    budget = USUAL_BUDGET if at_most else args.budget
    with steps_bar() as progress:
        total = args.steps or learner.default_steps
        bar = progress.add_task(f"train {spec.name}", total=total, completed=before)
        shown, horizon = "", learner.options.get("horizon")

        def report(done: int) -> None:
            nonlocal shown, horizon
            if (fitting := learner.options.get("horizon")) != horizon:
                horizon = fitting
                progress.console.print(f"planned: {horizon} steps, which fit into {budget:g} s")
            progress.update(bar, completed=done, total=args.steps or learner.default_steps)
            log()
            if (status := learner.status) != shown:
                shown = status
                progress.console.print(f"step {done}: {status}")

        command = shlex.join(["skm", *sys.argv[1:]])
        result = train(learner, args.steps, out, command, report, budget, at_most=at_most)
    seconds = time.process_time() - started
    print_training(result, learner, out, learner.steps - before, seconds, as_json=args.json)
    return 130 if result.interrupted else 0


def _unplanned(spec: DomainSpec, kind: type[Learner], options: dict[str, object]) -> bool:
    """Tell whether neither the user nor the domain says how long networks learn."""
    from skm_primitives.learning.training import domain_settings  # noqa: PLC0415

    said = {**domain_settings(spec, kind), **options}
    return hasattr(kind, "plan") and not {"horizon", "preset"} & said.keys()


def duration(text: str) -> float:
    """Return the seconds of 90s, 10min or 2h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)", text.strip())
    seconds = float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]] if found else 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"a time is 90s, 10min or 2h, not '{text}'")
    return seconds


def training_log(kinds: Sequence[str] | None, learner: Learner, out: Path) -> Callable[[], None]:
    """Return what notes new validations in the logs that were asked for."""
    curve = getattr(learner, "curve", None)
    if curve is None:
        return lambda: None
    add: list[Callable[[int, dict[str, float]], None]] = []
    if "tensorboard" in (kinds or ()):
        from skm_primitives.learning.event_files import EventFile  # noqa: PLC0415

        add.append(EventFile(out.with_name(f"{out.stem}.tensorboard")).add)
    if "wandb" in (kinds or ()):
        add.append(_wandb_run(learner, out))
    written = len(curve.rows)

    def log() -> None:
        nonlocal written
        for row in curve.rows[written:]:
            costs = "steps", "cpu_minutes"
            scores = {f"success/{name}": rate for name, rate in row.items() if name not in costs}
            for each in add:
                each(int(row["steps"]), {"cpu_minutes": row["cpu_minutes"], **scores})
        written = len(curve.rows)

    return log


def _wandb_run(learner: Learner, out: Path) -> Callable[[int, dict[str, float]], None]:
    """Begin a run of Weights & Biases, named like the checkpoint; it ends with the process."""
    try:
        import wandb  # noqa: PLC0415
    except ImportError:
        raise SkmError(
            "--log wandb needs the package of Weights & Biases: pip install 'skm[wandb]'."
        ) from None
    run = wandb.init(project="skm", name=out.stem, config=dict(learner.options))
    return lambda step, scores: run.log(scores, step=step)


def _check(spec: DomainSpec) -> None:
    """Refuse a domain that would not learn, or learn something else than it says."""
    from skm_sim import check_domain  # noqa: PLC0415

    problems = check_domain(spec)
    if problems:
        lines = "\n".join(f"  - {problem}" for problem in problems)
        raise SkmError(f"the domain '{spec.name}' cannot be learned as it is:\n{lines}")
    for note in problems.notes:
        print(f"skm: {note}", file=sys.stderr)
