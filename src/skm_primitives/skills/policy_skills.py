"""Skills made of policies that were learned elsewhere, such as those of Stable-Baselines3.

A policy is a function from an observation to an action and a value, as it is learned with a reward of 1
on arrival, 0 before, and the domain's discount: 1 where the next step arrives, γ where the next but one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import gymnasium
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
LEAST_VALUE: Final = -1.0
MOST_VALUE: Final = 2.0
"""Networks err; a value beyond these was not learned with a reward of 1 on arrival."""


@dataclass(frozen=True, eq=False)
class PolicySkills:
    """Fits `Primitives`: one policy for each label set that can be gone for; see `of`.

    A skill is taken to violate no constraint of the domain on its way. Constraints that the policies do
    not know of should not be among the domain's: `notes` says which are touched where it was tried.
    """

    domain: str
    """The domain that they are skills of."""
    propositions: tuple[str, ...]
    """What can be true in it, by name."""
    constraints: tuple[str, ...]
    """The propositions that missions may want kept false on the way."""
    gamma: float
    """The discount that the skills are composed with."""
    action_space: Space[Any]
    """That of the environment."""
    goals: tuple[Goal, ...]
    """What the policies achieve, one each."""
    policies: tuple[SkillPolicy, ...]
    """The policy of each goal."""
    world_model: GoalToGoal = field(repr=False)
    """How likely, and how far, each goal is from each other."""
    notes: tuple[str, ...] = ()
    """What people should know: policies that never arrived, and those that touched a constraint."""

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
        env = spec.make()
        try:
            space = env.action_space
            ways = tuple(_checked(names, way, space) for names, way in policies.items())
            tries = [
                _try(env, goal, way, episodes, spec.primitive_steps, seed)
                for goal, way in zip(goals, ways, strict=True)
            ]
        finally:
            env.close()
        behind = GoalToGoal(_between(tries, ways))
        notes = [
            note
            for names, goal, tried in zip(policies, goals, tries, strict=True)
            for note in tried.notes(names, goal, spec)
        ]
        return cls(
            spec.name,
            spec.propositions,
            spec.constraints,
            spec.gamma,
            space,
            goals,
            ways,
            behind,
            tuple(notes),
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


class GoalEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment to learn one skill in: 1 where exactly these labels are true, and the end.

    An episode that begins at the goal goes on until the robot comes there again: arriving is a step.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], labels: frozenset[str]) -> None:
        super().__init__(env)
        self.labels = labels

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Take a step; rewards of the environment itself do not count."""
        observation, _, terminated, truncated, info = self.env.step(action)
        arrived = info["labels"] == self.labels
        return observation, float(arrived), bool(terminated) or arrived, bool(truncated), info


def make_goal_env(spec: DomainSpec, names: str, max_steps: int = 0) -> gymnasium.Env[Any, Any]:
    """Return what the policy for a goal is learned in, with any library: `GoalEnv` with a time limit.

    `names` are the goal's propositions, apart by blanks. Learn with `gamma=spec.gamma`. Episodes are cut
    off (truncated) after `max_steps`; 0: after the domain's `primitive_steps`.
    """
    env = GoalEnv(spec.make(), _label_set(spec, names))
    return gymnasium.wrappers.TimeLimit(env, max_steps or spec.primitive_steps)


def sb3_policy(model: Any) -> SkillPolicy:  # noqa: ANN401 - skm does not depend on SB3
    """Return a model of Stable-Baselines3 as a policy for skills: PPO, A2C, DQN, SAC, TD3, DDPG.

    Its value is that of the state (PPO, A2C), or of the action taken, by the lowest of its critics.
    """

    def ask(observation: Any) -> tuple[Any, float]:  # noqa: ANN401
        import torch  # noqa: PLC0415 - SB3 brings it; served skills need none

        policy = model.policy
        action, _ = model.predict(observation, deterministic=True)
        with torch.no_grad():
            seen, _ = policy.obs_to_tensor(observation)
            if hasattr(policy, "q_net"):
                value = policy.q_net(seen).max()
            elif hasattr(policy, "critic"):
                # Critics see actions as the actor gives them, scaled to [-1, 1].
                scaled = policy.scale_action(np.asarray(action)[None])
                taken = torch.as_tensor(scaled, dtype=torch.float32, device=policy.device)
                value = torch.cat(policy.critic(seen, taken), dim=1).min()
            else:
                value = policy.predict_values(seen)
        return action, float(value)

    return ask


