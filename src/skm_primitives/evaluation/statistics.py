"""Confidence intervals for what is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Final, TypeAlias

import numpy as np

from skm_sim.arrays import FloatArray

Interval: TypeAlias = tuple[float, float]
"""Lowest and highest."""

Z: Final = 1.959963985
"""The 97.5 % point of the normal distribution: intervals are of 95 %."""


def proportion_interval(successes: float, count: int) -> Interval:
    """Return the 95 % interval of a success rate (Wilson's)."""
    rate, z2 = successes / count, Z**2 / count
    centre = (rate + z2 / 2) / (1 + z2)
    half = Z * sqrt(rate * (1 - rate) / count + z2 / (4 * count)) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the 95 % interval of a mean, by the normal distribution."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (0.0, 0.0)
    half = Z * stdev(values) / sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def interquartile_mean(scores: FloatArray) -> float:
    """Return the mean of the middle half of all scores: less noisy than a mean, all but a median.

    A quarter of them may lie on either side; what is not a whole score counts in part.
    """
    ordered = np.sort(np.asarray(scores, np.float64), axis=None)
    left = np.arange(len(ordered)) / len(ordered)
    inside = np.minimum(left + 1 / len(ordered), 0.75) - np.maximum(left, 0.25)
    return float(np.average(ordered, weights=np.maximum(inside, 0)))


def stratified_interval(
    scores: FloatArray,
    statistic: Callable[[FloatArray], float] = interquartile_mean,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return the 95 % interval of a statistic of scores `(runs, tasks)`, by a stratified bootstrap.

    Runs are drawn anew for each task on its own (Agarwal et al., 2021).
    """
    random = np.random.default_rng(seed)
    runs, tasks = scores.shape
    picked = random.integers(runs, size=(draws, runs, tasks))
    found = [statistic(scores[rows, np.arange(tasks)]) for rows in picked]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
