"""Labels of Gymnasium's own batches: the sets that single environments tell, as one Boolean array."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray
from skm_sim.faults import DomainError

AnyBatch: TypeAlias = VectorEnv[Any, Any, Any]


class GatheredLabels(VectorWrapper):
    """A batch of single environments whose `info["labels"]` is a bool array, as native ones have it."""

    def __init__(self, env: AnyBatch, propositions: tuple[str, ...]) -> None:
        super().__init__(env)
        self.propositions = propositions
        self._columns = {name: index for index, name in enumerate(propositions)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes."""
        observations, info = self.env.reset(seed=seed, options=options)
        return observations, {**info, "labels": self._gathered(info)}

    def step(
        self,
        actions: Any,  # noqa: ANN401 - an array of any kind
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every environment."""
        observations, rewards, ends, cuts, info = self.env.step(actions)
        return observations, rewards, ends, cuts, {**info, "labels": self._gathered(info)}

    def _gathered(self, info: dict[str, Any]) -> BoolArray:
        rows = info.get("labels")
        labels = np.zeros((self.num_envs, len(self._columns)), np.bool_)
        if rows is None or len(rows) != self.num_envs:
            raise DomainError("the environments of the batch tell no info['labels'].")
        for row, names in zip(labels, rows, strict=True):
            if not isinstance(names, frozenset):
                raise DomainError(f"info['labels'] is {names!r}, no frozenset of propositions.")
            for name in names:
                if name not in self._columns:
                    raise DomainError(f"the label '{name}' is none of the propositions.")
                row[self._columns[name]] = True
        return labels


def with_label_arrays(batch: AnyBatch, propositions: tuple[str, ...]) -> AnyBatch:
    """Return a batch with labels as arrays; a native one has them already."""
    own = isinstance(batch.unwrapped, SyncVectorEnv | AsyncVectorEnv)
    return GatheredLabels(batch, propositions) if own else batch
