"""What the scores along the learning curve of Moving Targets are, and what random actions reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.deep.moving_targets.skill_tests import (
    VALIDATION_SEED,
    group_scores,
    success,
)
from skm_sim.arrays import Float32Array
from skm_sim.domain import DomainSpec
from skm_sim.moving_targets.board import KINDS, MOVES, States
from skm_sim.moving_targets.single_skills import skill_tests

GROUPS: Final = {
    "kind": ("a kind, such as blue & square", "#3b6fb6", "o"),
    "colour": ("a colour", "#7a5195", "s"),
    "shape": ("a shape", "#2a9d8f", "^"),
    "without": ("a colour, never touching a shape", "#e08e1b", "D"),
    "only": ("a kind before any other object", "#d1345b", "v"),
}
"""Groups of `skill_tests`: what they are, and how they are drawn."""


class LearningCurve:
    """The groups of skills, and the success of random actions on validation boards."""

    groups = GROUPS

    def row(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Return the scores of a validation with the mean of each group of skills."""
        if all(group in scores for group in GROUPS):
            return scores
        tests = skill_tests()
        means = group_scores(tests, {test.name: scores[test.name] for test in tests})
        return {"steps": scores["steps"], "cpu_minutes": scores["cpu_minutes"], **means}

    def chance(
        self, spec: DomainSpec, boards: int, seed: int = VALIDATION_SEED
    ) -> dict[str, float]:
        """Return the success of random actions on validation boards, by group of skills."""
        goals = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
        random = np.random.default_rng(0)

        def log_values(states: States) -> Float32Array:
            # One draw for all goals: the best action is then uniform, whatever goals are asked for.
            draws = random.random((len(states), 1, len(MOVES)), np.float32)
            return np.broadcast_to(draws, (len(states), len(goals), len(MOVES)))

        tests = skill_tests()
        scores = group_scores(tests, success(log_values, goals.goals, tests, boards, seed))
        return {group: scores[group] for group in GROUPS}


CURVE = LearningCurve()
