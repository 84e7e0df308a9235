"""Training runs of several seeds as jobs: each has a checkpoint of its own, and goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skm_primitives.checkpoint import checkpoint_path
from skm_primitives.training import learner_class, make_learner, train
from skm_primitives.workers import Job
from skm_sim import get_domain


def seed_jobs(
    domain: str,
    seeds: Sequence[int],
    options: Mapping[str, Any],
    steps: int | None,
    out: Path,
    modes: Mapping[str, bool],
    command: str,
) -> list[Job]:
    """Return a job for each seed; the checkpoint of seed 3 is OUT_seed3."""
    if not modes["resume"]:
        for seed in seeds:
            checkpoint_path(Path(f"{out}_seed{seed}")).with_suffix(".begun").unlink(missing_ok=True)
    common = {"domain": domain, "steps": steps, "modes": dict(modes), "command": command}
    return [
        Job(
            f"seed {seed}",
            "skm_primitives.training_jobs:train_seed",
            {**common, "options": {**options, "seed": seed}, "out": f"{out}_seed{seed}"},
        )
        for seed in seeds
    ]


def train_seed(
    domain: str,
    options: Mapping[str, Any],
    steps: int | None,
    out: str,
    modes: Mapping[str, bool],
    command: str,
) -> dict[str, Any]:
    """Train one seed; a job that is done again, its worker lost, goes on from what was saved.

    With `resume`, so does a run that was stopped, and one that never began begins.
    """
    spec, path = get_domain(domain), checkpoint_path(Path(out))
    begun = path.with_suffix(".begun")
    resume = (modes["resume"] or begun.exists()) and path.exists()
    planned = learner_class(spec, options.get("algorithm")).plans_ahead and "horizon" not in options
    if steps and not resume and planned:
        options = {**options, "horizon": steps}
    overwrite = modes["overwrite"] and not resume
    learner = make_learner(spec, options, path, resume=resume, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    begun.touch()
    result = train(learner, steps, path, command)
    if result.interrupted:
        raise KeyboardInterrupt
    begun.unlink()
    card = result.card
    return {"out": str(path), "steps": card.steps, "digest": card.digest, **card.scores}
