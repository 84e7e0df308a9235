"""Evaluation of single skills: each pursued on its own, all worlds of a skill as one batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skm_machine.errors import SkmError
from skm_primitives.evaluation.options import EvaluationOptions, Track, silent
from skm_primitives.evaluation.statistics import proportion_interval
from skm_primitives.evaluation.task_trials import TrialsEvaluation, TrialsTask, chosen_primitives
from skm_primitives.planning.skill_runs import SkillRuns, run_skill
from skm_primitives.skills.network_skills import NetworkSkills
from skm_primitives.skills.values import Primitives
from skm_sim.spec import DomainSpec
from skm_sim.trials import skill_trials

DEFAULT_EPISODES = 200


@dataclass(frozen=True)
class SkillReport:
    """How well single skills were done: by the network alone, and as they are executed."""

    domain: str
    seed: int
    checkpoint: str
    boards: int
    max_steps: int
    rates: Mapping[str, Mapping[str, float]]
    """The success of every skill, `greedy` and `executed`."""
    groups: Mapping[str, Mapping[str, float]]
    """The means of groups of skills, likewise."""
    milliseconds_per_step: float
    """CPU time of a composed step."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "domain": self.domain,
            "seed": self.seed,
            "checkpoint": self.checkpoint,
            "episodes": self.boards,
            "groups": self.groups,
            "skills": self.rates,
            "milliseconds_per_step": self.milliseconds_per_step,
        }


def evaluate_box_skills(spec: DomainSpec, options: EvaluationOptions) -> TrialsEvaluation:
    """Pursue the skills that a domain's primitives are judged by, where they are possible."""
    primitives = chosen_primitives(spec, options)
    count = options.episodes or DEFAULT_EPISODES
    found = runs_of_skills(spec, primitives, count, options.seed, options.track)
    tasks = {name: _skill(runs, share) for name, (runs, share) in found.items()}
    variant = options.variant or "random"
    return TrialsEvaluation(
        spec.name, options.planner, variant, options.seed, primitives.digest, tasks
    )


def runs_of_skills(
    spec: DomainSpec, primitives: Primitives, count: int, seed: int, track: Track = silent
) -> dict[str, tuple[SkillRuns, float]]:
    """Return the runs of every skill, and what share of all worlds it is possible in."""
    if not isinstance(primitives, NetworkSkills):
        raise SkmError(f"these primitives of '{spec.name}' have no batch of values to evaluate")
    random = np.random.default_rng(seed)
    trials = skill_trials(spec)
    found = {}
    for name in track(list(trials.skills), f"eval {spec.name} skills"):
        skill = trials.skills[name]
        options, share = trials.worlds(skill, random, count)
        runs = run_skill(primitives, spec, skill, options, count, spec.primitive_steps)
        found[name] = runs, share
    return found


def _skill(runs: SkillRuns, share: float) -> TrialsTask:
    count, succeeded = len(runs.succeeded), int(runs.succeeded.sum())
    return TrialsTask(
        success=succeeded / count,
        success_interval=proportion_interval(succeeded, count),
        mean_steps=float(runs.steps[runs.succeeded].mean()) if succeeded else None,
        feasible=share,
        episodes=count,
    )
