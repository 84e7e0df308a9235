"""Where a domain's tasks and single skills are tried: which worlds, which starts, beside what.

A domain with nothing to say about it is tried in worlds as they come, from seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_sim.spec import DomainSpec, Task

ResetOptions = dict[str, Any]


class GoalPredicate(Protocol):
    """Anything that says of a goal whether it is wanted, such as the skill of a machine's state."""

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:
        """Tell whether arriving with these labels, these constraints being violated, will do."""
        ...


@dataclass(frozen=True)
class TrialSet:
    """The runs of one task: how the world is reset for each."""

    options: Sequence[ResetOptions | None]
    """What each world is reset with."""
    seeds: Sequence[int | None]
    """The seed of each world."""
    feasible: float | None = None
    """The share of all worlds in which the task is possible; None if that was not checked."""
    reference: Callable[[int, RewardMachine, int], int] | None = None
    """What a reference on the true state does in a trial: (trial, machine, steps) to rounds."""


class TaskTrials(Protocol):
    """Draws the worlds that a domain's tasks are evaluated in."""

    variants: tuple[str, ...]
    """Kinds of worlds, the usual one first; `skm eval --layouts` names one."""

    def default_episodes(self, variant: str) -> int:
        """Return how many trials a task has by default."""
        ...

    def tasks(self, spec: DomainSpec, name: str) -> Sequence[Task]:
        """Return the tasks that a name stands for: `all`, or one of them."""
        ...

    def draw(self, task: Task, count: int, seed: int, variant: str) -> TrialSet:
        """Return trials of a task."""
        ...


class SkillTrials(Protocol):
    """The single skills that a domain's primitives are judged by, and worlds to try them in."""

    skills: Mapping[str, GoalPredicate]
    """When each skill has done its work, by the skill's name."""

    def worlds(
        self, skill: GoalPredicate, random: np.random.Generator, count: int
    ) -> tuple[ResetOptions, float]:
        """Return reset options for a batch of worlds in which a skill is possible, and their share."""
        ...

    def joined(self, options: Sequence[ResetOptions]) -> ResetOptions:
        """Return the reset options of several batches as those of one."""
        ...


def named_tasks(spec: DomainSpec, name: str) -> list[Task]:
    """Return all tasks of a domain, or the one of that name."""
    return list(spec.tasks.values()) if name == "all" else [spec.task(name)]


class SeededTrials:
    """Trials of any domain: worlds as they come, one from each seed."""

    variants: tuple[str, ...] = ("random",)

    def default_episodes(self, variant: str) -> int:  # noqa: ARG002
        """Return 100."""
        return 100

    def tasks(self, spec: DomainSpec, name: str) -> list[Task]:
        """Return all tasks, or the one of that name."""
        return named_tasks(spec, name)

    def draw(self, task: Task, count: int, seed: int, variant: str) -> TrialSet:  # noqa: ARG002
        """Return resets with seeds that follow from one seed."""
        seeds = np.random.SeedSequence(seed).generate_state(count).tolist()
        return TrialSet([None] * count, seeds)


class Literal:
    """The skill of making one proposition true, with or (`strict`) without touching any constraint."""

    def __init__(self, name: str, *, strict: bool = False) -> None:
        self._name = name
        self._strict = strict

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:
        """Tell whether the proposition holds, and if asked for, nothing is violated."""
        return self._name in labels and not (self._strict and violated)


class LiteralTrials:
    """Skill trials of any domain: each proposition on its own, in worlds as they come.

    Where there are constraints, also each without touching any: the longer ways are learned last.
    """

    def __init__(self, spec: DomainSpec) -> None:
        free = {name: Literal(name) for name in spec.propositions}
        strict = {
            f"{name}, strict": Literal(name, strict=True)
            for name in spec.propositions
            if spec.constraints and name not in spec.constraints
        }
        self.skills: Mapping[str, GoalPredicate] = {**free, **strict}

    def worlds(
        self,
        skill: GoalPredicate,  # noqa: ARG002
        random: np.random.Generator,  # noqa: ARG002
        count: int,  # noqa: ARG002
    ) -> tuple[ResetOptions, float]:
        """Return no options: where the skill is possible is unknown."""
        return {}, 1.0

    def joined(self, options: Sequence[ResetOptions]) -> ResetOptions:  # noqa: ARG002
        """Return no options."""
        return {}


def skill_trials(spec: DomainSpec) -> SkillTrials:
    """Return the single skills of a domain, and worlds to try them in."""
    own: SkillTrials | None = spec.part("validation")
    return LiteralTrials(spec) if own is None else own
