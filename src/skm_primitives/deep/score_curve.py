"""The scores of every validation of a run, with what they cost: its learning curve."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skm_primitives.checkpoint import checkpoint_path


class ScoreCurve:
    """Rows of environment steps, CPU minutes and scores; CPU time goes on where a run is resumed."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self._started = time.process_time()
        self._before = 0.0

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the run so far, in all the processes that it was resumed in."""
        return self._before + time.process_time() - self._started

    def add(self, steps: int, scores: Mapping[str, float]) -> None:
        """Note the scores of a validation."""
        minutes = round(self.cpu_seconds / 60, 3)
        self.rows.append({"steps": steps, "cpu_minutes": minutes, **scores})

    def details(self) -> dict[str, Any]:
        """Return what a checkpoint's card says of it."""
        return {"cpu_seconds": round(self.cpu_seconds, 1), "curve": self.rows}

    def restore(self, details: Mapping[str, Any]) -> None:
        """Take back what `details` gave; runs of long ago have none."""
        self.rows = [dict(row) for row in details.get("curve", [])]
        self._before = details.get("cpu_seconds", 0.0)

    def write(self, checkpoint: str | Path) -> None:
        """Write it beside a checkpoint, as `NAME.curve.csv`."""
        if not self.rows:
            return
        target = checkpoint_path(checkpoint)
        with target.with_name(f"{target.stem}.curve.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, self.rows[0])
            writer.writeheader()
            writer.writerows(self.rows)
