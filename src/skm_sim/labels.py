"""Labels on any Gymnasium environment, single or in batches: predicates say what is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Tuple
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from skm_sim.actions import FlatActions
from skm_sim.arrays import BoolArray
from skm_sim.faults import DomainError, refuse_many_agents, said
from skm_sim.observations import Key, Parts

# What is kept of the labels on the way of an action that is held for several steps.


def told_labels(before: BoolArray, shown: BoolArray) -> BoolArray:
    """Return what to tell, `(n, propositions)`, after steps `(n, steps, propositions)`: the last labels;

    but where these are as before the first step, and others were shown between, the first of those.
    So a label that is only grazed counts.
    """
    last: BoolArray = shown[:, -1].copy()
    other = (shown != before[:, None]).any(-1)
    undone = np.flatnonzero(other.any(1) & ~other[:, -1])
    last[undone] = shown[undone, other[undone].argmax(1)]
    return last


# Labels on any Gymnasium environment, one that knows nothing of skm: predicates say what is true.
#
#     maze = label_env(
#         gymnasium.make("PointMaze_Large-v3"),
#         propositions={"dock": lambda observation, info, env: observation["achieved_goal"][0] > 4},
#         observation_key="observation",
#     )
#
# What comes out is a domain's environment as `skm_sim.spec.Domain` says. Rewards are 0 (the
# mission rewards), the time limit that `gymnasium.make` put on is taken off (a time limit is no
# end of the world), and ends stay ends. Predicates see the observation as the environment gives
# it; what the skills see is the part picked by `observation_key`, flattened to a vector where it
# is no vector, image or number. Types that are not those of the space are converted, and actions of
# other spaces than Discrete and a flat Box are made of these (`FlatActions`).


AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
STEP_PARTS: Final = ("observation", "reward", "terminated", "truncated", "info")
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
        refuse_many_agents(env)
        refuse_others(env)
        self.env = without_time_limit(env)
        self.propositions = tuple(propositions)
        self.constraints = tuple(constraints)
        self._predicates = dict(propositions)
        self._actions = FlatActions(env.action_space)
        self.action_space = self._actions.space
        one_hot = isinstance(self.action_space, Box)
        self._parts = Parts(env.observation_space, observation_key, one_hot=one_hot)
        self.observation_space = self._parts.space
        self.raw_observation: Any = None
        """What the environment gave last, before it was picked, flattened or repaired."""
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
        begun = self.env.reset(seed=seed, options=options)
        observation, info = parts_of(begun, ("observation", "info"), "reset()")
        return self._labelled(observation, info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Take a step; the labels in `info` are those of the state that it leads to."""
        taken = self._actions.to_whole(action)
        went = parts_of(self.env.step(taken), STEP_PARTS, "step()")
        observation, _, terminated, truncated, info = went
        seen, known = self._labelled(observation, info)
        return seen, 0.0, bool(terminated), bool(truncated), known

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
        self.raw_observation = observation
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


def parts_of(returned: object, names: Sequence[str], where: str) -> tuple[Any, ...]:
    """Return what `reset()` or `step()` returned, if Gymnasium says so; no `info` is an empty one."""
    if not isinstance(returned, tuple) or len(returned) != len(names):
        what = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
        raise DomainError(
            f"the environment's {where} returned {what}, not ({', '.join(names)}); environments of"
            " the old Gym return these in a compatibility wrapper of the package shimmy."
        )
    *others, info = returned
    if info is None:
        info = {}
    if not isinstance(info, dict):
        raise DomainError(
            f"the environment's {where} returned an info of type {type(info).__name__}, not a dict."
        )
    return *others, info


def refuse_others(env: object) -> None:
    """Refuse what is no single environment, and say what is."""
    if isinstance(env, VectorEnv):
        raise DomainError(
            "this is a batch of environments: label_batch labels one, label_env a single."
        )
    wanted = "reset", "step", "action_space", "observation_space"
    if missing := [name for name in wanted if not hasattr(env, name)]:
        raise DomainError(
            f"this is no Gymnasium environment but of type {type(env).__name__}, without"
            f" {', '.join(missing)}."
        )


