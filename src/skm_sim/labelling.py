"""Labels on any Gymnasium environment, one that knows nothing of skm: predicates say what is true.

    maze = label_env(
        gymnasium.make("PointMaze_Large-v3"),
        propositions={"dock": lambda observation, info, env: observation["achieved_goal"][0] > 4},
        observation_key="observation",
    )

What comes out is a domain's environment as `skm_sim.domain.Domain` says. Rewards are 0 (the mission
rewards), the time limit that `gymnasium.make` put on is taken off (a time limit is no end of the world),
and ends stay ends. Predicates see the observation as the environment gives it; what the skills see is
the part picked by `observation_key`, flattened to a vector where it is no vector, image or number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from skm_sim.faults import DomainError, said
from skm_sim.observation_parts import Key, Parts

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
Predicate: TypeAlias = Callable[[Any, dict[str, Any], Any], Any]
"""From (observation, info, environment) to whether a proposition is true."""


class LabelledEnv(gymnasium.Env[Any, Any]):
    """An environment with labels from predicates; see the module."""

    def __init__(
        self,
        env: AnyEnv,
        propositions: Mapping[str, Predicate],
        constraints: Sequence[str] = (),
        observation_key: Key | None = None,
    ) -> None:
        self.env = without_time_limit(env)
        self.propositions = tuple(propositions)
        self.constraints = tuple(constraints)
        self._predicates = dict(propositions)
        self._parts = Parts(env.observation_space, observation_key)
        self.observation_space = self._parts.space
        self.action_space = env.action_space
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self._labels: frozenset[str] = frozenset()

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        return self._labels

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        observation, info = self.env.reset(seed=seed, options=options)
        return self._labelled(observation, info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Take a step; the labels in `info` are those of the state that it leads to."""
        observation, _, terminated, truncated, info = self.env.step(action)
        seen, told = self._labelled(observation, info)
        return seen, 0.0, bool(terminated), bool(truncated), told

    def render(self) -> Any:  # noqa: ANN401 - whatever the environment draws
        """Return what the environment draws."""
        return self.env.render()

    def close(self) -> None:
        """Let the environment go."""
        self.env.close()

    def _labelled(self, observation: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
        self._labels = frozenset(
            name
            for name, predicate in self._predicates.items()
            if truth_of(name, predicate, observation, info, self.env.unwrapped)
        )
        return self._parts.pick(observation), {**info, "labels": self._labels}


def label_env(
    env: AnyEnv,
    propositions: Mapping[str, Predicate],
    constraints: Sequence[str] = (),
    observation_key: Key | None = None,
) -> LabelledEnv:
    """Return an environment with labels, a domain's as it stands: see the module."""
    return LabelledEnv(env, propositions, constraints, observation_key)


def truth_of(
    name: str, predicate: Predicate, observation: object, info: dict[str, Any], env: object
) -> bool:
    """Return whether a predicate holds; one that fails, or says neither, is named."""
    try:
        return bool(predicate(observation, info, env))
    except Exception as error:
        raise DomainError(f"the predicate of '{name}' failed ({said(error)}).") from error


def without_time_limit(env: AnyEnv) -> AnyEnv:
    """Return the environment without the time limit and the checks that `gymnasium.make` put on."""
    while isinstance(env, TimeLimit | OrderEnforcing | PassiveEnvChecker):
        env = env.env
    return env
