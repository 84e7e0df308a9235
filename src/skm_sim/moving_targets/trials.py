"""Boards on which the missions of Moving Targets are tried, beside the reference on the true state."""

from __future__ import annotations

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_sim.domain import DomainSpec, Task
from skm_sim.moving_targets import board
from skm_sim.moving_targets.missions import random_missions
from skm_sim.moving_targets.reference import optimal_rounds
from skm_sim.trials import TrialSet, named_tasks


class MovingTargetsTrials:
    """Random boards; the reference runs on the same ones."""

    variants: tuple[str, ...] = ("random",)

    def default_episodes(self, variant: str) -> int:  # noqa: ARG002
        """Return 100."""
        return 100

    def tasks(self, spec: DomainSpec, name: str) -> list[Task]:
        """Return the domain's tasks, one of them, or the 20 missions that no training mentioned."""
        if name == "random":
            return list(random_missions())
        found = [task for task in random_missions() if task.name == name]
        return found or named_tasks(spec, name)

    def draw(self, task: Task, count: int, seed: int, variant: str) -> TrialSet:  # noqa: ARG002
        """Return boards, the same ones for every task."""
        boards = board.sample(np.random.default_rng([seed, 7]), count)

        def reference(trial: int, machine: RewardMachine, steps: int) -> int:
            return optimal_rounds(
                boards[trial], machine, steps, np.random.default_rng([seed, trial])
            )

        options = [{"state": state.tobytes()} for state in boards]
        return TrialSet(options, range(count), None, reference)


TRIALS = MovingTargetsTrials()
