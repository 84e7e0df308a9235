"""What `skm train` prints: the settings of a learner, and what a run has come to."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.output import console, plain_table, print_json

if TYPE_CHECKING:
    from skm_primitives.learning.training import Learner, TrainingResult
    from skm_sim import DomainSpec


def print_settings(spec: DomainSpec, learner: type[Learner], preset: str | None) -> int:
    """List what can be set, what its default is in this domain, and what it means."""
    from skm_primitives.learning.settings import of_preset, settings_of  # noqa: PLC0415
    from skm_primitives.learning.training import domain_settings  # noqa: PLC0415

    print(f"settings of {spec.name} ({learner.__name__}), with their values; --set NAME=VALUE")
    wanted = {**of_preset(learner.settings_class, preset), **domain_settings(spec, learner)}
    for setting in settings_of(learner.settings_class):
        value = wanted.get(setting.name, setting.default)
        text = ",".join(map(str, value)) if isinstance(value, tuple) else value
        print(f"  {setting.name} = {text}")
        if setting.meaning:
            print(
                textwrap.fill(
                    setting.meaning, 96, initial_indent=" " * 6, subsequent_indent=" " * 6
                )
            )
    return 0


def print_training(
    result: TrainingResult,
    learner: Learner,
    out: Path,
    new_steps: int,
    cpu_seconds: float,
    *,
    as_json: bool,
) -> None:
    """Print what a run has come to; what a person must know of it goes to stderr."""
    scores = result.card.scores
    if as_json:
        print_json(_summary(result, learner, out, new_steps, cpu_seconds))
    else:
        print(f"{result.card.domain}: {learner.steps} steps, {cpu_seconds:.1f} CPU s -> {out}")
        if rows := _skill_rows(learner):
            _print_skills(rows, learner.steps)
        elif scores:
            print(f"  {', '.join(f'{name} {value:g}' for name, value in scores.items())}")
    if astray := scores.get("stochastic"):
        print(
            f"skm: {astray:g} of {scores['tried']:g} actions led to different places: the world is"
            " stochastic. The product planner plans with how often each was reached, for success rather"
            " than speed; the paper's planner does not.",
            file=sys.stderr,
        )
    for warning in result.card.details.get("warnings", ()):
        print(f"skm: {warning}", file=sys.stderr)
    if result.interrupted:
        print(f"skm: interrupted and saved; --resume continues {out}", file=sys.stderr)


def _skill_rows(learner: Learner) -> list[Any]:
    """Return how each skill came out, where the learner tells."""
    tell = getattr(learner, "skill_rows", None)
    return [] if tell is None else list(tell())


def _print_skills(rows: Sequence[Any], steps: int) -> None:
    """Print a table of skills, the best first."""
    table = plain_table("skills, in the validation of what is served", ("skill", "success", ""))
    for row in sorted(rows, key=lambda row: -row.success):
        reached = "" if row.reached is None else f"reached {row.reached} times while learning"
        if row.reached == 0:
            reached = f"never reached in {steps} steps"
        table.add_row(row.skill, f"{row.success:.3f}", reached)
    console().print(table)


def _summary(
    result: TrainingResult, learner: Learner, out: Path, new_steps: int, cpu_seconds: float
) -> dict[str, Any]:
    card = result.card
    return {
        "domain": card.domain,
        "learner": card.learner,
        "options": dict(learner.options),
        "steps": card.steps,
        "new_steps": new_steps,
        "cpu_seconds": round(cpu_seconds, 3),
        **card.scores,
        **({"skills": [asdict(row) for row in rows]} if (rows := _skill_rows(learner)) else {}),
        "out": str(out),
        "digest": card.digest,
        "interrupted": result.interrupted,
    }
