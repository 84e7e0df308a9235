"""The tables of the tabular learner: Q_MAX for all goals at once, and its updates.

Q_MAX(⟨s,c⟩, g, ⟨a,a_τ⟩) is kept in a compact form that loses nothing.

- A goal is a *target* (a place; or a label set, if places are not told apart) with a wanted history
  v, and the agent has a history c. What c is never changes how the world moves, so one transition
  teaches every pair (c, v) at once, as Algorithm 1 already does for every goal.
- Stopping (a_τ = 1) ends at the target of s' with history c as it was *before* the step
  (Definition 3.1). Its value is the chance of that target, for all goals with v = c, and 0 for all
  others. It does not bootstrap, so the mean over the visits is the right estimate.
- Moving (a_τ = 0) is worth γ max Q_MAX(⟨s',c'⟩, g, ·), c' = c ∪ ((l̂ ⊕ l̂') ∩ C).

Q_MIN, the same table for r_max = r_min, is not kept: with r_min = 0 each of its targets is
`0` or `0 + γ·0`, so it is 0 everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives.checkpoint import expect_shape
from skm_primitives.histories import Histories
from skm_sim.arrays import BoolArray, Float32Array, IntArray

MEMORY_LIMIT = 4 << 30
"""Bytes that the tables may take."""


class StepBatch(NamedTuple):
    """One transition of each agent of a batch."""

    state: IntArray
    action: IntArray
    target: IntArray
    """What was achieved by arriving."""
    next_state: IntArray
    """The state arrived at; the number of states, if the world ended there."""
    changed: IntArray
    """The constraints that changed on the way, as bits: (l̂ ⊕ l̂') ∩ C."""


class Tables:
    """Q_MAX over states, actions, history pairs and targets, and the latest transitions."""

    def __init__(
        self, states: int, actions: int, histories: Histories, targets: int, gamma: float
    ) -> None:
        self.histories = histories
        self.discount = gamma
        self._gamma = np.float32(gamma)
        pairs = histories.lost
        _check_memory(states, actions, pairs, targets)
        self.move: Float32Array = np.zeros((states, actions, pairs, targets), np.float32)
        """Value of ⟨a, 0⟩, for each pair and target."""
        self.arrivals = np.zeros((states, actions, targets), np.int32)
        """How often each action led to each target."""
        self.stop: Float32Array = np.zeros((states, actions, targets), np.float32)
        """Value of ⟨a, 1⟩ where the history is fulfilled: the mean of the arrivals."""
        self.best: Float32Array = np.zeros((states + 1, pairs + 1, targets), np.float32)
        """Value of the best ⟨a, a_τ⟩. The last state and the last pair are 0 forever: a state after
        the end, and a history that is lost."""
        self.next_state: IntArray = np.full((states, actions), states)
        """Where each action led the last time; `states` if it was never tried or if it ends."""
        self.changed: IntArray = np.zeros((states, actions), np.int64)
        """Which constraints changed then."""
        self.ended: IntArray = np.zeros(states, np.int64)
        """How often the world ended on arriving in each state."""
        self.slipped = False
        """Whether some action led to more than one target."""

    def ends(self) -> BoolArray:
        """Return in which states the world ended at every arrival, where targets are places."""
        ends: BoolArray = np.logical_and(
            self.ended > 0, self.ended == self.arrivals.sum(axis=(0, 1), dtype=np.int64)
        )
        return ends

    def update(self, batch: StepBatch, alpha: float) -> None:
        """Learn from a batch of transitions, for all goals and histories (Algorithm 1)."""
        state, action, target, next_state, changed = batch
        np.add.at(self.arrivals, (state, action, target), 1)
        seen = self.arrivals[state, action]
        total = seen.sum(axis=1, keepdims=True, dtype=np.float32)
        self.slipped = self.slipped or bool(
            (seen[np.arange(len(state)), target] < total[:, 0]).any()
        )
        self.stop[state, action] = seen / total
        goal = self.best[next_state[:, None], self.histories.successor[changed]]
        goal *= self._gamma
        if alpha != 1:
            old = self.move[state, action]
            goal = old + np.float32(alpha) * (goal - old)
        self.move[state, action] = goal
        self.next_state[state, action] = next_state
        self.changed[state, action] = changed
        self.refresh(state)

    def replay(self) -> None:
        """Repeat the full backup of the latest transition of every state and action."""
        self.move = self.replayed()
        self.refresh(slice(len(self.move)))

    def replayed(self) -> Float32Array:
        """Return what `move` is after one full backup of every remembered transition."""
        rows = self.next_state[:, :, None], self.histories.successor[self.changed]
        replayed: Float32Array = self.best[rows]
        replayed *= self._gamma
        return replayed

    def refresh(self, state: IntArray | slice) -> None:
        """Bring the best values of these states in line with `move` and `stop`."""
        best = self.move[state].max(axis=1)
        stop = self.stop[state].max(axis=1)
        fulfilled = self.histories.fulfilled
        best[:, fulfilled] = np.maximum(best[:, fulfilled], stop[:, None])
        self.best[state, :-1] = best

    def action_values(
        self, state: IntArray, violated: IntArray, wanted: IntArray, target: IntArray
    ) -> Float32Array:
        """Return max over a_τ of Q_MAX(⟨s,c⟩, g, ⟨a,a_τ⟩) for a batch: `(batch, actions)`.

        The wanted history must include the violated set.
        """
        values: Float32Array = self.move[state, :, self.histories.pair[violated, wanted], target]
        stop = self.stop[state, :, target]
        return np.where((violated == wanted)[:, None], np.maximum(values, stop), values)

    def grow(self, targets: int) -> None:
        """Make room for more targets."""
        more = targets - self.move.shape[-1]
        if more > 0:
            states, actions, pairs, _ = self.move.shape
            _check_memory(states, actions, pairs, targets)
            for name in ("move", "arrivals", "stop", "best"):
                array = getattr(self, name)
                setattr(self, name, np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, more)]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what must be stored to restore these tables bit for bit."""
        where = np.nonzero(self.arrivals)
        return {
            "move": self.move,
            "arrivals": np.stack([*where, self.arrivals[where]], axis=1).astype(np.int32),
            "next_state": self.next_state.astype(np.int32),
            "changed": self.changed.astype(np.int32),
            **({"ended": self.ended.astype(np.int32)} if self.ended.any() else {}),
        }

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]], histories: Histories, gamma: float) -> Tables:
        """Return the tables that were stored."""
        expect_shape("move", arrays["move"], (None, None, histories.lost, None))
        states, actions, _, targets = arrays["move"].shape
        for name in ("next_state", "changed"):
            expect_shape(name, arrays[name], (states, actions))
        expect_shape("arrivals", arrays["arrivals"], (None, 4))
        tables = cls(states, actions, histories, targets, gamma)
        tables.move[:] = arrays["move"]
        state, action, target, count = arrays["arrivals"].T
        tables.arrivals[state, action, target] = count
        total = tables.arrivals.sum(axis=2, keepdims=True, dtype=np.float32)
        np.divide(tables.arrivals, total, out=tables.stop, where=total > 0, casting="same_kind")
        tables.slipped = bool(((tables.arrivals > 0).sum(axis=2) > 1).any())
        tables.next_state[:] = arrays["next_state"]
        tables.changed[:] = arrays["changed"]
        if "ended" in arrays:  # not in checkpoints of worlds without an end, nor in old ones
            expect_shape("ended", arrays["ended"], (states,))
            tables.ended[:] = arrays["ended"]
        tables.refresh(np.arange(states))
        return tables


def _check_memory(states: int, actions: int, pairs: int, targets: int) -> None:
    """Refuse tables that do not fit, before the machine does."""
    needed = 4 * states * actions * pairs * targets
    if needed > MEMORY_LIMIT:
        raise SkmError(
            f"the table of {states} states x {actions} actions x {pairs} constraint histories x"
            f" {targets} targets takes {needed / 2**30:.1f} GiB, above the limit of"
            f" {MEMORY_LIMIT >> 30} GiB; use fewer constraints, or leave out places (--no-places)."
        )
