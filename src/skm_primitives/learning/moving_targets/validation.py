"""Success of single skills of Moving Targets, on boards that no training saw, and its learning curve.

Each skill is tried on boards on which it can be done (`skm_sim.moving_targets.trials`), within the 50
steps of a primitive's episode, greedily.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from skm_primitives.planning.options import REPEAT_STEPS
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.moving_targets import PixelGoals
from skm_sim.arrays import BoolArray, Float32Array
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import AGENT, COLLECTED, KINDS, MOVES, NOTHING, NUM_CELLS, States
from skm_sim.moving_targets.spec import MOVING_TARGETS
from skm_sim.moving_targets.trials import SkillTest, feasible_boards, skill_tests
from skm_sim.spec import DomainSpec

LogValues: TypeAlias = Callable[[States], Float32Array]
"""Logarithms of the action values `(n, goals, actions)` of states."""

VALIDATION_SEED = 90_001
"""Validation boards are drawn from here; reports use other seeds."""


def success(
    log_values: LogValues,
    goals: Sequence[Goal],
    tests: Sequence[SkillTest],
    count: int,
    seed: int,
    steps: int = MOVING_TARGETS.primitive_steps,
    repeats: float | None = None,
) -> dict[str, float]:
    """Return the share of `count` feasible boards on which each skill succeeds.

    Greedily by the network alone; or, with `repeats` the discount of the values, with the memory of an
    executor (`skm_primitives.planning.options`).
    """
    random = np.random.default_rng(seed)
    states = np.concatenate([feasible_boards(test, count, random) for test in tests])
    masks = np.repeat(np.stack([_mask(test, goals) for test in tests]), count, axis=0)
    wanted = _kinds([test.wanted for test in tests], count)
    forbidden = _kinds([test.forbidden for test in tests], count)
    done = np.zeros(len(states), np.bool_)
    going = np.arange(len(states))
    tries = np.zeros((len(states), NUM_CELLS, len(MOVES)), np.int64)
    for _ in range(steps):
        worth = np.where(masks[going][:, :, None], log_values(states[going]), -np.inf).max(axis=1)
        cells = states[going, AGENT]
        if repeats is not None:
            worth = worth + REPEAT_STEPS * np.log(repeats) * tries[going, cells]
        actions = worth.argmax(axis=1)
        tries[going, cells, actions] += 1
        after = board.step(states[going], actions, random)
        kind = after[:, COLLECTED]
        states[going] = after
        tries[going[kind != NOTHING]] = 0  # the board is another one now
        done[going] = wanted[going, kind]
        going = going[~wanted[going, kind] & ~forbidden[going, kind]]
        if not len(going):
            break
    rates = done.reshape(len(tests), count).mean(axis=1).tolist()
    return {test.name: float(rate) for test, rate in zip(tests, rates, strict=True)}


def group_scores(tests: Sequence[SkillTest], rates: dict[str, float]) -> dict[str, float]:
    """Return the mean of each group of skills and the least of all, and their mean: `validation`."""
    groups = dict.fromkeys(test.group for test in tests)
    means = {
        group: float(np.mean([rates[test.name] for test in tests if test.group == group]))
        for group in groups
    }
    return {
        "validation": float(np.mean(list(rates.values()))),
        **means,
        "least": min(rates.values()),
    }


def _kinds(sets: Sequence[tuple[int, ...]], count: int) -> BoolArray:
    """Return which kinds are in each set (`NOTHING` never is), each row repeated."""
    rows = np.array([[kind in wanted for kind in range(NOTHING + 1)] for wanted in sets])
    return np.repeat(rows, count, axis=0)


def _mask(test: SkillTest, goals: Sequence[Goal]) -> BoolArray:
    wanted = {frozenset(KINDS[kind]) for kind in test.wanted}
    return np.array([goal.labels in wanted and goal.violated == test.violated for goal in goals])


# What the scores along the learning curve of Moving Targets are, and what random actions reach.


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
