"""Runs of a method as jobs: some seeds each, put together again in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from skm_machine import compile_mission
from skm_primitives.baselines.curves import Curves
from skm_primitives.baselines.methods import find_method, run_method
from skm_primitives.baselines.problem import Problem, make_problem
from skm_primitives.baselines.settings import LearningSettings
from skm_primitives.workers import Job
from skm_sim import get_domain
from skm_sim.arrays import FloatArray
from skm_sim.tabular import TabularModel, is_tabular, tabular_model
from skm_sim.tabular.explored import explored_model

SEEDS_A_JOB: Final = 10


@dataclass(frozen=True)
class Experiment:
    """Missions of a tabular domain; each episode has one of them."""

    domain: str
    """As `skm` is told: a name, package.module:SPEC or a folder."""
    missions: tuple[tuple[str, bool], ...]
    """Each mission, and whether it repeats."""
    horizon: str = "auto"

    def problem(self) -> Problem:
        """Return the arrays to learn on."""
        spec = get_domain(self.domain)
        compiled = [
            compile_mission(
                text, propositions=spec.propositions, repeat=repeat, horizon=self.horizon
            )
            for text, repeat in self.missions
        ]
        return make_problem(_model(self.domain), compiled)


@cache
def _model(domain: str) -> TabularModel:
    """Return the world of a domain: its own arrays, or what exploring a plain environment finds."""
    spec = get_domain(domain)
    return tabular_model(spec) if is_tabular(spec) else explored_model(spec)


def of_tasks(domain: str, tasks: Sequence[str]) -> Experiment:
    """Return tasks of a domain as an experiment."""
    spec = get_domain(domain)
    found = [spec.task(name) for name in tasks]
    return Experiment(domain, tuple((task.formula, task.repeat) for task in found))


def jobs_of(
    experiment: Experiment, method: str, settings: LearningSettings, seeds: Sequence[int]
) -> list[Job]:
    """Return the runs of a method as jobs of at most `SEEDS_A_JOB` seeds."""
    find_method(method)
    chunks = [seeds[begin : begin + SEEDS_A_JOB] for begin in range(0, len(seeds), SEEDS_A_JOB)]
    common = {"experiment": asdict(experiment), "method": method, "settings": asdict(settings)}
    return [
        Job(
            f"{method} {chunk[0]}-{chunk[-1]}",
            "skm_primitives.baselines.runs:scores",
            {**common, "seeds": list(chunk)},
        )
        for chunk in chunks
    ]


def scores(
    experiment: Mapping[str, Any], method: str, settings: Mapping[str, Any], seeds: Sequence[int]
) -> FloatArray:
    """Do one job; return the scores `[seed, evaluation]`."""
    asked = Experiment(**experiment)
    problem, spec = asked.problem(), get_domain(asked.domain)
    return run_method(method, problem, spec, seeds, LearningSettings(**settings)).scores


def collected(
    method: str, settings: LearningSettings, jobs: Sequence[Job], results: Mapping[str, FloatArray]
) -> Curves:
    """Return the results of jobs, by key, as the curves of a method."""
    seeds = [seed for job in jobs for seed in job.arguments["seeds"]]
    found = np.concatenate([results[job.key] for job in jobs])
    return Curves(method, found, settings, tuple(seeds))
