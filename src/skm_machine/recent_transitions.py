"""The last transitions of a mission, packed: of days of a patrol no more is kept than of an hour."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class Transition:
    """A machine transition that has happened: at which step, between which states, on which labels."""

    step: int
    source: int
    target: int
    labels: frozenset[str]
    reward: float


class RecentTransitions:
    """Keeps at most so many, 40 bytes each; the oldest go first."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.count = 0
        """How many there have been."""
        self._numbers = array("d")
        """Step, source, target, labels and reward of each; a ring once it is full."""
        self._label_numbers: dict[frozenset[str], int] = {}
        self._label_sets: list[frozenset[str]] = []

    def add(
        self, step: int, source: int, target: int, labels: frozenset[str], reward: float
    ) -> None:
        """Take a transition."""
        number = self._label_numbers.setdefault(labels, len(self._label_sets))
        if number == len(self._label_sets):
            self._label_sets.append(labels)
        row = array("d", (step, source, target, number, reward))
        place = FIELDS * (self.count % self._kept)
        self._numbers[place : place + FIELDS] = row
        self.count += 1

    @property
    def latest(self) -> Transition | None:
        """The last one; None if there was none."""
        return self._read(self.count - 1) if self.count else None

    def __len__(self) -> int:
        return min(self.count, self._kept)

    def __iter__(self) -> Iterator[Transition]:
        """Yield those that are kept, in order."""
        return map(self._read, range(self.count - len(self), self.count))

    def last(self, count: int) -> list[Transition]:
        """Return the last so many, in order; fewer, if they are not kept any more."""
        first = self.count - min(count, len(self))
        return [self._read(number) for number in range(first, self.count)]

    def _read(self, number: int) -> Transition:
        place = FIELDS * (number % self._kept)
        step, source, target, labels, reward = self._numbers[place : place + FIELDS]
        return Transition(
            int(step), int(source), int(target), self._label_sets[int(labels)], reward
        )
