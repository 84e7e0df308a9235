"""How much a translation may take: states and seconds, checked while it works."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from skm_machine.errors import UnsupportedMissionError

T = TypeVar("T")
_ATTEMPTS: Final = 0.4
_PART: Final = 0.5
MAX_DEPTH: Final = 10_000
"""How deep diagrams may be walked, in calls: one for each variable on the way down."""


class LimitReachedError(UnsupportedMissionError):
    """A translation has grown too large; the translators add which clause is to blame."""


class TooManyStatesError(LimitReachedError):
    """A translation needs more states than it may have."""


class _DeepCalls:
    """Python's limit of nested calls, raised while any thread is at a translation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._usual = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._usual = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._usual, MAX_DEPTH))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                sys.setrecursionlimit(self._usual)


_DEEP_CALLS: Final = _DeepCalls()


@contextmanager
def deep_diagrams_are_a_limit() -> Iterator[None]:
    """Let diagrams be deep, and say of those that are too deep that a limit is reached."""
    try:
        with _DEEP_CALLS:
            yield
    except RecursionError as error:
        raise LimitReachedError("temporal operators nested too deep in one another") from error


@dataclass
class Limits:
    """The most states, and seconds of computing, that one translation may take."""

    max_states: int
    max_seconds: float
    deadline: float = field(init=False)
    attempts_until: float = field(init=False)
    """When to stop trying to make an automaton smaller, or deterministic."""

    def __post_init__(self) -> None:
        self._set_seconds(self.max_seconds)

    def _set_seconds(self, seconds: float) -> None:
        now = time.thread_time()
        self.deadline = now + seconds
        self.attempts_until = now + _ATTEMPTS * seconds

    def half(self) -> Limits:
        """Return limits with half of the time that is left."""
        limits = Limits(self.max_states, self.max_seconds)
        limits._set_seconds(0.5 * (self.deadline - time.thread_time()))
        return limits

    def check(self, states: int = 0) -> None:
        """Raise `LimitReachedError` if there are more states than allowed, or no time is left."""
        if states > self.max_states:
            raise TooManyStatesError(f"more than {self.max_states} states")
        if time.thread_time() > self.deadline:
            raise LimitReachedError(f"more than {self.max_seconds:g} seconds")

    def attempt(self, step: Callable[[], T]) -> T | None:
        """Return what `step` does in a part of the time that is left; None if that is not enough.

        For steps that only make an automaton smaller, or deterministic.
        """
        whole = self.deadline
        now = time.thread_time()
        self.deadline = min(whole, now + _PART * (self.attempts_until - now))
        try:
            return step()
        except LimitReachedError:
            return None
        finally:
            self.deadline = whole
