"""Finite worlds as arrays, and Gymnasium environments over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, ByteArray, IntArray
from skm_sim.finite_world import FiniteWorld
from skm_sim.spec import DomainError, DomainSpec, name_problems
from skm_sim.vector import BatchEnv, checked_choices

# A finite deterministic world as arrays, for exact planners and fast learners.
#
# What the agent observes is a *cell*; the *state* behind it may hold more (such as how often the
# mail was fetched). One environment, a batch of them and a breadth-first search over the product
# with a reward machine all read the same arrays, so they cannot disagree.


@dataclass(frozen=True, eq=False)
class TabularModel:
    """States, deterministic transitions, and the labels of every state; arrays are read-only."""

    propositions: tuple[str, ...]
    """What can be true in it, by name."""
    constraints: tuple[str, ...]
    """The propositions that missions may want kept false on the way."""
    transitions: IntArray
    """`(states, actions)`: the state that each action leads to."""
    cells: IntArray
    """`(states,)`: the cell that is observed in each state."""
    labels: BoolArray
    """`(states, propositions)`: the labelling function."""
    start_states: IntArray
    """`(cells,)`: the state in which an episode that starts in a cell begins."""

    def __post_init__(self) -> None:
        problems = name_problems(self.propositions, self.constraints) + self._shape_problems()
        if problems:
            raise DomainError("tabular model: " + " ".join(problems))
        for array in (self.transitions, self.cells, self.labels, self.start_states):
            array.setflags(write=False)

    def _shape_problems(self) -> list[str]:
        """Return what does not fit together among the arrays, a sentence each."""
        if self.transitions.ndim != 2 or self.transitions.size == 0:
            return ["transitions must be an array (states, actions) with at least one of each."]
        states = len(self.transitions)
        problems = []
        if self.transitions.min() < 0 or self.transitions.max() >= states:
            problems.append(f"transitions must lead to states from 0 to {states - 1}.")
        if self.labels.shape != (states, len(self.propositions)) or self.labels.dtype != np.bool_:
            problems.append(f"labels must be bools of shape {(states, len(self.propositions))}.")
        if self.cells.shape != (states,):
            problems.append(f"cells must have shape {(states,)}.")
        starts = self.start_states
        if starts.ndim != 1 or starts.size == 0 or starts.min() < 0 or starts.max() >= states:
            problems.append("start_states must hold one state for every cell.")
        elif not problems and not np.array_equal(self.cells[starts], np.arange(len(starts))):
            problems.append("start_states[cell] must be a state in which that cell is observed.")
        elif not problems and (self.cells.min() < 0 or self.cells.max() >= len(starts)):
            problems.append("every cell must have a state in start_states.")
        return problems

    @property
    def num_states(self) -> int:
        """The number of states, what is hidden included."""
        return int(self.transitions.shape[0])

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return int(self.transitions.shape[1])

    @property
    def num_cells(self) -> int:
        """The number of cells, that is, of different observations."""
        return int(self.start_states.shape[0])

    @property
    def cell_transitions(self) -> IntArray:
        """`(cells, actions)`: the cell that each action leads to from a fresh start in a cell."""
        return self.cells[self.transitions[self.start_states]]

    @property
    def cell_labels(self) -> BoolArray:
        """`(cells, propositions)`: the labels of each cell at the start of an episode."""
        return self.labels[self.start_states]

    @cached_property
    def label_sets(self) -> tuple[frozenset[str], ...]:
        """The different label sets that states have; `label_ids` says which is whose."""
        return self._distinct_labels[0]

    @cached_property
    def label_ids(self) -> IntArray:
        """`(states,)`: the index in `label_sets` of the labels of each state."""
        return self._distinct_labels[1]

    @cached_property
    def _distinct_labels(self) -> tuple[tuple[frozenset[str], ...], IntArray]:
        rows, ids = np.unique(self.labels, axis=0, return_inverse=True)
        ids = ids.reshape(-1).astype(np.int64)
        ids.setflags(write=False)
        return tuple(self.label_set(row) for row in rows), ids

    @cached_property
    def world(self) -> FiniteWorld:
        """The world itself, hidden states and all: deterministic, without an end."""
        starts = dict(enumerate(self.start_states.tolist()))
        return FiniteWorld(self.transitions, self.label_sets, self.label_ids, state_of=starts)

    def label_set(self, row: BoolArray) -> frozenset[str]:
        """Return a row of bools over the propositions as a set of names."""
        return frozenset(
            name for name, true in zip(self.propositions, row.tolist(), strict=True) if true
        )


# Gymnasium environments over a `TabularModel`: one at a time, and a batch that steps as arrays.


class TabularEnv(gymnasium.Env[int, int]):
    """One agent in a tabular world. Rewards are 0 (they come from the reward machine).

    The observation is the cell. Episodes start in a cell drawn uniformly, or in the one given by
    `reset(options={"cell": index})`. An episode never terminates: missions decide when they end.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)
    """What Gymnasium asks for: there is no picture."""

    def __init__(self, model: TabularModel, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise DomainError(f"no render_mode '{render_mode}'{did_you_mean(render_mode, modes)}")
        self.render_mode = render_mode
        """As Gymnasium has it."""
        self.model = model
        """The table of what each action does."""
        self.propositions = model.propositions
        """What can be true in it, by name."""
        self.constraints = model.constraints
        """The propositions that missions may want kept false on the way."""
        self.observation_space = cast("Space[int]", Discrete(model.num_cells))
        """The cells, by number."""
        self.action_space = cast("Space[int]", Discrete(model.num_actions))
        """The actions, by number."""
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
        """The table of what each action does."""
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
        """Put the agents in `mask` in the cells given, or in cells drawn at random."""
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
            " attribute 'model' (docs/how-to/domains.md, \"A world as arrays\")."
        )
    return model


# A tabular world that draws itself: its picture, with the path of this episode.


class PathRenderer(Protocol):
    """Draws a world once, and then a path of cells over it as often as it is asked to."""

    def picture(self, path: Sequence[int]) -> ByteArray:
        """Return the world with the path, `(height, width, 3)` bytes."""
        ...


class DrawnTabularEnv(TabularEnv, ABC):
    """A `TabularEnv` with `render_mode="rgb_array"`; what draws it is made when first asked."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium declares it this way)
        "render_modes": ["rgb_array"],
        "render_fps": 10,
    }

    def __init__(self, model: TabularModel, render_mode: str | None = None) -> None:
        super().__init__(model, render_mode)
        self._path: list[int] = []
        self._renderer: PathRenderer | None = None

    @abstractmethod
    def _make_renderer(self) -> PathRenderer:
        """Return what draws this world (matplotlib is slow to import: do it here)."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode, and its path."""
        result = super().reset(seed=seed, options=options)
        self._path = [result[0]]
        return result

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Go to a neighbouring cell; where there is no way, the agent stays."""
        result = super().step(action)
        if self.render_mode is not None:
            self._path.append(result[0])
        return result

    def render(self) -> ByteArray | None:
        """Return the picture as `(height, width, 3)` bytes, or None without a render mode."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer = self._make_renderer()
        return self._renderer.picture(self._path)
