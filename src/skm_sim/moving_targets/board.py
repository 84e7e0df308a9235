"""The logic of Moving Targets on arrays: a batch of boards is an array of bytes, a step is a lookup.

A state is `STATE_BYTES` bytes: the cell of the agent, the cells of the six objects, and the kind
that the last step collected (`NOTHING`, if none), since labels hold in the step that collects only.
Cells are numbered over the free cells, row by row. Everything here takes and returns `(n, 8)` arrays.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, ByteArray, IntArray
from skm_sim.moving_targets.spec import COLOURS, PROPOSITIONS, SHAPES

States: TypeAlias = ByteArray
"""`(n, 8)`."""

BOARD = tuple(
    """
##########
#........#
#........#
#..##....#
#.....#..#
#.....#..#
#..##....#
#........#
#........#
##########
""".strip().splitlines()
)
"""10 × 10 cells, 58 of them free. The paper gives the counts, not the walls; these are our own: a
closed outer wall and three blocks of two. Every free cell has at least two free neighbours, and all
but the corners three, so that hardly ever an object can be reached only through another one. The
agent never crosses the edge; the *view* wraps around (`skm_sim.moving_targets.view`)."""

SIZE = len(BOARD)
KINDS = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)
"""The six objects, one of each kind."""
_GONE = 255
NOTHING = len(KINDS)
"""Stands for "no object" where a kind is expected."""
AGENT, OBJECTS, COLLECTED = 0, slice(1, 1 + len(KINDS)), 1 + len(KINDS)
"""Columns of a state."""
STATE_BYTES = 2 + len(KINDS)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Actions: 0 up, 1 right, 2 down, 3 left."""

POSITIONS: IntArray = np.argwhere(np.array([list(row) for row in BOARD]) == ".")
"""`(58, 2)`: row and column of each free cell."""
NUM_CELLS = len(POSITIONS)
LABELS: BoolArray = np.array(
    [[name in kind for name in PROPOSITIONS] for kind in KINDS] + [[False] * len(PROPOSITIONS)]
)
"""`(7, 5)`: the labels of collecting each kind, and of collecting nothing."""


def _transitions() -> States:
    """Return `(58, 4)`: where each action leads from each cell; a wall keeps the agent in place."""
    cell_at = {(row, column): cell for cell, (row, column) in enumerate(POSITIONS.tolist())}
    return np.array(
        [
            [cell_at.get((row + down, column + right), cell) for down, right in MOVES]
            for cell, (row, column) in enumerate(POSITIONS.tolist())
        ],
        np.uint8,
    )


TRANSITIONS = _transitions()


def sample(rng: np.random.Generator, count: int) -> States:
    """Return random boards: agent and objects on different cells, uniformly."""
    states = np.full((count, STATE_BYTES), NOTHING, np.uint8)
    for column in range(COLLECTED):
        draws = rng.integers(NUM_CELLS - column, size=count)
        states[:, column] = _skip(draws, states[:, :column])
    return states


def step(states: States, actions: NDArray[np.integer], rng: np.random.Generator) -> States:
    """Move the agents. One that steps on an object collects it, and the object respawns at once."""
    after = states.copy()
    after[:, AGENT] = TRANSITIONS[states[:, AGENT], actions]
    return collect(after, rng)


def collect(states: States, rng: np.random.Generator) -> States:
    """Return the states after agents that stand on an object have collected it.

    It respawns uniformly on the free cells that hold neither the agent nor another object. Chance is
    drawn only where something is collected.
    """
    after = states.copy()
    after[:, COLLECTED] = NOTHING
    where, kind = np.nonzero(after[:, OBJECTS] == after[:, :1])
    if len(where):
        after[where, COLLECTED] = kind
        others = after[where, :COLLECTED]
        others[np.arange(len(where)), 1 + kind] = _GONE  # it was under the agent: counted once
        draws = rng.integers(NUM_CELLS - len(KINDS), size=len(where))
        after[where, 1 + kind] = _skip(draws, others)
    return after


def labels(states: States) -> BoolArray:
    """Return what is true in each state, `(n, propositions)`."""
    truth: BoolArray = LABELS[states[:, COLLECTED]]
    return truth


def _skip(draws: IntArray, occupied: States) -> IntArray:
    """Turn the k-th free cell into its number, by stepping over the occupied ones (`_GONE` is none)."""
    cells = draws.copy()
    for column in np.sort(occupied, axis=1).T:
        cells += cells >= column  # sorted, so that each step over one may meet the next
    return cells
