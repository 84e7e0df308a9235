"""Jobs on a Slurm cluster, through submitit; without Slurm, submitit runs them on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError
from skm_primitives.workers.jobs import MOST_LOSSES, Done, Job, call

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
