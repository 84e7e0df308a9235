"""Jobs, and who does them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_sim.locations import load_attribute

Done = Callable[["Job", Any], None]
"""Called with each job and its result, in this process, as soon as it is there."""

MOST_LOSSES: Final = 3
"""A job that was lost with its worker this often is not tried again: it kills its workers."""


@dataclass(frozen=True)
class Job:
    """A call of `function` (package.module:NAME) with plain arguments; `key` says which it is."""

    key: str
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def call(job: Job) -> Any:  # noqa: ANN401 - whatever the function returns
    """Do a job."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return load_attribute(job.function)(**job.arguments)


def check_workers(workers: str | int) -> str | int:
    """Return what `--workers` says as a number of processes, or as the name of a cluster."""
    text = str(workers)
    if text == "auto":
        return os.cpu_count() or 1
    if text.isdigit() and int(text) > 0:
        return int(text)
    if text in ("ray", "slurm") or text.startswith("ray://"):
        return text
    raise SkmError(
        f"--workers is a number of processes, auto, ray, ray://HOST:PORT or slurm, not '{text}'."
    )


def run_jobs(jobs: Sequence[Job], workers: str | int, done: Done) -> None:
    """Do all jobs; an error of one ends them all. A job whose worker is lost is done again."""
    chosen = check_workers(workers)
    if isinstance(chosen, int):
        if chosen == 1 or len(jobs) < 2:
            for job in jobs:
                done(job, call(job))
            return
        from skm_primitives.workers.local_processes import run_in_processes  # noqa: PLC0415

        run_in_processes(jobs, min(chosen, len(jobs)), done)
    elif chosen == "slurm":
        from skm_primitives.workers.slurm import run_on_slurm  # noqa: PLC0415

        run_on_slurm(jobs, done)
    else:
        from skm_primitives.workers.ray_cluster import run_on_ray  # noqa: PLC0415

        run_on_ray(jobs, chosen, done)
