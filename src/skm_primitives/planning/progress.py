"""Whether a mission gets anywhere, by what its own values promise.

**The rule.** Progress is a transition of the machine, or a goal in pursuit whose value is higher than it
ever was since the last transition, by more than noise. When `PATIENCE` times as many steps as the goal
was said to be away (at least `LEAST`, at most `MOST`) have brought none, another way is due; when
`WAYS` ways in a row have brought none, the mission has stalled. It has at once where the decision says
that everything was pursued in vain (`pursuit`).

With exact values every step of the best way is progress, however long that way is. A robot that stands
still, goes in circles or changes its mind for ever comes to make none: goals are finite in number, and
no value grows by more than noise for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from skm_primitives.planning.policy import Decision, log_of

PATIENCE: Final = 2
LEAST: Final = 50
MOST: Final = 500
WAYS: Final = 8


class Progress:
    """Watches the decisions of one mission; `gamma` says how values fall with distance."""

    def __init__(self, gamma: float) -> None:
        self._log_gamma = math.log(gamma)
        self.restart()

    def restart(self) -> None:
        """Begin to watch: the mission starts, or the machine has moved."""
        self._highs: dict[int, float] = {}  # logarithms: a far goal is worth less than any number
        self._since = 0
        self._ways = 0

    @property
    def stalled(self) -> bool:
        """Whether `WAYS` ways in a row led nowhere."""
        return self._ways >= WAYS

    def watch(self, decision: Decision, goal_value: Callable[[], float]) -> bool:
        """Take the decision of a step; tell whether another way is due.

        `goal_value` returns γ to the distance of the goal in pursuit; it is asked only in need.
        """
        if decision.vain:
            self._ways = WAYS
            return False
        value = log_of(decision.value) if math.isnan(decision.log_value) else decision.log_value
        if value > self._highs.get(decision.goal, -math.inf) + decision.noise:
            self._highs[decision.goal] = value
            self._since = self._ways = 0
            return False
        self._since += 1
        if self._since < LEAST or self._since < self._time_for(goal_value()):
            return False
        self._since = 0
        self._ways += 1
        return True

    def _time_for(self, value: float) -> float:
        """Return how long to wait for a goal of this value; no time if it promises nothing."""
        promised = math.log(value) / self._log_gamma if 0 < value < 1 else 0.0
        return min(PATIENCE * promised, MOST)
