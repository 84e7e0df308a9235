"""Learning curves of a method: what each evaluation of each run returned."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skm_primitives.baselines.settings import LearningSettings
from skm_sim.arrays import FloatArray, IntArray

WINDOW = 40
"""Consecutive evaluations that a figure's point is the mean of, as in the paper."""
LATEST = 5
"""Of a table's figure: a window of 40 would lag 20,000 steps behind a learner that still improves."""


@dataclass(frozen=True, eq=False)
class Curves:
    """The mean return of each evaluation of each run, `[run, evaluation]`.

    The first evaluation is before any learning.
    """

    method: str
    scores: FloatArray
    settings: LearningSettings
    seeds: tuple[int, ...]

    @property
    def steps(self) -> IntArray:
        """`[evaluation]`: after how many steps."""
        return np.arange(self.scores.shape[1]) * self.settings.every

    def smoothed(self, window: int = WINDOW) -> FloatArray:
        """Return for each evaluation the mean of the last `window`; of fewer at the beginning."""
        total = np.cumsum(np.pad(self.scores, ((0, 0), (1, 0))), axis=1)
        end = np.arange(1, total.shape[1])
        begin = np.maximum(end - window, 0)
        smooth: FloatArray = (total[:, end] - total[:, begin]) / (end - begin)
        return smooth

    def at(self, steps: int) -> tuple[float, float]:
        """Return mean and standard deviation over the runs, of the last evaluations up to there."""
        found = self.smoothed(LATEST)[
            :, min(steps // self.settings.every, self.scores.shape[1] - 1)
        ]
        return float(found.mean()), float(found.std())

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        smooth = self.smoothed()
        mean, deviation = self.at(self.settings.steps)
        return {
            "method": self.method,
            "settings": asdict(self.settings),
            "seeds": list(self.seeds),
            "final": mean,
            "final_deviation": deviation,
            "first": float(self.scores[:, 0].mean()),
            "steps": self.steps.tolist(),
            "mean": smooth.mean(axis=0).round(6).tolist(),
            "deviation": smooth.std(axis=0).round(6).tolist(),
        }
