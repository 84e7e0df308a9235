"""A finite deterministic world as arrays, for exact planners and fast learners.

What the agent observes is a *cell*; the *state* behind it may hold more (such as how often
the mail was fetched). One environment, a batch of them and a breadth-first search over the product
with a reward machine all read the same arrays, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skm_sim.arrays import BoolArray, IntArray
from skm_sim.domain import DomainError, name_problems


@dataclass(frozen=True, eq=False)
class TabularModel:
    """States, deterministic transitions, and the labels of every state; arrays are read-only."""

    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
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

    def label_set(self, row: BoolArray) -> frozenset[str]:
        """Return a row of bools over the propositions as a set of names."""
        return frozenset(
            name for name, true in zip(self.propositions, row.tolist(), strict=True) if true
        )
