"""A memory of whole rounds: features of every state, actions, labels, and steps to every goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, ByteArray, Float32Array, IntArray

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Past:
    """The whole rounds that transitions are from; `(n, …)` each."""

    slots: IntArray
    """`(n, steps + 1)`"""
    between: BoolArray
    """`(n, steps)`: steps from the end of an episode to the start of the next."""
    step: IntArray
    """Which step each transition is."""


@dataclass(frozen=True)
class Batch:
    """Transitions drawn from the memory; `(n, …)` each."""

    state: NDArray[Any]
    """Features: numbers, or the bytes of pictures."""
    next_state: NDArray[Any]
    action: NDArray[Any]
    slot: IntArray
    next_slot: IntArray
    steps_to_goals: ByteArray
    ended: BoolArray
    """Whether the world ended with this transition: nothing can be reached from there."""
    past: Past | None = None
    """Where no steps to goals are remembered, what they can be found from."""

    def __getitem__(self, rows: IntArray) -> Batch:
        past = self.past
        if past is not None:
            past = Past(past.slots[rows], past.between[rows], past.step[rows])
        return Batch(
            self.state[rows],
            self.next_state[rows],
            self.action[rows],
            self.slot[rows],
            self.next_slot[rows],
            self.steps_to_goals[rows],
            self.ended[rows],
            past,
        )


@dataclass(frozen=True)
class Episodes:
    """Whole rounds of single agents, drawn from the memory; `(n, …)` each."""

    states: NDArray[Any]
    """`(n, steps + 1, inputs)`"""
    action: NDArray[Any]
    slots: IntArray
    """`(n, steps + 1)`"""
    ended: BoolArray
    between: BoolArray


class ReplayBuffer:
    """A ring of rounds. A round is an episode of every agent, so states lie side by side in it.

    Features that are numbers are kept in half precision, which halves the memory and the file to resume
    from; with three decimals of a lidar reading they are as precise as the labels need.
    """

    def __init__(
        self,
        rounds: int,
        steps: int,
        agents: int,
        features: NDArray[Any],
        action: NDArray[Any],
        goals: int,
    ) -> None:
        shape = (rounds, steps, agents)
        self._states = np.zeros((rounds, steps + 1, agents, *features.shape), features.dtype)
        self._actions = np.zeros((*shape, *action.shape), action.dtype)
        self._slots = np.zeros((rounds, steps + 1, agents), np.uint16)
        self._ended = np.zeros(shape, np.bool_)
        self._between = np.zeros(shape, np.bool_)
        """Steps that lead from the end of an episode to the start of the next: no transitions."""
        self._steps_to_goals = np.zeros((*shape, goals), np.uint8)
        self.stored = 0
        """Rounds put in so far; the oldest are overwritten."""

    @property
    def filled(self) -> int:
        """How many rounds are there to draw from."""
        return min(self.stored, len(self._states))

    def add(
        self,
        states: Float32Array,
        actions: NDArray[Any],
        slots: IntArray,
        steps_to_goals: ByteArray,
        ended: BoolArray,
        between: BoolArray,
    ) -> None:
        """Put a round in, in place of the oldest if there is no more room."""
        index = self.stored % len(self._states)
        self._states[index] = states
        self._actions[index] = actions
        self._slots[index] = slots
        self._steps_to_goals[index] = steps_to_goals.reshape(self._steps_to_goals.shape[1:])
        self._ended[index], self._between[index] = ended, between
        self.stored += 1

    def grow(self, goals: int) -> None:
        """Make room for more goals, which were not achieved before."""
        more = goals - self._steps_to_goals.shape[-1]
        self._steps_to_goals = np.pad(self._steps_to_goals, [(0, 0)] * 3 + [(0, more)])

    def sample(self, random: np.random.Generator, count: int) -> Batch:
        """Draw transitions uniformly."""
        _, steps, agents = self._actions.shape[:3]
        row = random.integers(self.filled, size=count)
        step = random.integers(steps, size=count)
        agent = random.integers(agents, size=count)
        while (bad := np.flatnonzero(self._between[row, step, agent])).size:
            row[bad] = random.integers(self.filled, size=bad.size)
            step[bad] = random.integers(steps, size=bad.size)
            agent[bad] = random.integers(agents, size=bad.size)
        return Batch(
            self._drawn(self._states[row, step, agent]),
            self._drawn(self._states[row, step + 1, agent]),
            self._actions[row, step, agent],
            self._slots[row, step, agent].astype(np.int64),
            self._slots[row, step + 1, agent].astype(np.int64),
            self._steps_to_goals[row, step, agent],
            self._ended[row, step, agent],
            None if self._steps_to_goals.shape[-1] else self._past(row, step, agent),
        )

    def episodes(self, random: np.random.Generator, count: int) -> Episodes:
        """Draw whole rounds of single agents uniformly."""
        row = random.integers(self.filled, size=count)
        agent = random.integers(self._actions.shape[2], size=count)
        return Episodes(
            self._drawn(self._states[row, :, agent]),
            self._actions[row, :, agent],
            self._slots[row, :, agent].astype(np.int64),
            self._ended[row, :, agent],
            self._between[row, :, agent],
        )

    def _past(self, row: IntArray, step: IntArray, agent: IntArray) -> Past:
        slots = self._slots[row, :, agent].astype(np.int64)
        return Past(slots, self._between[row, :, agent], step)

    @staticmethod
    def _drawn(states: NDArray[Any]) -> NDArray[Any]:
        """Return numbers in single precision, and bytes as they are."""
        return states if states.dtype == np.uint8 else states.astype(np.float32)

    def arrays(self) -> Arrays:
        """Return what is stored, for a checkpoint."""
        return {
            "replay/states": self._states[: self.filled],
            "replay/actions": self._actions[: self.filled],
            "replay/slots": self._slots[: self.filled],
            "replay/steps_to_goals": self._steps_to_goals[: self.filled],
            "replay/ended": self._ended[: self.filled],
            "replay/between": self._between[: self.filled],
            "replay/stored": np.array(self.stored),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take back what `arrays` gave."""
        self.stored = int(arrays["replay/stored"])
        for name in ("states", "actions", "slots", "steps_to_goals", "ended", "between"):
            if (stored := arrays.get(f"replay/{name}")) is not None:  # Old runs have no ends.
                getattr(self, f"_{name}")[: self.filled] = stored
