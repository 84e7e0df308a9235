"""Skills made of policies that were learned elsewhere, such as those of Stable-Baselines3.

A policy is a function from an observation to an action and a value: γ to the number of steps that its
goal is away, as it is learned with a reward of 1 on arrival, 0 before, and the domain's discount.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
)
from skm_sim.arrays import Float32Array
from skm_sim.spec import DomainSpec

SkillPolicy: TypeAlias = Callable[[Any], tuple[Any, float]]
"""From an observation to the action of a skill and its value there, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class PolicySkills:
    """Fits `Primitives`: one policy for each label set that can be gone for; see `of`.

    A skill is taken to violate no constraint of the domain on its way. Constraints that the policies do
    not know of should not be among the domain's.
    """

    domain: str
    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
    gamma: float
    action_space: Space[Any]
    goals: tuple[Goal, ...]
    policies: tuple[SkillPolicy, ...]
    world_model: GoalToGoal = field(repr=False)

    @classmethod
    def of(
        cls,
        spec: DomainSpec,
        policies: Mapping[str, SkillPolicy],
        *,
        episodes: int = 20,
        seed: int = 0,
    ) -> PolicySkills:
        """Return the skills of a domain from its policies, by the propositions that each makes true.

        `{"key": …, "door key": …}`: names apart by blanks are true together, all others false. What
        comes after a goal is measured: each policy runs in `episodes` episodes, and where it arrives
        all others are asked how far they have to go.
        """
        if not policies:
            raise SkmError(f"the domain '{spec.name}' has no policy to make skills of")
        goals = tuple(Goal(_label_set(spec, names)) for names in policies)
        ways = tuple(policies.values())
        env = spec.make()
        try:
            values = _between(env, goals, ways, episodes, spec.primitive_steps, seed)
            space = env.action_space
        finally:
            env.close()
        behind = GoalToGoal(values)
        return cls(
            spec.name,
            spec.propositions,
            spec.constraints,
            spec.gamma,
            space,
            goals,
            ways,
            behind,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the goals and of the values between them, which the policies determine."""
        content = repr([sorted(goal.labels) for goal in self.goals]).encode()
        return hashlib.sha256(content + self.world_model.values.tobytes()).hexdigest()

    def values(self, observation: Any, violated: frozenset[str]) -> AnyGoalValues:  # noqa: ANN401, ARG002
        """Return what each policy would do, and its value."""
        acts, worth = zip(*(policy(observation) for policy in self.policies), strict=True)
        value: Float32Array = np.clip(np.asarray(worth, np.float32), 0.0, 1.0)
        if not isinstance(self.action_space, Discrete):
            action: Float32Array = np.asarray(acts, np.float32)
            return ContinuousGoalValues(action, value, np.zeros_like(value), action)
        # Of other actions a policy says nothing: they count as worth nothing.
        move: Float32Array = np.zeros((len(value), int(self.action_space.n)), np.float32)
        move[np.arange(len(value)), np.asarray(acts, np.int64)] = value
        return GoalValues(move, np.zeros_like(move))


def _label_set(spec: DomainSpec, names: str) -> frozenset[str]:
    labels = frozenset(names.split())
    for name in sorted(labels.difference(spec.propositions)):
        raise SkmError(
            f"a policy is for '{names}', but the domain '{spec.name}' has no proposition"
            f" '{name}'{did_you_mean(name, spec.propositions)}"
        )
    return labels


def _between(
    env: Any,  # noqa: ANN401 - an environment of the domain
    goals: tuple[Goal, ...],
    policies: tuple[SkillPolicy, ...],
    episodes: int,
    max_steps: int,
    seed: int,
) -> Float32Array:
    """Return `[g, h]`: the mean value of h where g was achieved; 0 where g never was."""
    values: Float32Array = np.zeros((len(goals), len(goals)), np.float32)
    for number, (goal, policy) in enumerate(zip(goals, policies, strict=True)):
        found = [
            [worth for _, worth in (other(where) for other in policies)]
            for where in _arrivals(env, goal, policy, episodes, max_steps, seed)
        ]
        if found:
            values[number] = np.clip(np.mean(found, axis=0), 0.0, 1.0)
    return values


def _arrivals(
    env: Any,  # noqa: ANN401
    goal: Goal,
    policy: SkillPolicy,
    episodes: int,
    max_steps: int,
    seed: int,
) -> Iterable[Any]:
    """Yield what is observed where a policy achieves its goal."""
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        for _ in range(max_steps):
            if info["labels"] == goal.labels:
                yield observation
                break
            observation, _, terminated, truncated, info = env.step(policy(observation)[0])
            if (terminated or truncated) and info["labels"] != goal.labels:
                break
