"""Labels on any batch: those of `gymnasium.make_vec`, and native ones that step as arrays.

Predicates are those of `label_env`. A batch of single environments (sync, async) has them called for
each world, with its part of the observations and of `info`, and with its environment; that is None
where the worlds are in processes of their own. A native batch has them called once for all worlds, with
arrays, and they return an array of bools: `observation[..., 0] > 1` does for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Tuple
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray
from skm_sim.batch_labels import AnyBatch
from skm_sim.faults import DomainError, said
from skm_sim.labelling import Predicate, truth_of
from skm_sim.observation_parts import Key, Parts


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
        self.batch = batch
        self.num_envs = batch.num_envs
        self.propositions, self.constraints = tuple(propositions), tuple(constraints)
        self._predicates = dict(propositions)
        self._parts = Parts(batch.single_observation_space, observation_key)
        self.single_observation_space = self._parts.space
        self.single_action_space = batch.single_action_space
        self.observation_space = batch_space(self._parts.space, batch.num_envs)
        self.action_space = batch.action_space
        self.metadata = batch.metadata
        self._native = not isinstance(batch.unwrapped, SyncVectorEnv | AsyncVectorEnv)
        nested = isinstance(batch.single_observation_space, Dict | Tuple)
        self._plain = observation_key is None and not nested

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes."""
        observations, info = self.batch.reset(seed=seed, options=options)
        return self._seen(observations), {**info, "labels": self._labels(observations, info)}

    def step(
        self,
        actions: Any,  # noqa: ANN401 - an array of any kind
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every world."""
        observations, rewards, ends, cuts, info = self.batch.step(actions)
        told = {**info, "labels": self._labels(observations, info)}
        return self._seen(observations), np.zeros_like(rewards), ends, cuts, told

    def close(self, **options: Any) -> None:  # noqa: ANN401 - those of the batch
        """Let the worlds go."""
        self.batch.close(**options)

    def _rows(self, observations: Any) -> list[Any]:  # noqa: ANN401
        return list(iterate(self.batch.observation_space, observations))

    def _seen(self, observations: Any) -> Any:  # noqa: ANN401
        if self._plain and self.observation_space == self.batch.observation_space:
            return observations
        return np.stack([self._parts.pick(row) for row in self._rows(observations)])

    def _labels(self, observations: Any, info: dict[str, Any]) -> BoolArray:  # noqa: ANN401
        if self._native:
            columns = [
                self._column(name, predicate, observations, info)
                for name, predicate in self._predicates.items()
            ]
            return np.stack(columns, axis=1)
        envs = getattr(self.batch.unwrapped, "envs", [None] * self.num_envs)
        return np.array(
            [
                [
                    truth_of(name, predicate, row, _info_of(info, index), env)
                    for name, predicate in self._predicates.items()
                ]
                for index, (row, env) in enumerate(
                    zip(self._rows(observations), _bare(envs), strict=True)
                )
            ],
            np.bool_,
        )

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
        told = info.get(f"_{name}")
        if isinstance(value, dict):
            mine[name] = _info_of(value, index)
        elif not name.startswith("_") and (told is None or told[index]):
            mine[name] = value[index]
    return mine
