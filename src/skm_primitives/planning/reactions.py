"""When pending obligations come first: as long as that does not keep the robot from its round.

An event that is answered and comes back at once, such as a battery that stays low, would else keep the
robot where it answers forever: every answer is right, and the mission is lost. So what is pending is
done first while the round comes nearer between one answer and the next, and for as many steps more as
forcing the round would take. Then it is done on the way that forces the round, whatever the events do.
Who knew how long an event lasts would need half the steps at best.
"""

from __future__ import annotations

import math


class Reactions:
    """What is done first in the present round."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a mission."""
        self._round = self._step = 0
        self._begin_round()

    def _begin_round(self) -> None:
        self._left = math.inf
        """The least that was left of the round when something pending was done first."""
        self._since = self._step
        """The step of that."""
        self._first: bool | None = None
        """What was decided for what is pending; None while nothing is."""

    def see(self, rounds: int, step: int) -> None:
        """Take note of how many rounds are completed, after how many steps."""
        self._step = step
        if rounds != self._round:
            self._round = rounds
            self._begin_round()

    def comes_first(self, *, pending: bool, left: float, steps: float) -> bool:
        """Tell whether what is pending is done first; to be asked in every step.

        `left` is what is left of the round, whatever the events do, and `steps` how many steps that
        takes; infinite where events can prevent it: then nothing is better than to do first what is
        pending.
        """
        if not pending:
            self._first = None
        elif self._first is None:
            self._first = left < self._left or self._step - self._since <= steps
            if left < self._left:
                self._left, self._since = left, self._step
        return bool(self._first)

    @property
    def forcing(self) -> bool:
        """Whether something is pending, and the round comes first."""
        return self._first is False
