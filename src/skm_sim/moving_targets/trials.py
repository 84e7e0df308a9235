"""Boards on which the missions of Moving Targets are tried, beside the reference on the true state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skm_machine import holds, parse
from skm_machine.reward_machine import RewardMachine
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import KINDS, States
from skm_sim.moving_targets.reference import UNREACHABLE, goal_distances, optimal_rounds
from skm_sim.moving_targets.spec import COLOURS, CONSTRAINTS, PROPOSITIONS, SHAPES, TASK_STEPS
from skm_sim.spec import DomainSpec, Task
from skm_sim.trials import GoalPredicate, ResetOptions, TrialSet, named_tasks

# Random missions over the propositions of Moving Targets, drawn by a seed before any training.
#
# They show that missions which played no part in training are solved too. A mission is a
# sequence of two or three targets, `F(t1 & X F(t2 & …))`; with probability ½ something is
# forbidden from start to end, `& G !(…)`: a colour, a shape, or one kind of object. A target is a
# proposition, a kind of object, a colour without a shape or the other way round, or one of two
# propositions. Each target has a kind that meets it and is not forbidden, so every mission can be
# solved on (nearly) every board: exceptions are the rare boards on which forbidden objects wall
# the agent or a target in.


MISSION_SEED = 2024
MISSION_COUNT = 20


def random_missions(count: int = MISSION_COUNT, seed: int = MISSION_SEED) -> tuple[Task, ...]:
    """Return that many different missions, named `random-1` and so on; the seed decides which."""
    rng = np.random.default_rng(seed)
    formulas: dict[str, None] = {}
    while len(formulas) < count:
        formulas[_mission(rng)] = None
    return tuple(
        Task(f"random-{number}", formula, repeat=True, max_steps=TASK_STEPS)
        for number, formula in enumerate(formulas, start=1)
    )


def _mission(rng: np.random.Generator) -> str:
    """Draw one mission."""
    forbidden = _forbidden(rng) if rng.random() < 0.5 else ""
    allowed = [kind for kind in KINDS if not (forbidden and _holds(forbidden, kind))]
    text = ""
    for _ in range(rng.integers(2, 4)):
        target = _target(rng)
        while not any(_holds(target, kind) for kind in allowed):
            target = _target(rng)
        text = f"F({target} & X {text})" if text else f"F({target})"
    return f"{text} & G !({forbidden})" if forbidden else text


def _target(rng: np.random.Generator) -> str:
    """Draw a condition on the object to collect."""
    colour, shape = rng.choice(COLOURS), rng.choice(SHAPES)
    one, other = rng.choice(PROPOSITIONS, size=2, replace=False)
    choices = (
        f"{rng.choice(PROPOSITIONS)}",
        f"{colour} & {shape}",
        f"{colour} & !{shape}",
        f"!{colour} & {shape}",
        f"({one} | {other})",
    )
    return choices[rng.integers(len(choices))]


def _forbidden(rng: np.random.Generator) -> str:
    """Draw a condition on the objects to keep away from."""
    colour, shape = rng.choice(COLOURS), rng.choice(SHAPES)
    return (f"{colour}", f"{shape}", f"{colour} & {shape}")[rng.integers(3)]


def _holds(condition: str, kind: Iterable[str]) -> bool:
    return holds(parse(condition, PROPOSITIONS), [frozenset(kind)])


# The single skills that primitives of Moving Targets are judged by, and boards to try them on.
#
# Each is tried on boards on which it can be done: `goal_distances` on the true state says so.


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
