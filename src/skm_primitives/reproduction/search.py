"""Settings for a fair comparison: the best of a grid for each method and experiment, on other seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from math import prod
from typing import Any, Final

from skm_primitives.baselines.methods import Experiment, find_method, run_method
from skm_sim import get_domain

GRID: Final = {"alpha": (0.1, 0.5, 0.9), "initial": (0.001, 2.0), "epsilon": (0.2, 0.5)}
GRID_SIZE: Final = prod(map(len, GRID.values()))
FIRST_SEED: Final = 1000
"""Of the seeds that settings are chosen on; the runs of figures have seeds from 0."""


def best_settings(
    experiment: Mapping[str, Any], method: str, steps: int, every: int, seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the settings of the grid with the greatest mean over the whole curve, and all means."""
    asked = Experiment(**experiment)
    problem, spec = asked.problem(), get_domain(asked.domain)
    found = []
    for values in product(*GRID.values()):
        chosen = dict(zip(GRID, values, strict=True))
        settings = find_method(method).settings(steps=steps, every=every, **chosen)
        mean = float(run_method(method, problem, spec, seeds, settings).scores.mean())
        found.append((mean, chosen, settings))
    best = max(found, key=lambda each: each[0])
    return {
        "settings": asdict(best[2]),
        "grid": [{**chosen, "mean": round(mean, 4)} for mean, chosen, _ in found],
    }
