"""Pursuit of goals: a goal is kept until it is reached, lost or clearly worse than another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.logic.formula import Formula, evaluate
from skm_machine.recurrence import sort_clauses
from skm_primitives.planning.policy import Decision, noise_of
from skm_primitives.planning.revisits import Trust
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues, Skills
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# Composed continuous actions without flapping: which goal of the mask to pursue, and how to act.
#
# The composed skill is the maximum over the goals in the mask (`composition.masked_maximum`);
# with learned values that maximum can flip between goals that are about equally good, and a
# greedy robot can come to rest where all actions look alike. Three rules, all about what values
# mean:
#
# - **Commitment.** The goal in pursuit is kept unless another one is better *by more than the
#   networks disagree* on the two. With exact values (no disagreement) this is the plain masked
#   maximum.
# - **No standstill.** On the way to a goal its value γ^k grows at every step. If it has not
#   reached a new high for `PATIENCE` steps, what is done does not lead there: the robot holds
#   another action that is nearly as good for `DETOUR` steps, then chooses afresh. A high that is
#   new by less than `LEAST_GAIN` is none: a robot at rest sees its value creep up by rounding for
#   ever. A `careful` detour holds no action but takes one that is nearly as good in every step:
#   where things are forbidden that are near, what was nearly as good a moment ago may lead into
#   them.
# - **Lost trust.** A goal that was pursued into a standstill did not keep what its value
#   promised: from then on that value counts for half (`trust`). The same happens when somebody
#   who watches the mission as a whole (`progress`) says that nothing comes of it, say since two
#   goals undo each other. Where the robot is `careful`, all that it wants is in `vain` once each
#   of it led into a standstill `IN_VAIN` times: to hover for long before what cannot be had is to
#   slip into what is forbidden, for robots that hold their decisions.


PATIENCE = 8
DETOUR = 6
LEAST_GAIN = 1e-4
"""The share by which a new high exceeds the last: with γ = 0.99, a hundredth of a step."""
IN_VAIN = 4
NONE = -1


@dataclass(frozen=True)
class Chosen:
    """What each robot does: `(robots, …)` each."""

    goal: IntArray
    """The goal in pursuit; `NONE` if none in the mask can be reached."""
    action: Float32Array
    """Zeros where there is no goal: the robot lets its wheels stand."""
    value: Float32Array
    """The value of the goal, times what arriving there is worth."""
    log_value: FloatArray
    """The logarithm of that, which is never too small for a number."""
    spread: Float32Array
    """How far the networks disagree on it."""
    detour: BoolArray
    """Whether this is a detour."""
    vain: BoolArray
    """Whether all goals that will do have been pursued in vain."""

    def decision(self, skills: Skills) -> Decision:
        """Return what a single robot does."""
        noise = noise_of(skills, float(self.spread[0]))
        return Decision(
            self.action[0],
            int(self.goal[0]),
            float(self.value[0]),
            noise,
            log_value=float(self.log_value[0]),
            vain=bool(self.vain[0]),
        )


class Pursuit:
    """The goals that some robots are after, from step to step. A robot needs one of its own."""

    def __init__(
        self,
        robots: int = 1,
        patience: int = PATIENCE,
        detour: int = DETOUR,
        harder: BoolArray | None = None,
    ) -> None:
        """`harder` says which goals lose trust with which: see `trust`."""
        self.careful = False
        """Whether what is near may be forbidden."""
        self._patience = patience
        self._length = detour
        self._goal = np.full(robots, NONE)
        self._high = np.full(robots, -np.inf)
        self._since = np.zeros(robots, np.int64)
        self._left = np.zeros(robots, np.int64)
        self._held: Float32Array | None = None
        self._trust = Trust(robots, harder)

    def restart(self, robots: BoolArray | None = None) -> None:
        """Forget the goals of some robots or all: a new mission, a new skill."""
        which = np.ones(len(self._goal), np.bool_) if robots is None else robots
        self._goal[which] = NONE
        self._forget(which)
        self._left[which] = 0
        self._trust.restart(which)

    def doubt(self) -> None:
        """Try another way: nothing came of what was pursued since the last restart or doubt."""
        self._trust.doubt()

    def choose(
        self, values: ContinuousGoalValues, mask: BoolArray, log_worth: FloatArray | None = None
    ) -> Chosen:
        """Return what to do, from the values of all goals and the mask of those that will do.

        Arrays are `(robots, goals, …)`; for one robot the first axis may be left out of all of
        them. `log_worth[goal]` is the logarithm of how good it is to arrive there, 0 if not given:
        what lies behind many goals is worth less than any number.
        """
        action, value = _batched(values.action, 3), _batched(values.value, 2)
        spread, detours = _batched(values.spread, 2), _batched(values.detour, 3)
        robots, goals = value.shape
        if robots != len(self._goal):
            raise SkmError(f"there are values for {robots} robots, not for {len(self._goal)}.")
        wanted = np.broadcast_to(mask, (robots, goals))
        with np.errstate(divide="ignore"):
            total: FloatArray = np.log(np.maximum(value, 0))
        linear = value
        if log_worth is not None:
            total = total + np.broadcast_to(log_worth, (robots, goals))
            linear = np.exp(total).astype(np.float32)
        believed = total + self._trust.logarithm(goals)
        score = np.where(wanted, believed, -np.inf)
        rows = np.arange(robots)
        best = score.argmax(1)
        current = np.maximum(self._goal, 0)
        doubt = spread[rows, best] + spread[rows, current]
        with np.errstate(invalid="ignore"):
            keep = (self._goal >= 0) & (score[rows, best] - score[rows, current] <= doubt)
        keep |= self._left > 0  # A detour is held to its end.
        keep &= np.isfinite(score[rows, current])
        possible = np.isfinite(score[rows, best])
        goal = np.where(possible, np.where(keep, self._goal, best), NONE)
        self._forget(goal != self._goal)
        self._left[goal != self._goal] = 0
        self._goal = goal
        self._trust.pursue(rows[possible], goal[possible])
        reached = np.where(possible, total[rows, goal], -np.inf)
        on_detour = self._detour(detours, reached, rows)
        assert self._held is not None
        moves = np.where(on_detour[:, None], self._held, action[rows, goal])
        return Chosen(
            goal,
            np.where(possible[:, None], moves, np.float32(0)),
            np.where(possible, linear[rows, goal], np.float32(0)),
            reached,
            np.where(possible, spread[rows, goal], np.float32(0)),
            on_detour,
            possible & self.careful & self._trust.lost_in(score > -np.inf, IN_VAIN),
        )

    def _detour(self, detours: Float32Array, value: FloatArray, rows: IntArray) -> BoolArray:
        """Notice standstills, by log values, and return which robots are on a detour in this step."""
        over = (self._left == 0) & (self._since > self._patience)
        self._forget(over)
        higher = value > self._high + np.log1p(LEAST_GAIN)
        self._since = np.where(higher, 0, self._since + 1)
        self._high = np.where(higher, value, self._high)
        begins = (self._left == 0) & (self._since == self._patience) & (self._goal >= 0)
        if self._held is None:
            self._held = np.zeros_like(detours[:, 0])
        self._trust.lose(rows[begins], self._goal[begins])
        self._left = np.where(begins, self._length, self._left)
        renewed = self._left > 0 if self.careful else begins
        self._held = np.where(renewed[:, None], detours[rows, self._goal], self._held)
        on_detour = self._left > 0
        self._left = np.maximum(self._left - 1, 0)
        return on_detour

    def _forget(self, which: BoolArray) -> None:
        """Begin to watch the value anew."""
        self._high[which] = -np.inf
        self._since[which] = 0


def _batched(array: Float32Array, dimensions: int) -> Float32Array:
    return array if array.ndim == dimensions else array[None]


# Recurring missions in turn: what is to be seen again and again is gone to in the order it is
# written in.
#
# A round of `G F a & G F b & G F c` may see its recurrences in any order, and what is seen last
# counts for the next round as well. So a robot that goes to and fro, a b c b a, completes as many
# rounds as one that goes round, a b c a b: two ways each. But it comes back to its ends only
# after four ways, where the other does after three; and those who wait for a, b and c in turn, as
# a Büchi automaton does (`passes`), wait longest for one that goes round the other way. So where
# the machine leaves a choice, the robot goes round in the order in which the mission is written.
# Other goals count for half, as those do that have lost trust (`trust`), so that what is out of
# reach does not hold it up.


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
