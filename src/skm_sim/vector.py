"""What every batch of skm has in common: time limits, resets in the step after, masks, labels.

Autoreset mode: `NEXT_STEP`, as Gymnasium's own batches. The step after `truncations[i]`, or after
`terminations[i]` where worlds can end, ignores action `i` and gives the first observation and labels of
a new episode. `reset(options={"reset_mask":
mask})` restarts those in `mask` at any time. `info["labels"]` is a bool array `(num_envs,
propositions)`. With `max_episode_steps=None` nothing is ever truncated.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from skm_sim.arrays import BoolArray
from skm_sim.spec import DomainError

Observed = TypeVar("Observed")


class BatchEnv(VectorEnv[Observed, Any, NDArray[Any]]):
    """A batch whose episodes are cut off by time; a domain says how worlds start, go on, and may end."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        max_episode_steps: int | None,
        *,
        spaces: tuple[Space[Any], Space[Any]],
        names: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> None:
        """`spaces` are those of one observation and one action, `names` propositions and constraints."""
        if num_envs < 1:
            raise DomainError(f"num_envs is {num_envs}, must be at least 1.")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise DomainError(f"max_episode_steps is {max_episode_steps}, must be None or >= 1.")
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.propositions, self.constraints = names
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space = batch_space(spaces[0], num_envs)
        self.action_space = batch_space(spaces[1], num_envs)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, np.bool_)

    @abstractmethod
    def labels(self) -> BoolArray:
        """Return what is true in the current states, `(num_envs, propositions)`."""

    @abstractmethod
    def _observe(self) -> Observed:
        """Return what is observed in the current states."""

    @abstractmethod
    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        """Start the worlds in `mask` anew: as the options say, or at random."""

    @abstractmethod
    def _checked(self, actions: ArrayLike) -> NDArray[Any]:
        """Return actions as an array, or say why they cannot be taken."""

    @abstractmethod
    def _advance(self, actions: NDArray[Any], going: BoolArray) -> None:
        """Step the worlds; those not in `going` start anew in any case."""

    def _over(self) -> BoolArray:
        """Return which worlds came to an end with the last step: none, unless a domain says so."""
        return np.zeros(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Start new episodes: all of them, or those in the bool array `options["reset_mask"]`."""
        super().reset(seed=seed)
        given = dict(options or {})
        mask = self._mask(given.pop("reset_mask", None))
        self._begin(mask, given)
        self._ended[mask] = False
        return self._observe(), {"labels": self.labels()}

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observed, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every world; one whose episode ended in the step before starts a new one instead."""
        self._advance(self._checked(actions), ~self._ended)
        self._elapsed += 1
        over = self._over() & ~self._ended
        if self._ended.any():
            self._begin(self._ended, {})
        limit = np.inf if self.max_episode_steps is None else self.max_episode_steps
        cut = self._elapsed >= limit
        self._ended = over | cut
        rewards = np.zeros(self.num_envs)
        return self._observe(), rewards, over, cut, {"labels": self.labels()}

    def _begin(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        self._start(mask, options)
        self._elapsed[mask] = 0

    def _mask(self, mask: object) -> BoolArray:
        """Return the worlds to reset: all, if there is no mask."""
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_:
            raise DomainError(f"options['reset_mask'] must be {self.num_envs} bools.")
        return array


def checked_choices(actions: ArrayLike, num_envs: int, choices: int) -> NDArray[Any]:
    """Return one of a few actions for each world, or say why they cannot be taken."""
    chosen = np.asarray(actions)
    if chosen.shape != (num_envs,) or chosen.dtype.kind not in "iu":
        raise DomainError(
            f"actions must be {num_envs} integers, got {chosen.dtype} {chosen.shape}."
        )
    if chosen.min() < 0 or chosen.max() >= choices:
        raise DomainError(f"actions must be from 0 to {choices - 1}.")
    return chosen
