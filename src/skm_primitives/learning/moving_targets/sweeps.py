"""Where the learner from pixels gets its experience: sweeps of boards, or a replay memory.

Both keep states, eight bytes each; frames are made only when a batch is learned from.

- A *sweep* uses the simulator's ability to be set to any state: random boards, the agent on each of
  their free cells in turn, all four actions. It is experience that no agent could gather in one life,
  and it is counted as what it is: every action is one environment step. It is an `ExperienceGraph`, as
  whole episodes are, in which every action was tried until something is collected.
- A *replay memory* holds what agents lived through, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.learning.graph_backup import ExperienceGraph
from skm_primitives.skills.moving_targets import PixelGoals
from skm_sim.arrays import IntArray
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import (
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

SWEEP_CELLS = NUM_CELLS - len(KINDS)
"""Cells of a board on which the agent can be: those without an object."""
SWEEP_STEPS = SWEEP_CELLS * len(MOVES)
"""Environment steps in the sweep of one board."""


def sweep(random: np.random.Generator, boards: int, goals: PixelGoals) -> ExperienceGraph:
    """Draw boards; return all transitions from all cells of each, those of one cell side by side.

    A state with the agent on an object stands for having just collected it: it is left by no step.
    """
    base = np.repeat(board.sample(random, boards)[:, None], NUM_CELLS, axis=1)
    base[:, :, AGENT] = np.arange(NUM_CELLS)
    states = base.reshape(-1, base.shape[-1])
    after = board.collect(states, random)
    free = np.flatnonzero(after[:, COLLECTED] == NOTHING)
    first_row = (free - states[free, AGENT])[:, None]
    target = (first_row + TRANSITIONS[states[free, AGENT]]).ravel()
    collected = after[target, COLLECTED]
    objects = (first_row + states[free, OBJECTS]).ravel()
    kinds = np.tile(np.arange(len(KINDS)), len(free))
    return ExperienceGraph(
        after,
        np.repeat(free, len(MOVES)),
        np.tile(np.arange(len(MOVES)), len(free)),
        target,
        goals.achieved[collected],
        goals.alive[collected],
        np.stack([np.repeat(free, len(KINDS)), kinds, objects], axis=1),
    )


@dataclass(frozen=True)
class BoardSteps:
    """A batch of n transitions."""

    states: States
    """`(n, 8)`."""
    actions: IntArray
    next_states: States

    @property
    def touched(self) -> IntArray:
        """`(n,)`: the kind that each action collected, or `NOTHING`."""
        kinds: IntArray = self.next_states[:, COLLECTED].astype(np.int64)
        return kinds


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
        actions = self._actions[rows].astype(np.int64)
        return BoardSteps(self._states[rows], actions, self._next[rows])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is stored, for a checkpoint."""
        return {
            "replay/states": self._states[: self.filled],
            "replay/actions": self._actions[: self.filled],
            "replay/next": self._next[: self.filled],
            "replay/stored": np.array(self.stored),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave."""
        self.stored = int(arrays["replay/stored"])
        for name in ("states", "actions", "next"):
            getattr(self, f"_{name}")[: self.filled] = arrays[f"replay/{name}"]
