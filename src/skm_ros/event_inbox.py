"""Events on their way into a mission: each change is true, or false, in a state of its own.

An event is a proposition that the robot does not control. Its sender may wait for the answer:
the state of the mission in which the change took effect, or why it never will. So a change that was
acknowledged is in the labels that the mission is judged on. Changes of
sensors, which do not wait for an answer, may overtake the states: an event that was true between two
states is true in the next one, and that it was false in between may be missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, TypeAlias

MOST_WAITING: Final = 2000
"""Changes that wait for their states: more are refused."""


@dataclass(frozen=True)
class Effect:
    """Where a change took effect."""

    key: tuple[int, int, int]
    """Session, episode and step of the state."""
    mission_steps: int


Answer: TypeAlias = Callable[[Effect | str], object]
"""Called with where a change took effect, or why it did not."""


@dataclass
class _Change:
    value: bool
    answers: list[Answer] = field(default_factory=list)


class EventInbox:
    """Which events are declared, which are true now, and what changes with the states to come.

    In a mission: `begin`, then for every state `take` and `confirm`, then `end`.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.names = tuple(names)
        self.true: frozenset[str] = frozenset()
        """The events that are true in the present state; between missions, those last said to be."""
        self._waiting: dict[str, deque[_Change]] = {}
        self._taken: list[tuple[str, bool, _Change]] = []
        self._in_mission = False

    @property
    def waiting(self) -> int:
        """How many wait for an answer."""
        changes = [change for queue in self._waiting.values() for change in queue]
        return sum(len(change.answers) for change in changes)

    def begin(self) -> None:
        """From here on changes wait for the states of a mission."""
        self._in_mission = True

    def restore(self, true: Collection[str]) -> None:
        """Go on after a restart: these were true, and what has been said since counts as any change."""
        since, self.true = self.true, frozenset(true) & frozenset(self.names)
        for name in since - self.true:
            self.note(name, True)

    def note(self, name: str, value: bool) -> None:
        """Take what a sensor says, which need not be news: nobody waits for an answer."""
        if name not in self._waiting and (name in self.true) == value:
            return
        if self._in_mission:
            self._add(name, value)
        else:
            self._set(name, value)

    def ask(self, name: str, value: bool, answer: Answer) -> None:
        """Take a change whose effect is to be told."""
        if not self._in_mission:
            answer("no mission is under way")
        elif self.waiting >= MOST_WAITING:
            answer(f"{MOST_WAITING} changes of events wait for the mission's next states already")
        else:
            self._add(name, value).answers.append(answer)

    def take(self) -> frozenset[str]:
        """Return the events that are true in the state that has just come."""
        if self._waiting:
            for name in list(self._waiting):
                queue = self._waiting[name]
                change = queue.popleft()
                self._taken.append((name, name in self.true, change))
                self._set(name, change.value)
                if not queue:
                    del self._waiting[name]
        return self.true

    def confirm(self, key: tuple[int, int, int], mission_steps: int) -> bool:
        """Tell waiting callers that the mission has taken the state; tell whether anything changed."""
        if not self._taken:
            return False
        taken, self._taken = self._taken, []
        effect = Effect(key, mission_steps)
        for *_, change in taken:
            for answer in change.answers:
                answer(effect)
        return True

    def end(self, reason: str) -> None:
        """Tell waiting callers that the mission has ended; what they asked for is not done.

        What sensors have said meanwhile holds.
        """
        self._in_mission = False
        refused = []
        for name, before, change in self._taken:
            if change.answers:
                self._set(name, before)
                refused.append(change)
        for name, queue in self._waiting.items():
            for change in queue:
                if change.answers:
                    refused.append(change)
                else:
                    self._set(name, change.value)
        self._taken, self._waiting = [], {}
        for change in refused:
            for answer in change.answers:
                answer(reason)

    def _set(self, name: str, value: bool) -> None:
        self.true = self.true | {name} if value else self.true - {name}

    def _add(self, name: str, value: bool) -> _Change:
        """Return the last change of an event that waits, which is now to this value."""
        queue = self._waiting.setdefault(name, deque())
        if value and queue and not queue[-1].value and not queue[-1].answers:
            queue.pop()
        if not queue or queue[-1].value != value:
            queue.append(_Change(value))
        return queue[-1]
