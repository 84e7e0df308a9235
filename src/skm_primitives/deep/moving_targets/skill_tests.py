"""Success of single skills from pixels, on boards that no training saw.

Each skill is tried on boards on which it can be done (`goal_distances` on the true state says so),
within the 50 steps of a primitive's episode, greedily.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.planning.revisits import REPEAT_STEPS
from skm_sim.arrays import BoolArray, Float32Array
from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import (
    AGENT,
    COLLECTED,
    KINDS,
    MOVES,
    NOTHING,
    NUM_CELLS,
    States,
)
from skm_sim.moving_targets.reference import UNREACHABLE, goal_distances
from skm_sim.moving_targets.spec import COLOURS, MOVING_TARGETS, SHAPES

LogValues: TypeAlias = Callable[[States], Float32Array]
"""Logarithms of the action values `(n, goals, actions)` of states."""

VALIDATION_SEED = 90_001
"""Validation boards are drawn from here; reports use other seeds."""


@dataclass(frozen=True)
class SkillTest:
    """A single skill: collect one of the kinds `wanted`, and before that none of `forbidden`."""

    name: str
    group: str
    wanted: tuple[int, ...]
    forbidden: tuple[int, ...]
    violated: frozenset[str]
    """The goals used are those of the wanted kinds with this set V."""


def skill_tests() -> tuple[SkillTest, ...]:
    """Return the skills by which the primitives are judged.

    Groups: `kind`, `colour`, `shape` (anything may be touched on the way), `only` (a kind before any
    other object), `without` (a colour without a shape, never touching that shape).
    """
    everything = frozenset(MOVING_TARGETS.constraints)
    kinds = range(len(KINDS))
    name = [" ".join(kind) for kind in KINDS]
    tests = [SkillTest(name[k], "kind", (k,), (), everything) for k in kinds]
    for group, names in (("colour", COLOURS), ("shape", SHAPES)):
        for word in names:
            wanted = tuple(k for k in kinds if word in KINDS[k])
            tests.append(SkillTest(word, group, wanted, (), everything))
    for k in kinds:
        others = tuple(other for other in kinds if other != k)
        tests.append(SkillTest(f"only {name[k]}", "only", (k,), others, frozenset()))
    for colour in COLOURS:
        for shape in SHAPES:
            wanted = tuple(k for k in kinds if colour in KINDS[k] and shape not in KINDS[k])
            forbidden = tuple(k for k in kinds if shape in KINDS[k])
            tests.append(
                SkillTest(
                    f"{colour} & !{shape}", "without", wanted, forbidden, everything - {shape}
                )
            )
    return tuple(tests)


def feasible_boards(test: SkillTest, count: int, random: np.random.Generator) -> States:
    """Draw boards on which the skill can be done."""
    boards = board.sample(random, 2 * count)
    steps = goal_distances(boards, test.wanted, test.forbidden)
    return boards[steps < UNREACHABLE][:count]


def success(
    log_values: LogValues,
    goals: PixelGoals,
    tests: Sequence[SkillTest],
    count: int,
    seed: int,
    steps: int = MOVING_TARGETS.primitive_steps,
    repeats: float | None = None,
) -> dict[str, float]:
    """Return the share of `count` feasible boards on which each skill succeeds.

    Greedily by the network alone; or, with `repeats` the discount of the values, with the memory of an
    executor (`skm_primitives.planning.revisits`).
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


def _mask(test: SkillTest, goals: PixelGoals) -> BoolArray:
    wanted = {frozenset(KINDS[kind]) for kind in test.wanted}
    return np.array(
        [goal.labels in wanted and goal.violated == test.violated for goal in goals.goals]
    )
