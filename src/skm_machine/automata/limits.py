"""How much a translation may take: states and seconds, checked while it works."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from skm_machine.errors import UnsupportedMissionError


class LimitReachedError(UnsupportedMissionError):
    """A translation has grown too large; the translators add which clause is to blame."""


@dataclass
class Limits:
    """The most states, and seconds of computing, that one translation may take."""

    max_states: int
    max_seconds: float
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = time.thread_time() + self.max_seconds

    def check(self, states: int = 0) -> None:
        """Raise `LimitReachedError` if there are more states than allowed, or no time is left."""
        if states > self.max_states:
            raise LimitReachedError(f"more than {self.max_states} states")
        if time.thread_time() > self.deadline:
            raise LimitReachedError(f"more than {self.max_seconds:g} seconds")
