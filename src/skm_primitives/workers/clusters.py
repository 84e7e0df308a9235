"""Jobs on a Ray cluster, or on Slurm through submitit."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.workers.jobs import MOST_LOSSES, Done, Job, call

# Jobs on a Ray cluster (https://www.ray.io): one that is there already, or one on this machine.


def run_on_ray(jobs: Sequence[Job], address: str, done: Done) -> None:
    """Do all jobs as Ray tasks of one core each; Ray does those of lost workers again.

    `ray` is the cluster of `RAY_ADDRESS`, or one that is started on this machine; skm must be installed
    on every node, in the same version.
    """
    try:
        import ray  # noqa: PLC0415
    except ImportError as error:
        raise SkmError(
            "--workers ray needs Ray; install it with `pip install 'skm[ray]'`."
        ) from error
    with redirect_stdout(sys.stderr):  # What Ray says of lost workers must not mix with results.
        _run(ray, jobs, address, done)


def _run(ray: Any, jobs: Sequence[Job], address: str, done: Done) -> None:  # noqa: ANN401 - the module
    ours = not ray.is_initialized()
    open_tasks: dict[Any, Job] = {}
    if ours:
        ray.init(address=address if "://" in address else None, log_to_driver=False)
    try:
        task = ray.remote(num_cpus=1, max_retries=MOST_LOSSES - 1)(_call_in)
        folder = str(Path.cwd())
        open_tasks = {task.remote(folder, job): job for job in jobs}
        while open_tasks:
            ready, _ = ray.wait(list(open_tasks), num_returns=1)
            for reference in ready:
                job = open_tasks.pop(reference)
                try:
                    result = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, SkmError):
                        raise SkmError(str(error.cause)) from None
                    raise
                except ray.exceptions.WorkerCrashedError:
                    raise SkmError(
                        f"'{job.key}' was lost with its worker {MOST_LOSSES} times."
                    ) from None
                done(job, result)
    finally:
        for reference in open_tasks:  # None is left, unless there was an error or an interrupt.
            ray.cancel(reference)
        if ours:
            ray.shutdown()


def _call_in(folder: str, job: Job) -> Any:  # noqa: ANN401 - whatever the job returns
    """Do a job where the command was given, so that relative paths mean the same files."""
    if Path(folder).is_dir():
        os.chdir(folder)
    return call(job)


# Jobs on a Slurm cluster, through submitit; without Slurm, submitit runs them on this machine.


FOLDER: Final = Path("runs") / "slurm"
MINUTES: Final = 120
"""The time limit of a job; one that is cut off is done again."""
ASK_SECONDS: Final = 2.0


def run_on_slurm(jobs: Sequence[Job], done: Done, cluster: str | None = None) -> None:
    """Submit all jobs of one core each, and take their results as they come."""
    try:
        import submitit  # noqa: PLC0415
    except ImportError as error:
        raise SkmError(
            "--workers slurm needs submitit; install it with `pip install 'skm[slurm]'`."
        ) from error
    executor = submitit.AutoExecutor(folder=FOLDER, cluster=cluster)
    executor.update_parameters(timeout_min=MINUTES, cpus_per_task=1, name="skm")
    submitted = {job.key: (job, executor.submit(call, job), 1) for job in jobs}
    try:
        while submitted:
            for key, (job, task, tries) in list(submitted.items()):
                if not task.done():
                    continue
                del submitted[key]
                failure = task.exception()
                if failure is None:
                    done(job, task.result())
                elif isinstance(failure, submitit.core.utils.UncompletedJobError):
                    if tries >= MOST_LOSSES:
                        raise SkmError(
                            f"'{key}' was lost {tries} times; see {FOLDER}."
                        ) from failure
                    submitted[key] = job, executor.submit(call, job), tries + 1
                else:
                    raise failure
            time.sleep(ASK_SECONDS if submitted else 0)
    finally:
        for _, task, _ in submitted.values():
            task.cancel()
