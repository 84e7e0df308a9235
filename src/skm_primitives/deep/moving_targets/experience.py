"""Where the learner from pixels gets its transitions: sweeps of boards, or a replay memory.

Both keep states, eight bytes each; frames are made only when a batch is learned from.

- A *sweep* uses the simulator's ability to be set to any state: random boards, the agent on each of
  their free cells in turn, all four actions. It is experience that no agent could gather in one life,
  and it is counted as what it is: every action is one environment step.
- A *replay memory* holds what agents lived through, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import IntArray
from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import (
    AGENT,
    COLLECTED,
    KINDS,
    MOVES,
    NOTHING,
    NUM_CELLS,
    OBJECTS,
    TRANSITIONS,
    States,
)

Arrays = dict[str, NDArray[Any]]

SWEEP_CELLS = NUM_CELLS - len(KINDS)
"""Cells of a board on which the agent can be: those without an object."""
SWEEP_STEPS = SWEEP_CELLS * len(MOVES)
"""Environment steps in the sweep of one board."""


@dataclass(frozen=True)
class BoardSteps:
    """A batch: from each of n states, k actions."""

    states: States
    """`(n, 8)`."""
    actions: IntArray
    """`(n, k)`."""
    next_states: States
    """`(m, 8)`: all the states arrived at; several transitions may share one."""
    arrival: IntArray
    """`(n, k)`: which of them each action led to."""
    own: IntArray | None = None
    """`(n,)`: where the states themselves are among `next_states`, if they all are: the batch is
    then closed but for what objects that were collected lead to."""
    collecting: IntArray | None = None
    """`(n, kinds)`: of each state, where the one is that collecting each kind next leads to."""

    @property
    def closed(self) -> bool:
        """Whether all that can follow is in the batch, until something is collected."""
        return self.own is not None

    @property
    def touched(self) -> IntArray:
        """`(n, k)`: the kind that each action collected, or `NOTHING`."""
        kinds: IntArray = self.next_states[self.arrival, COLLECTED].astype(np.int64)
        return kinds


def sweep(random: np.random.Generator, boards: int) -> BoardSteps:
    """Draw boards; return all transitions from all cells of each."""
    base = np.repeat(board.sample(random, boards)[:, None], NUM_CELLS, axis=1)
    base[:, :, AGENT] = np.arange(NUM_CELLS)
    states = base.reshape(-1, base.shape[-1])
    # A state with the agent on an object stands for having just collected it: it respawns.
    after = board.collect(states, random)
    free = np.flatnonzero(after[:, COLLECTED] == NOTHING)
    first_row = (free - states[free, AGENT])[:, None]
    actions = np.broadcast_to(np.arange(len(MOVES)), (len(free), len(MOVES)))
    arrival = first_row + TRANSITIONS[states[free, AGENT]]
    return BoardSteps(
        states[free], actions, after, arrival, free, first_row + states[free, OBJECTS]
    )


class StateReplay:
    """A ring of the latest transitions: state, action, next state."""

    def __init__(self, capacity: int) -> None:
        self._states = np.zeros((capacity, board.STATE_BYTES), np.uint8)
        self._actions = np.zeros(capacity, np.uint8)
        self._next = np.zeros((capacity, board.STATE_BYTES), np.uint8)
        self.stored = 0

    @property
    def filled(self) -> int:
        """How many transitions there are to draw from."""
        return min(self.stored, len(self._actions))

    def add(self, states: States, actions: IntArray, next_states: States) -> None:
        """Put transitions in, in place of the oldest if there is no more room."""
        rows = (self.stored + np.arange(len(states))) % len(self._actions)
        self._states[rows], self._actions[rows], self._next[rows] = states, actions, next_states
        self.stored += len(states)

    def sample(self, random: np.random.Generator, count: int) -> BoardSteps:
        """Draw transitions uniformly."""
        rows = random.integers(self.filled, size=count)
        return BoardSteps(
            self._states[rows],
            self._actions[rows].astype(np.int64)[:, None],
            self._next[rows],
            np.arange(count)[:, None],
        )

    def arrays(self) -> Arrays:
        """Return what is stored, for a checkpoint."""
        return {
            "replay/states": self._states[: self.filled],
            "replay/actions": self._actions[: self.filled],
            "replay/next": self._next[: self.filled],
            "replay/stored": np.array(self.stored),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take back what `arrays` gave."""
        self.stored = int(arrays["replay/stored"])
        for name in ("states", "actions", "next"):
            getattr(self, f"_{name}")[: self.filled] = arrays[f"replay/{name}"]
