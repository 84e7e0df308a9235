"""An evaluation spread over workers: a job for each task or mission, put together again in order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from skm_primitives.evaluation import Evaluation, MissionsEvaluation, evaluate
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.evaluation.task_trials import task_trials
from skm_primitives.skills.checkpoint import checkpoint_path
from skm_primitives.skills.loading import load_primitives
from skm_primitives.workers import Job, check_workers, run_kept
from skm_sim import get_domain
from skm_sim.spec import DomainSpec


def evaluate_spread(
    domain: str, options: EvaluationOptions, workers: str | int, keep: Path | None = None
) -> Evaluation:
    """Evaluate a domain as `evaluate` does, by several workers; with `keep`, nothing is done twice."""
    spec = get_domain(domain)
    if check_workers(workers) == 1 and keep is None:
        return evaluate(spec, options)
    asked = {f.name: getattr(options, f.name) for f in fields(options) if f.name != "track"}
    common = {"domain": domain, "learned": _learned(spec, options) if keep else ""}
    jobs = [
        Job(
            f"eval {spec.name} {part}",
            "skm_primitives.evaluation.spread:evaluate_part",
            {**common, "options": {**asked, "part": part}},
        )
        for part in range(_parts(spec, options))
    ]
    results: dict[str, Any] = {}
    bar = iter(options.track(range(len(jobs)), f"eval {spec.name}"))
    next(bar, None)

    def done(job: Job, found: Any) -> None:  # noqa: ANN401
        results[job.key] = found
        next(bar, None)

    run_kept(jobs, workers, keep, done)
    return _joined([results[job.key] for job in jobs])


def _parts(spec: DomainSpec, options: EvaluationOptions) -> int:
    """Return how many tasks or missions there are; single skills are measured in one go."""
    if options.missions or options.mission_set:
        return options.missions or len(options.mission_set)
    return 1 if options.task == "skills" else len(task_trials(spec).tasks(spec, options.task)) or 1


def _learned(spec: DomainSpec, options: EvaluationOptions) -> str:
    """Return which skills, and which policy on top of them, are evaluated."""
    digest = load_primitives(spec, options.checkpoint).digest
    if options.finetuned is not None:
        content = checkpoint_path(Path(options.finetuned)).read_bytes()
        digest += hashlib.sha256(content).hexdigest()
    return digest


def _joined(found: Sequence[Any]) -> Evaluation:
    first: Any = found[0]
    if len(found) == 1:
        only: Evaluation = first
        return only
    if isinstance(first, MissionsEvaluation):
        return replace(first, trials=[trial for part in found for trial in part.trials])
    tasks = {name: task for part in found for name, task in part.tasks.items()}
    whole: Evaluation = replace(first, tasks=tasks)
    return whole


def evaluate_part(domain: str, options: Mapping[str, Any], learned: str) -> Evaluation:  # noqa: ARG001
    """Do one job; `learned` tells its result from those of other skills."""
    return evaluate(get_domain(domain), EvaluationOptions(**options))
