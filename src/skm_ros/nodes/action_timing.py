"""Real time, measured by the simulator itself: were the actions there when their steps were due?"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

KEPT_LATENCIES: Final = 10_000
KEPT_STATES: Final = 1_000


class ActionTiming:
    """Counts late actions, from the first action after a stop to the next stop.

    A step is late if, when it was due, the action to the state that it begins in had not arrived; the
    robot then goes on with an older action, or stands still. Times are of a steady clock, in seconds.
    """

    def __init__(self) -> None:
        self.steps = 0
        """Steps at which somebody was in control."""
        self.late = 0
        self._latencies: deque[float] = deque(maxlen=KEPT_LATENCIES)
        self._published: dict[int, float] = {}
        self._answered = -1
        self._in_control = False

    def published(self, step: int, now: float) -> None:
        """Note that the state with this number has been shown."""
        self._published[step] = now
        if len(self._published) > KEPT_STATES:
            del self._published[next(iter(self._published))]

    def arrived(self, step: int, now: float) -> None:
        """Note an action to the state with this number."""
        self._in_control = True
        self._answered = step
        shown = self._published.pop(step, None)
        if shown is not None:
            self._latencies.append(now - shown)

    def stopped(self) -> None:
        """Note that no action is due until another one comes: after a stop, or with a new episode."""
        self._in_control = False
        self._answered = -1
        self._published.clear()

    def due(self, step: int) -> None:
        """Note that a step from the state with this number is taken now."""
        if self._in_control:
            self.steps += 1
            self.late += self._answered < step

    def latency(self, share: float) -> float:
        """Return the seconds from a state to its action that this share of the actions took at most."""
        if not self._latencies:
            return math.nan
        ordered = sorted(self._latencies)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    def report(self) -> dict[str, object]:
        """Return everything as values for the diagnostics."""
        shares = {"median": 0.5, "95 %": 0.95, "99 %": 0.99, "worst": 1.0}
        latencies = {
            f"action latency, {name} (ms)": f"{1000 * self.latency(share):.2f}"
            for name, share in shares.items()
        }
        return {"steps in control": self.steps, "late actions": self.late, **latencies}
