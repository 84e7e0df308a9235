"""Where the tasks and skills of the Safety domain are tried: layouts on which they are possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skm_sim.safety.layout import (
    AVOID_SKILLS,
    AVOID_STAGES,
    SKILLS,
    STAGES,
    Arrival,
    authors_layouts,
    concatenate,
    sample_feasible,
    sample_layouts,
)
from skm_sim.safety.spec import AVOID
from skm_sim.spec import DomainSpec, Task
from skm_sim.trials import GoalPredicate, ResetOptions, TrialSet, named_tasks


class SafetyTrials:
    """Random feasible layouts, or the authors' objects with robots drawn at random (`test`)."""

    variants: tuple[str, ...] = ("random", "test")

    def default_episodes(self, variant: str) -> int:
        """Return 200 random layouts, or 20 starts on the authors' own."""
        return {"random": 200, "test": 20}[variant]

    def tasks(self, spec: DomainSpec, name: str) -> list[Task]:
        """Return all tasks, or the one of that name.

        `avoid` are missions that avoid a button or the cylinder, which are none of the paper's.
        """
        if name == "avoid" or name in AVOID:
            asked = AVOID if name == "avoid" else {name: AVOID[name]}
            return [Task(key, formula, False, 500) for key, formula in asked.items()]
        return named_tasks(spec, name)

    def draw(self, task: Task, count: int, seed: int, variant: str) -> TrialSet:
        """Return layouts on which a task is possible, and what share of all that is."""
        number = int(task.name) if task.name.isdigit() else sum(map(ord, task.name))
        random = np.random.default_rng([seed, number])
        sample = authors_layouts if variant == "test" else sample_layouts
        layouts, share = sample_feasible(
            random, count, {**STAGES, **AVOID_STAGES}[task.name], sample
        )
        options = [{"layout": layouts[index]} for index in range(count)]
        return TrialSet(options, [None] * count, share)


class SafetySkillTrials:
    """The skills that the primitives are judged by, on layouts on which they are possible."""

    def __init__(self, skills: Mapping[str, Arrival]) -> None:
        self.skills: Mapping[str, GoalPredicate] = skills

    def worlds(
        self, skill: GoalPredicate, random: np.random.Generator, count: int
    ) -> tuple[ResetOptions, float]:
        """Return a batch of feasible layouts, and what share of all they are."""
        assert isinstance(skill, Arrival)
        layouts, share = sample_feasible(random, count, [skill])
        return {"layout": layouts}, share

    def joined(self, options: Sequence[ResetOptions]) -> ResetOptions:
        """Return several batches of layouts as one."""
        return {"layout": concatenate([each["layout"] for each in options])}


TRIALS = SafetyTrials()
PAPER_SKILL_TRIALS = SafetySkillTrials(SKILLS)
SKILL_TRIALS = SafetySkillTrials({**SKILLS, **AVOID_SKILLS})
