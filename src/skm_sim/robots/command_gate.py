"""The gate between commands and a robot: only fresh commands pass, and without them it brakes.

A command is to a state of the world. In real time it passes if that state is one of the latest few and
was shown a moment ago; it then holds until the next one comes, for `limit` seconds at most. After that
the robot is brought to rest. A stop that was asked for by a person is kept
until it is taken back. Times are of a steady clock, in seconds; there is no ROS here.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

SLACK: Final = 0.05
"""Seconds beyond two periods within which braking must have begun."""
MOST_STEPS: Final = 2
"""How many states ago a command's may be."""
KEPT_STATES: Final = 64


STOP_CALLED: Final = "stop was called"
NOT_HELD: Final = "the dead-man switch is not held"


def is_by_person(stopped: str) -> bool:
    """Tell whether a person keeps the robot from moving: then it may take as long as it takes."""
    return STOP_CALLED in stopped or NOT_HELD in stopped


class CommandGate:
    """The command in force, if any, and why the robot is kept from moving, if it is."""

    def __init__(self, period: float, timeout: float = 0.0) -> None:
        """`period` is that of the control loop; `timeout`, if given, is how long a command holds."""
        self.period = period
        self._timeout = timeout
        self._command: Any = None
        self._since = -1e9
        self._shown: deque[tuple[int, float]] = deque(maxlen=KEPT_STATES)
        self._reasons: dict[str, str] = {}

    @property
    def limit(self) -> float:
        """How long a command holds: braking begins within two periods and `SLACK` of the last one.

        The robot is only commanded once a period, hence the limit is a period less than that; and not
        above two and a half periods, so that a fast loop does not coast for long.
        """
        return self._timeout or min(2.5 * self.period, self.period + SLACK)

    @property
    def stopped(self) -> str:
        """Why the robot is kept from moving; empty if it is not."""
        return "; ".join(self._reasons.values())

    def stop(self, cause: str, reason: str) -> None:
        """Keep the robot from moving, for one cause among several, until that is taken back."""
        self._reasons[cause] = reason
        self.let_go()

    def keeps(self, cause: str) -> bool:
        """Tell whether a cause keeps the robot from moving."""
        return cause in self._reasons

    def reason(self, cause: str) -> str:
        """Return why a cause keeps the robot from moving; empty if it does not."""
        return self._reasons.get(cause, "")

    def resume(self, cause: str) -> bool:
        """Take one cause back; tell whether it was there."""
        return self._reasons.pop(cause, None) is not None

    def show(self, step: int, now: float) -> None:
        """Note that a state has been shown, for the age of what answers it."""
        self._shown.append((step, now))

    def forget(self) -> None:
        """Begin a new episode: nothing shown before counts."""
        self._shown.clear()
        self.let_go()

    def problem(self, step: int, present: int, now: float) -> str:
        """Return why a command to the state `step` must not pass where `present` is the latest."""
        if self._reasons:
            return "action while the robot is stopped"
        if step > present:
            return "action to a state that is not there yet"
        shown = next((when for number, when in reversed(self._shown) if number == step), None)
        if shown is None or present - step > MOST_STEPS or now - shown > 2 * self.period + SLACK:
            return "action to a state long gone"
        return ""

    def take(self, command: Any, now: float) -> None:  # noqa: ANN401 - an action of the domain
        """Put a command in force."""
        self._command, self._since = command, now

    def let_go(self) -> None:
        """Take control from everyone."""
        self._command = None

    @property
    def in_control(self) -> bool:
        """Whether there is a command in force, fresh or not."""
        return self._command is not None

    def age(self, now: float) -> float:
        """Return how long ago the last command came."""
        return now - self._since

    def due(self, now: float) -> Any:  # noqa: ANN401
        """Return the command to carry out now; None if the robot is to brake."""
        if self._command is not None and self.age(now) > self.limit:
            self._command = None
        return self._command
