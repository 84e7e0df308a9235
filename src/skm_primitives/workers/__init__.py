"""Where runs are spread: one list of jobs, done here, by processes, on a Ray cluster, or by Slurm.

A job is a function by its name and plain arguments, with every seed among them: wherever it is done, and
however often, its result is the same, to the bit.
"""

from skm_primitives.workers.jobs import Job, Store, check_workers, run_jobs, run_kept

__all__ = ["Job", "Store", "check_workers", "run_jobs", "run_kept"]
