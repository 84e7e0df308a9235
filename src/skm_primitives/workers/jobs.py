"""Jobs, and who does them."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_machine.documents import read_json
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
        from skm_primitives.workers.clusters import run_on_slurm  # noqa: PLC0415

        run_on_slurm(jobs, done)
    else:
        from skm_primitives.workers.clusters import run_on_ray  # noqa: PLC0415

        run_on_ray(jobs, chosen, done)


# Results of jobs on disk: what is there is not done again.


class Store:
    """A folder of results by key: arrays as .npy, documents as .json with pictures beside them.

    Anything else is pickled. With `many`, jobs of the same key but other arguments stand side by side.
    """

    def __init__(self, folder: Path, *, many: bool = False) -> None:
        self.folder = folder
        self._many = many
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, job: Job, suffix: str) -> Path:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", job.key)
        if self._many:
            name += "_" + hashlib.sha256(_text(job).encode()).hexdigest()[:12]
        return self.folder / (name + suffix)

    def has(self, job: Job) -> bool:
        """Tell whether the job was done, with the same arguments."""
        path = self._path(job, ".job")
        return path.exists() and path.read_text(encoding="utf-8") == _text(job)

    def put(self, job: Job, result: Any) -> None:  # noqa: ANN401
        """Keep a result; it counts as done once all of it is written."""
        if isinstance(result, np.ndarray):
            np.save(self._path(job, ".npy"), result)
        elif isinstance(result, dict):
            for kind, content in result.get("files", {}).items():
                self._path(job, f".{kind}").write_bytes(content)
            rest = {**result, "files": sorted(result.get("files", {}))}
            text = json.dumps(rest, indent=1, ensure_ascii=False)
            self._path(job, ".json").write_text(text, encoding="utf-8")
        else:
            self._path(job, ".pickle").write_bytes(pickle.dumps(result))
        self._path(job, ".job").write_text(_text(job), encoding="utf-8")

    def get(self, job: Job) -> Any:  # noqa: ANN401
        """Return the result of a job that was done."""
        array, pickled = self._path(job, ".npy"), self._path(job, ".pickle")
        if array.exists():
            return np.load(array)
        if pickled.exists():
            return pickle.loads(pickled.read_bytes())
        found = read_json(self._path(job, ".json").read_text(encoding="utf-8"))
        kinds = found["files"]
        return {
            **found,
            "files": {kind: self._path(job, f".{kind}").read_bytes() for kind in kinds},
        }


def run_kept(jobs: Sequence[Job], workers: str | int, folder: Path | None, done: Done) -> None:
    """Do jobs as `run_jobs` does; with a folder, results are kept there and taken from there."""
    if folder is None:
        run_jobs(jobs, workers, done)
        return
    store = Store(folder, many=True)
    left = []
    for job in jobs:
        if store.has(job):
            done(job, store.get(job))
        else:
            left.append(job)

    def keep(job: Job, result: Any) -> None:  # noqa: ANN401
        store.put(job, result)
        done(job, result)

    run_jobs(left, workers, keep)


def _text(job: Job) -> str:
    return json.dumps([job.function, job.arguments], default=str, sort_keys=True)
