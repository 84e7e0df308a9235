"""Two policies in the same worlds: what each did, and whether one is better beyond doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skm_machine.tracker import Status
from skm_primitives.episodes import run_episode
from skm_primitives.evaluation.statistics import Interval, mean_interval
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import Primitives
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.domain import DomainSpec, Task
from skm_sim.trials import TrialSet


@dataclass(frozen=True)
class Outcomes:
    """How one policy did, an entry for every world."""

    succeeded: BoolArray
    failed: BoolArray
    score: FloatArray
    """The rounds of a mission without end; else the discounted return."""

    @property
    def success(self) -> float:
        """The share of worlds in which the mission succeeded."""
        return float(self.succeeded.mean())


@dataclass(frozen=True)
class Comparison:
    """One policy beside another, in the same worlds."""

    before: Outcomes
    after: Outcomes

    @property
    def gain(self) -> float:
        """By how much the mean score is higher."""
        return float((self.after.score - self.before.score).mean())

    @property
    def interval(self) -> Interval:
        """The 95 % interval of that, from the differences world by world."""
        return mean_interval((self.after.score - self.before.score).tolist())

    @property
    def no_worse(self) -> bool:
        """Whether it succeeded in no fewer worlds, and failed in no more."""
        fewer = self.after.succeeded.sum() < self.before.succeeded.sum()
        return not fewer and bool(self.after.failed.sum() <= self.before.failed.sum())

    @property
    def better(self) -> bool:
        """Whether it is no worse, and its score higher by all that the interval allows."""
        return self.no_worse and self.interval[0] > 0


def run_worlds(
    spec: DomainSpec,
    primitives: Primitives,
    policy: Policy,
    task: Task,
    drawn: TrialSet,
) -> Outcomes:
    """Run a task in every world that was drawn."""
    env = spec.make()
    rows = []
    for seed, options in zip(drawn.seeds, drawn.options, strict=True):
        episode = run_episode(
            env, primitives, policy, max_steps=task.max_steps, seed=seed, options=options
        )
        visits = episode.accepting_visits
        score = visits if policy.mission.machine.endless else episode.discounted_return
        succeeded = episode.status is Status.ACCEPTED or visits > 0
        rows.append((succeeded, episode.status is Status.FAILED, float(score)))
    env.close()
    columns = np.array(rows).T
    return Outcomes(columns[0] > 0, columns[1] > 0, columns[2])
