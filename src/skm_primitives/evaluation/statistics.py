"""Confidence intervals for what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Final, TypeAlias

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
