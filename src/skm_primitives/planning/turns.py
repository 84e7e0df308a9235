"""Standing orders in turn: what is to be seen again and again is gone to in the order it is written in.

A round of `G F a & G F b & G F c` may see its recurrences in any order, and what is seen last counts for
the next round as well. So a robot that goes to and fro, a b c b a, completes as many rounds as one that
goes round, a b c a b: two ways each. But it comes back to its ends only after four ways, where the other
does after three; and those who wait for a, b and c in turn, as a Büchi automaton does (`passes`), wait
longest for one that goes round the other way. So where the machine leaves a choice, the robot goes round
in the order in which the mission is written. Other goals count for half, as those do that have lost
trust (`trust`), so that what is out of reach does not hold it up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from skm_machine.logic.syntax import Formula, evaluate
from skm_machine.recurrence import sort_clauses
from skm_primitives.goals import Goal
from skm_sim.arrays import BoolArray, FloatArray, IntArray

OUT_OF_TURN: Final = math.log(0.5)
FEWEST: Final = 3
"""Recurrences with which there is a choice: of two, the one that was seen is never the next."""


class Turns:
    """Which recurrence a robot has seen last, as far as its goals and its machine tell."""

    def __init__(self, formula: Formula | None, goals: Sequence[Goal], target: IntArray) -> None:
        """`target[u, g]` is the machine state that achieving a goal leads to."""
        recurrences = () if formula is None else sort_clauses(formula).recurrences
        several = len(recurrences) >= FEWEST
        self._shows: BoolArray = np.array(
            [[evaluate(each, goal.labels) for goal in goals] for each in recurrences if several]
        ).reshape(-1, len(goals))
        """`[recurrence, goal]`: whether the goal shows it."""
        self._target = target
        self.restart()

    def restart(self) -> None:
        """Begin anew, with whichever recurrence is the nearest."""
        self._seen = -1
        self._pursued = (-1, -1)

    def pursue(self, state: int, goal: int) -> None:
        """Note what is pursued in which machine state."""
        self._pursued = state, goal

    def in_turn(self, state: int, worth: FloatArray) -> FloatArray:
        """Return what goals are worth in a machine state, those out of turn less; as logarithms."""
        before, goal = self._pursued
        if goal >= 0 and before != state and self._target[before, goal] == state:
            shown = np.flatnonzero(self._shows[:, goal])
            self._seen = int(shown[0]) if len(shown) else self._seen
        if self._seen < 0:
            return worth
        count = len(self._shows)
        for ahead in range(1, count):
            next_ones = self._shows[(self._seen + ahead) % count]
            if np.isfinite(worth[next_ones]).any():
                return np.where(next_ones, worth, worth + OUT_OF_TURN)
        return worth
