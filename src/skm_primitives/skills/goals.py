"""Goals of the task primitives, and the buffer that collects those that have been achieved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_sim.arrays import IntArray


class UnknownGoalError(SkmError):
    """A goal that was never achieved, so that nothing is known about reaching it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """An element of the goal space 2^(P∪C) of Definition 3.1 (Primitives).

    It says which propositions are true on arrival (l') and which constraints were violated on the
    way (c). In tabular domains it is refined by the place of arrival; the paper's goal is what is
    left when the place is forgotten.
    """

    labels: frozenset[str]
    """The propositions that are true on arrival."""
    violated: frozenset[str] = frozenset()
    """The constraints that were violated on the way."""
    place: int | None = None
    """The place of arrival, in tabular domains."""

    def describe(self, place_name: Callable[[int], str] = str) -> str:
        """Return text such as `{coffee, ^decoration} at (3,5)`; `^` is the paper's hat."""
        names = [*sorted(self.labels), *(f"^{name}" for name in sorted(self.violated))]
        text = "{" + ", ".join(names) + "}"
        return text if self.place is None else f"{text} at {place_name(self.place)}"

    def __str__(self) -> str:
        return self.describe()


def label_sets_of(goals: Iterable[Goal]) -> tuple[frozenset[str], ...]:
    """Return the label sets of goals, in the order in which they first appear."""
    return tuple(dict.fromkeys(goal.labels for goal in goals))


class GoalBuffer:
    """The goals achieved so far (G of Algorithm 1), in the order of their discovery.

    It only grows, so a goal's index never changes and can stand for the goal in arrays.
    """

    def __init__(self, goals: Iterable[Goal] = ()) -> None:
        self._index: dict[Goal, int] = {}
        for goal in goals:
            self.add(goal)

    def add(self, goal: Goal) -> int:
        """Put the goal in the buffer if it is new; return its index either way."""
        return self._index.setdefault(goal, len(self._index))

    def index(self, goal: Goal) -> int:
        """Return the index of a goal in the buffer."""
        try:
            return self._index[goal]
        except KeyError:
            raise UnknownGoalError(
                f"goal {goal} was never achieved; it is none of the {len(self)} in the buffer."
            ) from None

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Goal]:
        return iter(self._index)

    def __contains__(self, goal: object) -> bool:
        return goal in self._index


# Constraint histories as small integers: which violated sets can still become which.


class Histories:
    """Pairs (c, v): the constraints violated so far, and those that the goal wants violated.

    A violated constraint stays violated (`c' = c ∪ ((l̂ ⊕ l̂') ∩ C)`, Definition 3.1), so only pairs
    with c ⊆ v have a value at all: 3^|C| of 4^|C|. Every other pair is the one index `lost`. Sets
    of constraints are written as bits, in the order of the domain's constraints.
    """

    def __init__(self, constraints: tuple[str, ...]) -> None:
        self.constraints = constraints
        self.sets = 1 << len(constraints)
        """How many violated sets there are: 2^|C|."""
        pairs = [(c, v) for c in range(self.sets) for v in range(self.sets) if not c & ~v]
        self.lost = len(pairs)
        """The number of pairs, and the index that stands for every pair that is lost."""
        self.pair: IntArray = np.full((self.sets, self.sets), self.lost)
        """`pair[c, v]`: the index of the pair."""
        for index, (c, v) in enumerate(pairs):
            self.pair[c, v] = index
        self.fulfilled: IntArray = np.diagonal(self.pair).copy()
        """`fulfilled[v]`: the pair in which the goal's history is the agent's: stopping counts."""
        self.successor: IntArray = np.array(
            [[self.pair[c | changed, v] for c, v in pairs] for changed in range(self.sets)]
        )
        """`successor[changed, pair]`: the pair after a step on which those constraints changed."""

    def bits(self, violated: Iterable[str]) -> int:
        """Return a set of constraint names as bits."""
        return sum(1 << self.constraints.index(name) for name in violated)

    def names(self, bits: int) -> frozenset[str]:
        """Return bits as a set of constraint names."""
        return frozenset(name for i, name in enumerate(self.constraints) if bits >> i & 1)


def pack(truth: NDArray[Any]) -> IntArray:
    """Return rows of bools as integers, the first column being the lowest bit."""
    weights: IntArray = np.int64(1) << np.arange(truth.shape[-1])
    packed: IntArray = truth @ weights
    return packed