def without_time_limit(env: AnyEnv) -> AnyEnv:
    """Return the environment without the time limit and the checks that `gymnasium.make` put on."""
    while isinstance(env, TimeLimit | OrderEnforcing | PassiveEnvChecker):
        env = env.env
    return env


# Labels of Gymnasium's own batches: the sets that single environments tell, as one Boolean array.


AnyBatch: TypeAlias = VectorEnv[Any, Any, Any]


class GatheredLabels(VectorWrapper):
    """A batch of single environments whose `info["labels"]` is a bool array, as native ones have it."""

    def __init__(self, env: AnyBatch, propositions: tuple[str, ...]) -> None:
        super().__init__(env)
        self.propositions = propositions
        self._columns = {name: index for index, name in enumerate(propositions)}
        self._labels = np.zeros((env.num_envs, len(propositions)), np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes: all of them, or those in the bool array `options["reset_mask"]`."""
        begun = begun_worlds(options, self.num_envs)
        observations, info = self.env.reset(seed=seed, options=options)
        return observations, {**info, "labels": self._gathered(info, begun)}

    def step(
        self,
        actions: Any,  # noqa: ANN401 - an array of any kind
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every environment."""
        observations, rewards, ends, cuts, info = self.env.step(actions)
        labels = self._gathered(info, np.ones(self.num_envs, np.bool_))
        return observations, rewards, ends, cuts, {**info, "labels": labels}

    def _gathered(self, info: dict[str, Any], known: BoolArray) -> BoolArray:
        """Return the labels of all worlds; those that are not in `known` have theirs of before."""
        rows = info.get("labels")
        if rows is None or len(rows) != self.num_envs:
            raise DomainError("the environments of the batch tell no info['labels'].")
        labels = self._labels = np.where(known[:, None], False, self._labels)
        for index in np.flatnonzero(known).tolist():
            row, names = labels[index], rows[index]
            if not isinstance(names, frozenset):
                raise DomainError(f"info['labels'] is {names!r}, no frozenset of propositions.")
            for name in names:
                if name not in self._columns:
                    raise DomainError(f"the label '{name}' is none of the propositions.")
                row[self._columns[name]] = True
        return labels


def begun_worlds(options: dict[str, Any] | None, num_envs: int) -> BoolArray:
    """Return which worlds a reset begins anew: Gymnasium takes the mask out of the options."""
    mask = (options or {}).get("reset_mask")
    return np.ones(num_envs, np.bool_) if mask is None else np.asarray(mask, np.bool_)


def with_label_arrays(batch: AnyBatch, propositions: tuple[str, ...]) -> AnyBatch:
    """Return a batch with labels as arrays; a native one has them already."""
    own = isinstance(batch.unwrapped, SyncVectorEnv | AsyncVectorEnv)
    return GatheredLabels(batch, propositions) if own else batch


# Labels on any batch: those of `gymnasium.make_vec`, and native ones that step as arrays.
#
# Predicates are those of `label_env`. A batch of single environments (sync, async) has them
# called for each world, with its part of the observations and of `info`, and with its
# environment; that is None where the worlds are in processes of their own. A native batch has
# them called once for all worlds, with arrays, and they return an array of bools:
# `observation[..., 0] > 1` does for both.


class LabelledBatch(VectorEnv[Any, Any, Any]):
    """A batch with `info["labels"]` as a bool array `(num_envs, propositions)`; see the module."""

    foreign = True
    """Its seeds need not do what those of a single environment do."""

    def __init__(
        self,
        batch: AnyBatch,
        propositions: Mapping[str, Predicate],
        constraints: Sequence[str] = (),
        observation_key: Key | None = None,
    ) -> None:
        refuse_many_agents(batch)
        self.batch = batch
        self.num_envs = batch.num_envs
        self.propositions, self.constraints = tuple(propositions), tuple(constraints)
        self._predicates = dict(propositions)
        self._actions = FlatActions(batch.single_action_space)
        one_hot = isinstance(self._actions.space, Box)
        self._parts = Parts(batch.single_observation_space, observation_key, one_hot=one_hot)
        self.single_observation_space = self._parts.space
        self.single_action_space = self._actions.space
        self.observation_space = batch_space(self._parts.space, batch.num_envs)
        self.action_space = batch.action_space
        if not self._actions.plain:
            self.action_space = batch_space(self._actions.space, batch.num_envs)
        self.metadata = batch.metadata
        self._native = not isinstance(batch.unwrapped, SyncVectorEnv | AsyncVectorEnv)
        nested = isinstance(batch.single_observation_space, Dict | Tuple)
        self._plain = observation_key is None and not nested
        self._last = np.zeros((batch.num_envs, len(self.propositions)), np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes."""
        begun = begun_worlds(options, self.num_envs)
        observations, info = self.batch.reset(seed=seed, options=options)
        labels = self._labels(observations, info, begun)
        return self._seen(observations), {**info, "labels": labels}

    def step(
        self,
        actions: Any,  # noqa: ANN401 - an array of any kind
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every world."""
        observations, rewards, ends, cuts, info = self.batch.step(self._whole(actions))
        every = np.ones(self.num_envs, np.bool_)
        known = {**info, "labels": self._labels(observations, info, every)}
        return self._seen(observations), np.zeros_like(rewards), ends, cuts, known

    def close(self, **options: Any) -> None:  # noqa: ANN401 - those of the batch
        """Let the worlds go."""
        self.batch.close(**options)

    def _whole(self, actions: Any) -> Any:  # noqa: ANN401
        """Return the actions of all worlds as the batch takes them."""
        if self._actions.plain:
            return actions
        space = self.batch.single_action_space
        rows = [self._actions.to_whole(action) for action in actions]
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, rows, empty)

    def _rows(self, observations: Any) -> list[Any]:  # noqa: ANN401
        return list(iterate(self.batch.observation_space, observations))

    def _seen(self, observations: Any) -> Any:  # noqa: ANN401
        if self._plain and self.observation_space == self.batch.observation_space:
            return observations
        return np.stack([self._parts.pick(row) for row in self._rows(observations)])

    def _labels(self, observations: Any, info: dict[str, Any], begun: BoolArray) -> BoolArray:  # noqa: ANN401
        """Return the labels of all worlds; those that are not in `begun` have theirs of before.

        For what a reset of some says of the others is nothing: `info` has no part of theirs.
        """
        if self._native:
            columns = [
                self._column(name, predicate, observations, info)
                for name, predicate in self._predicates.items()
            ]
            return np.stack(columns, axis=1)
        envs = _bare(getattr(self.batch.unwrapped, "envs", [None] * self.num_envs))
        rows = self._rows(observations)
        labels = self._last = self._last.copy()
        for index in np.flatnonzero(begun).tolist():
            known = _info_of(info, index)
            labels[index] = [
                truth_of(name, predicate, rows[index], known, envs[index])
                for name, predicate in self._predicates.items()
            ]
        return labels

    def _column(
        self, name: str, predicate: Predicate, observations: object, info: dict[str, Any]
    ) -> BoolArray:
        try:
            column = np.asarray(predicate(observations, info, self.batch), np.bool_)
        except Exception as error:
            raise DomainError(f"the predicate of '{name}' failed ({said(error)}).") from error
        if column.shape != (self.num_envs,):
            raise DomainError(
                f"the predicate of '{name}' returned the shape {column.shape} for a native batch; it"
                f" must return a bool for each of the {self.num_envs} worlds."
            )
        return column


def label_batch(
    batch: AnyBatch,
    propositions: Mapping[str, Predicate],
    constraints: Sequence[str] = (),
    observation_key: Key | None = None,
) -> LabelledBatch:
    """Return a batch with labels, as a domain's batch has them: see the module."""
    return LabelledBatch(batch, propositions, constraints, observation_key)


def _bare(envs: Sequence[Any]) -> list[Any]:
    return [None if env is None else env.unwrapped for env in envs]


def _info_of(info: dict[str, Any], index: int) -> dict[str, Any]:
    """Return what Gymnasium's batch says of one world: what its own `info` was."""
    mine: dict[str, Any] = {}
    for name, value in info.items():
        known = info.get(f"_{name}")
        if isinstance(value, dict):
            mine[name] = _info_of(value, index)
        elif not name.startswith("_") and (known is None or known[index]):
            mine[name] = value[index]
    return mine
