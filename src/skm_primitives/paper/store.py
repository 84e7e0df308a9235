"""Results of jobs on disk, by key: what is there is not done again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from skm_primitives.workers import Job


class Store:
    """A folder of results: arrays as .npy, others as .json with their pictures beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, job: Job, suffix: str) -> Path:
        return self.folder / (re.sub(r"[^A-Za-z0-9_.-]+", "_", job.key) + suffix)

    def has(self, job: Job) -> bool:
        """Tell whether the job was done, with the same arguments."""
        path = self._path(job, ".job")
        return path.exists() and path.read_text(encoding="utf-8") == _text(job)

    def put(self, job: Job, result: Any) -> None:  # noqa: ANN401
        """Keep a result; it counts as done once all of it is written."""
        if isinstance(result, np.ndarray):
            np.save(self._path(job, ".npy"), result)
        else:
            for kind, content in result.get("files", {}).items():
                self._path(job, f".{kind}").write_bytes(content)
            rest = {**result, "files": sorted(result.get("files", {}))}
            text = json.dumps(rest, indent=1, ensure_ascii=False)
            self._path(job, ".json").write_text(text, encoding="utf-8")
        self._path(job, ".job").write_text(_text(job), encoding="utf-8")

    def get(self, job: Job) -> Any:  # noqa: ANN401
        """Return the result of a job that was done."""
        array = self._path(job, ".npy")
        if array.exists():
            return np.load(array)
        found = json.loads(self._path(job, ".json").read_text(encoding="utf-8"))
        kinds = found["files"]
        return {
            **found,
            "files": {kind: self._path(job, f".{kind}").read_bytes() for kind in kinds},
        }


def _text(job: Job) -> str:
    return json.dumps([job.function, job.arguments], default=str, sort_keys=True)
