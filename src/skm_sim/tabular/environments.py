"""Gymnasium environments over a `TabularModel`: one at a time, and a batch that steps as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.batch_env import BatchEnv, checked_choices
from skm_sim.domain import DomainError, DomainSpec
from skm_sim.tabular.model import TabularModel


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


class TabularVectorEnv(BatchEnv[IntArray]):
    """A batch of agents in copies of one tabular world, stepping as arrays; see `BatchEnv`.

    `reset(options={"cell": index or indices})` says where they start.
    """

    def __init__(
        self, model: TabularModel, num_envs: int = 1, max_episode_steps: int | None = None
    ) -> None:
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(Discrete(model.num_cells), Discrete(model.num_actions)),
            names=(model.propositions, model.constraints),
        )
        self.model = model
        self._states = np.full(num_envs, model.start_states[0])

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

    def _observe(self) -> IntArray:
        cells: IntArray = self.model.cells[self._states]
        return cells

    def _checked(self, actions: ArrayLike) -> NDArray[Any]:
        return checked_choices(actions, self.num_envs, self.model.num_actions)

    def _advance(self, actions: NDArray[Any], going: BoolArray) -> None:  # noqa: ARG002
        self._states = self.model.transitions[self._states, actions]

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        """Put the agents in `mask` in the cells given, or in cells drawn by chance."""
        given = start_cells(options, self.model.num_cells, (self.num_envs,))
        if given is None:
            cells = self.np_random.integers(self.model.num_cells, size=np.count_nonzero(mask))
        else:
            cells = given[mask]
        self._states[mask] = self.model.start_states[cells]


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


def is_tabular(spec: DomainSpec) -> bool:
    """Tell whether a domain's environment has its world as arrays."""
    env = spec.make()
    env.close()
    return isinstance(getattr(env.unwrapped, "model", None), TabularModel)


def tabular_model(spec: DomainSpec) -> TabularModel:
    """Return the arrays of a tabular domain, which its environment has as its attribute `model`."""
    env = spec.make()
    model = getattr(env.unwrapped, "model", None)
    env.close()
    if not isinstance(model, TabularModel):
        raise DomainError(
            f"the environment of '{spec.name}' is not tabular: it has no TabularModel as its"
            " attribute 'model' (docs/domains.md, \"A world as arrays\")."
        )
    return model