def _label_set(spec: DomainSpec, names: str) -> frozenset[str]:
    labels = frozenset(names.split())
    for name in sorted(labels.difference(spec.propositions)):
        raise SkmError(
            f"a policy is for '{names}', but the domain '{spec.name}' has no proposition"
            f" '{name}'{did_you_mean(name, spec.propositions)}"
        )
    return labels


def _checked(names: str, policy: SkillPolicy, space: Space[Any]) -> SkillPolicy:
    """Return a policy whose answers fit the action space; what is wrong with one is said."""

    def ask(observation: Any) -> tuple[Any, float]:  # noqa: ANN401
        answer = policy(observation)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise SkmError(
                f"the policy for '{names}' gave {answer!r}; it gives an action and a value"
            )
        action, value = np.asarray(answer[0]), np.asarray(answer[1], np.float64)
        if value.size != 1 or not LEAST_VALUE <= value.item() <= MOST_VALUE:
            raise SkmError(
                f"the policy for '{names}' gave the value {answer[1]!r}; it is one number from 0 to 1: 1"
                " where the next step arrives, the domain's discount where the one after does"
            )
        if isinstance(space, Discrete):
            fits = action.size == 1 and float(action.item()).is_integer()
            if fits and space.contains(number := int(action.item())):
                return number, value.item()
        elif action.shape == space.shape and np.isfinite(action).all():
            return action.astype(np.float32), value.item()
        raise SkmError(
            f"the policy for '{names}' gave the action {answer[0]!r} of shape {action.shape};"
            f" the domain's actions are {space}"
        )

    return ask


@dataclass(frozen=True)
class _Tried:
    """How a policy did in some episodes."""

    episodes: int
    steps: int
    arrivals: tuple[Any, ...]
    """What was observed where it arrived."""
    touched: Mapping[str, int]
    """In how many episodes each proposition was true on the way."""

    def notes(self, names: str, goal: Goal, spec: DomainSpec) -> Iterable[str]:
        """Yield what people should know."""
        if not self.arrivals:
            yield (
                f"the policy for '{names}' never arrived in {self.episodes} episodes of"
                f" {self.steps} steps"
            )
        elif missed := self.episodes - len(self.arrivals):
            yield (
                f"the policy for '{names}' did not arrive in {missed} of {self.episodes} episodes of"
                f" {self.steps} steps: missions end without progress there; learn it for longer"
            )
        for name in sorted(set(spec.constraints) - goal.labels):
            if count := self.touched.get(name, 0):
                yield (
                    f"the policy for '{names}' touched '{name}' on its way in {count} of {self.episodes}"
                    f" episodes, but skills are taken to avoid all constraints of '{spec.name}'"
                )


def _try(
    env: Any,  # noqa: ANN401 - an environment of the domain
    goal: Goal,
    policy: SkillPolicy,
    episodes: int,
    max_steps: int,
    seed: int,
) -> _Tried:
    """Run a policy in some episodes."""
    arrivals, touched = [], Counter[str]()
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        seen: set[str] = set()
        for _ in range(max_steps):
            if info["labels"] == goal.labels:
                arrivals.append(observation)
                break
            observation, _, terminated, truncated, info = env.step(policy(observation)[0])
            if info["labels"] != goal.labels:
                seen |= info["labels"]
                if terminated or truncated:
                    break
        touched.update(seen)
    return _Tried(episodes, max_steps, tuple(arrivals), touched)


def _between(tries: Sequence[_Tried], policies: Sequence[SkillPolicy]) -> Float32Array:
    """Return `[g, h]`: the mean value of h where g was achieved; 0 where g never was."""
    values: Float32Array = np.zeros((len(tries), len(tries)), np.float32)
    for number, tried in enumerate(tries):
        found = [[policy(where)[1] for policy in policies] for where in tried.arrivals]
        if found:
            values[number] = np.clip(np.mean(found, axis=0), 0.0, 1.0)
    return values
