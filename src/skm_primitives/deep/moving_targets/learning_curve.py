"""What the scores along the learning curve of Moving Targets are, and what random actions reach."""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.deep.moving_targets.skill_tests import (
    VALIDATION_SEED,
    group_scores,
    skill_tests,
    success,
)
from skm_sim.arrays import Float32Array
from skm_sim.domain import DomainSpec
from skm_sim.moving_targets.board import KINDS, MOVES, States

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
        scores = group_scores(tests, success(log_values, goals, tests, boards, seed))
        return {group: scores[group] for group in GROUPS}


CURVE = LearningCurve()
