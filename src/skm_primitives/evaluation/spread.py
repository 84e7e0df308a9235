"""An evaluation spread over workers: a job for each task, put together again in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skm_primitives.evaluation import Evaluation, evaluate
from skm_primitives.evaluation.evaluation_options import EvaluationOptions, silent
from skm_primitives.evaluation.tabular_tasks import TabularEvaluation
from skm_primitives.evaluation.task_trials import RoundsEvaluation, TrialsEvaluation
from skm_primitives.workers import Job, check_workers, run_jobs
from skm_sim import get_domain


def evaluate_spread(domain: str, options: EvaluationOptions, workers: str | int) -> Evaluation:
    """Evaluate a domain as `evaluate` does; its tasks, if all are asked for, by several workers."""
    spec = get_domain(domain)
    alone = check_workers(workers) == 1 or options.task != "all" or bool(options.missions)
    if alone or len(spec.tasks) < 2:
        return evaluate(spec, options)
    plain = replace(options, track=silent)
    jobs = [
        Job(
            name,
            "skm_primitives.evaluation.spread:evaluate_task",
            {"domain": domain, "options": replace(plain, task=name)},
        )
        for name in spec.tasks
    ]
    results: dict[str, Any] = {}
    run_jobs(jobs, workers, lambda job, found: results.update({job.key: found}))
    found = [results[name] for name in spec.tasks]
    tasks: Any = {name: task for part in found for name, task in part.tasks.items()}
    first: TabularEvaluation | TrialsEvaluation | RoundsEvaluation = found[0]
    return replace(first, tasks=tasks)


def evaluate_task(domain: str, options: EvaluationOptions) -> Evaluation:
    """Do one job."""
    return evaluate(get_domain(domain), options)
