"""A memory of single steps in pursuit of one task: one episode after the other, the oldest forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import BoolArray, Float32Array, IntArray

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class TaskBatch:
    """Steps drawn from the memory; `(n, …)` each."""

    inputs: Float32Array
    state: IntArray
    """Of the machine."""
    choices: BoolArray
    """`(n, choices)`: those that would have taken the action that was taken."""
    reward: Float32Array
    earned: Float32Array
    """What was earned from this step on, discounted."""
    moved: BoolArray
    """Whether the machine moved with this step."""
    over: BoolArray
    """Whether the mission, or the world, ended with this step."""
    next_inputs: Float32Array
    next_state: IntArray


class TaskMemory:
    """A ring of steps. What follows a step lies behind it, but for the last one of an episode."""

    def __init__(self, size: int, inputs: int, choices: int) -> None:
        self._inputs = np.zeros((size, inputs), np.float16)
        self._states = np.zeros(size, np.int64)
        self._choices = np.zeros((size, choices), np.bool_)
        self._rewards = np.zeros(size, np.float32)
        self._earned = np.zeros(size, np.float32)
        self._moved = np.zeros(size, np.bool_)
        self._over = np.zeros(size, np.bool_)
        self._usable = np.zeros(size, np.bool_)
        """Not so the last step of an episode that was cut off: nobody saw what it led to."""
        self.stored = 0
        """Steps put in so far."""

    @property
    def filled(self) -> int:
        """How many steps are there to draw from."""
        return min(self.stored, len(self._states))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw from yet."""
        return not self._usable[: self.filled].any()

    def add(
        self,
        inputs: Float32Array,
        states: IntArray,
        choices: BoolArray,
        rewards: Float32Array,
        earned: Float32Array,
        moved: BoolArray,
        over: bool,
    ) -> None:
        """Put an episode in; `over` says whether its last step ended the mission or the world."""
        size = len(self._states)
        rows = (self.stored + np.arange(len(states))) % size
        self._inputs[rows], self._states[rows], self._choices[rows] = inputs, states, choices
        self._rewards[rows], self._earned[rows], self._moved[rows] = rewards, earned, moved
        self._over[rows], self._usable[rows] = False, True
        self._over[rows[-1]] = self._usable[rows[-1]] = over
        self.stored += len(states)

    def sample(self, random: np.random.Generator, count: int) -> TaskBatch:
        """Draw steps uniformly."""
        usable = np.flatnonzero(self._usable[: self.filled])
        rows = usable[random.integers(len(usable), size=count)]
        following = (rows + 1) % len(self._states)
        return TaskBatch(
            self._inputs[rows].astype(np.float32),
            self._states[rows],
            self._choices[rows],
            self._rewards[rows],
            self._earned[rows],
            self._moved[rows],
            self._over[rows],
            self._inputs[following].astype(np.float32),
            self._states[following],
        )

    def arrays(self) -> Arrays:
        """Return what is stored, for a checkpoint."""
        parts = {f"memory/{name}": getattr(self, f"_{name}")[: self.filled] for name in _PARTS}
        return {**parts, "memory/stored": np.array(self.stored)}

    def restore(self, arrays: Arrays) -> None:
        """Take back what `arrays` gave."""
        self.stored = int(arrays["memory/stored"])
        for name in _PARTS:
            getattr(self, f"_{name}")[: self.filled] = arrays[f"memory/{name}"]


_PARTS = ("inputs", "states", "choices", "rewards", "earned", "moved", "over", "usable")
