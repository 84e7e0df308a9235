"""Gymnasium environments over a `TabularModel`: one at a time, and a batch that steps as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.domain import DomainError
from skm_sim.tabular.model import BoolArray, IntArray, TabularModel


class TabularEnv(gymnasium.Env[int, int]):
    """One agent in a tabular world. Rewards are 0 (they come from the reward machine).

    The observation is the cell. Episodes start in a cell drawn uniformly, or in the one given by
    `reset(options={"cell": index})`. An episode never terminates: missions decide when they end.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, model: TabularModel, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise DomainError(f"no render_mode '{render_mode}'{did_you_mean(render_mode, modes)}")
        self.render_mode = render_mode
        self.model = model
        self.propositions = model.propositions
        self.constraints = model.constraints
        self.observation_space = cast("Space[int]", Discrete(model.num_cells))
        self.action_space = cast("Space[int]", Discrete(model.num_actions))
        # Lists, since reading one element of an array costs several times as much.
        self._transitions: list[list[int]] = model.transitions.tolist()
        self._cells: list[int] = model.cells.tolist()
        self._label_ids: list[int] = model.label_ids.tolist()
        self._state = int(model.start_states[0])

    @property
    def state_index(self) -> int:
        """The current state, as an index into the arrays of `model`."""
        return self._state

    @state_index.setter
    def state_index(self, index: int) -> None:
        if not 0 <= index < self.model.num_states:
            raise DomainError(f"state {index} is not from 0 to {self.model.num_states - 1}.")
        self._state = int(index)

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        return self.model.label_sets[self._label_ids[self._state]]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode in a uniformly drawn cell, or in `options["cell"]`."""
        super().reset(seed=seed)
        given = start_cells(options or {}, self.model.num_cells, ())
        cell = self.np_random.integers(self.model.num_cells) if given is None else given
        self._state = int(self.model.start_states[cell])
        return self._cells[self._state], {"labels": self.labels()}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take one step; the labels in `info` are those of the state that it leads to."""
        if not 0 <= action < self.model.num_actions:
            raise DomainError(f"action {action} is not from 0 to {self.model.num_actions - 1}.")
        self._state = self._transitions[self._state][action]
        return self._cells[self._state], 0.0, False, False, {"labels": self.labels()}


class TabularVectorEnv(VectorEnv[IntArray, IntArray, NDArray[Any]]):
    """A batch of agents in copies of one tabular world, stepping as arrays.

    Autoreset mode: `NEXT_STEP`, as Gymnasium's own batches. The step after `truncations[i]`
    ignores action `i`, resets that agent and gives its first observation and labels.
    `reset(options={"reset_mask": mask})` restarts the agents in `mask` at any time, which is how a
    learner ends episodes on the terminate action; `options={"cell": index or indices}` says where.
    `info["labels"]` is a bool array `(num_envs, propositions)`. With `max_episode_steps=None`
    nothing is ever truncated.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, model: TabularModel, num_envs: int = 1, max_episode_steps: int | None = None
    ) -> None:
        if num_envs < 1:
            raise DomainError(f"num_envs is {num_envs}, must be at least 1.")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise DomainError(f"max_episode_steps is {max_episode_steps}, must be None or >= 1.")
        self.model = model
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.propositions = model.propositions
        self.constraints = model.constraints
        self.single_observation_space = Discrete(model.num_cells)
        self.single_action_space = Discrete(model.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._states = np.full(num_envs, model.start_states[0])
        self._elapsed = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, np.bool_)

    @property
    def state_indices(self) -> IntArray:
        """The current states, as indices into the arrays of `model` (a copy)."""
        return self._states.copy()

    @state_indices.setter
    def state_indices(self, indices: ArrayLike) -> None:
        states = np.broadcast_to(np.asarray(indices, np.int64), (self.num_envs,))
        if states.min() < 0 or states.max() >= self.model.num_states:
            raise DomainError(f"states must be from 0 to {self.model.num_states - 1}.")
        self._states = states.copy()

    def labels(self) -> BoolArray:
        """Return what is true in the current states, `(num_envs, propositions)`."""
        labels: BoolArray = self.model.labels[self._states]
        return labels

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[IntArray, dict[str, Any]]:
        """Start new episodes: all of them, or those in the bool array `options["reset_mask"]`."""
        super().reset(seed=seed)
        given = dict(options or {})
        mask = self._mask(given.pop("reset_mask", None))
        cells = start_cells(given, self.model.num_cells, (self.num_envs,))
        self._start(mask, None if cells is None else cells[mask])
        self._ended[mask] = False
        return self.model.cells[self._states], {"labels": self.labels()}

    def step(
        self, actions: ArrayLike
    ) -> tuple[IntArray, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every agent; one whose episode ended in the step before starts a new one instead."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise DomainError(
                f"actions must be {self.num_envs} integers, got {chosen.dtype} {chosen.shape}."
            )
        if chosen.min() < 0 or chosen.max() >= self.model.num_actions:
            raise DomainError(f"actions must be from 0 to {self.model.num_actions - 1}.")
        ended = self._ended
        self._states = self.model.transitions[self._states, chosen]
        self._elapsed += 1
        if ended.any():
            self._start(ended, None)
        if self.max_episode_steps is None:
            self._ended = np.zeros(self.num_envs, np.bool_)
        else:
            self._ended = self._elapsed >= self.max_episode_steps
        return (
            self.model.cells[self._states],
            np.zeros(self.num_envs),
            np.zeros(self.num_envs, np.bool_),
            self._ended.copy(),
            {"labels": self.labels()},
        )

    def _start(self, mask: BoolArray, cells: IntArray | None) -> None:
        """Put the agents in `mask` at the start of an episode, in `cells` or by chance."""
        if cells is None:
            cells = self.np_random.integers(self.model.num_cells, size=np.count_nonzero(mask))
        self._states[mask] = self.model.start_states[cells]
        self._elapsed[mask] = 0

    def _mask(self, mask: object) -> BoolArray:
        """Return the agents to reset: all, if there is no mask."""
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_:
            raise DomainError(f"options['reset_mask'] must be {self.num_envs} bools.")
        return array


def start_cells(
    options: Mapping[str, Any], num_cells: int, shape: tuple[int, ...]
) -> IntArray | None:
    """Return `options["cell"]` as an array of `shape`, or None if chance is to decide."""
    for key in options:
        if key != "cell":
            raise DomainError(f"unknown reset option '{key}'{did_you_mean(key, ['cell'])}")
    if "cell" not in options:
        return None
    cells = np.asarray(options["cell"])
    if cells.dtype.kind not in "iu" or cells.shape not in ((), shape):
        raise DomainError(f"reset option 'cell' must be a cell index, got {options['cell']!r}.")
    if cells.min() < 0 or cells.max() >= num_cells:
        raise DomainError(
            f"reset option 'cell' is {options['cell']!r}, must be from 0 to {num_cells - 1}."
        )
    return np.broadcast_to(cells.astype(np.int64), shape)
