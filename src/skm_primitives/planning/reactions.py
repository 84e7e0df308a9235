"""When pending obligations come first: once a round for each machine state.

An event that is answered and comes back at once, such as a battery that stays low, would else keep the
robot where it answers for ever: every answer is right, and the mission is lost. What is pending again in
the same round is done on the way that forces the round, whatever the events do.
"""

from __future__ import annotations


class Reactions:
    """The machine states whose obligations were done first, and done, in the present round."""

    def __init__(self) -> None:
        self._round = 0
        self._done: set[int] = set()
        self._under_way: set[int] = set()

    def restart(self) -> None:
        """Begin a mission."""
        self.in_round(-1)
        self._round = 0

    def in_round(self, number: int) -> None:
        """Take note of how many rounds are completed."""
        if number != self._round:
            self._round = number
            self._done.clear()
            self._under_way.clear()

    def comes_first(self, state: int, *, pending: bool) -> bool:
        """Tell whether what is pending in a machine state is done first; to be asked in every step."""
        if not pending:
            self._done |= self._under_way
            self._under_way.clear()
            return False
        if state in self._done:
            return False
        self._under_way.add(state)
        return True

    def were_done(self, state: int) -> bool:
        """Tell whether the obligations of a machine state were done before, in this round."""
        return state in self._done
