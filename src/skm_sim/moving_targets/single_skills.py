"""The single skills that primitives of Moving Targets are judged by, and boards to try them on.

Each is tried on boards on which it can be done: `goal_distances` on the true state says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import KINDS, States
from skm_sim.moving_targets.reference import UNREACHABLE, goal_distances
from skm_sim.moving_targets.spec import COLOURS, CONSTRAINTS, SHAPES
from skm_sim.trials import GoalPredicate, ResetOptions


@dataclass(frozen=True)
class SkillTest:
    """A single skill: collect one of the kinds `wanted`, and before that none of `forbidden`."""

    name: str
    group: str
    wanted: tuple[int, ...]
    forbidden: tuple[int, ...]
    violated: frozenset[str]
    """The goals used are those of the wanted kinds with this set V."""

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:
        """Tell whether that collects a wanted kind, with nothing violated that must not be."""
        return any(labels == {*KINDS[kind]} for kind in self.wanted) and violated <= self.violated


def skill_tests() -> tuple[SkillTest, ...]:
    """Return the skills by which the primitives are judged.

    Groups: `kind`, `colour`, `shape` (anything may be touched on the way), `only` (a kind before any
    other object), `without` (a colour without a shape, never touching that shape).
    """
    everything = frozenset(CONSTRAINTS)
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


class MovingTargetsSkillTrials:
    """A `skm_sim.trials.SkillTrials`: validations of a learner that only steps begin on these boards."""

    def __init__(self) -> None:
        self.skills: Mapping[str, GoalPredicate] = {test.name: test for test in skill_tests()}

    def worlds(
        self, skill: GoalPredicate, random: np.random.Generator, count: int
    ) -> tuple[ResetOptions, float]:
        """Return a batch of boards on which a skill can be done; next to all are."""
        assert isinstance(skill, SkillTest)
        return {"state": feasible_boards(skill, count, random)}, 1.0

    def joined(self, options: Sequence[ResetOptions]) -> ResetOptions:
        """Return several batches of boards as one."""
        return {"state": np.concatenate([each["state"] for each in options])}


SKILL_TRIALS = MovingTargetsSkillTrials()
