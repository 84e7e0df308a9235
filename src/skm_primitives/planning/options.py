"""Options: a goal in pursuit has a deadline, which its own value sets.

The composed skill is the maximum over the goals in a mask (`composition.goal_mask`). With exact
values that is all. Learned values flip between goals that are about as good, overestimate goals that are
out of reach, and leave a greedy robot at rest where all actions look alike. One mechanism handles these:

- **Commitment.** The goal in pursuit is kept unless another one is better by more than the networks
  disagree on the two.
- **Deadline.** A value is γ^k, so a goal itself says how many steps it is away, and how soon a robot on
  its way must have come nearer (`Deadlines`).
- **Penalty.** An option that misses its deadline counts for half from then on.
- **Late.** A robot whose option is late takes actions that are nearly as good as the best, for a while.
- **Exhausted.** After many deadlines missed in a row there is no progress (`MissionRun`). Where labels
  can fail the mission, after some of every option: to hover before what cannot be had is a risk.

All of it is forgotten when the machine moves. With exact values no deadline is ever missed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_machine.logic.formula import Formula, evaluate
from skm_machine.recurrence import sort_clauses
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

SLACK: Final = 8
"""Steps that may pass without coming nearer to a goal.

Not more for goals that are far: of 300 runs of Safety (tasks 3 and 5, seed 777) 1 is lost, and so with
8 + k/2 steps, with 8 + k 3. Of 8 impossible missions 1 is violated, with 8 + k/2 2."""
LEAST_GAIN: Final = 0.01
"""Steps that count as nearer: a robot at rest sees its value creep up by rounding forever."""
PENALTY: Final = math.log(0.5)
"""What each missed deadline adds to the logarithm of a goal's worth.

`python benchmarks/ablations.py --tasks 5 --runs 1000 --seed 6001 --without penalty`: 3 lost and 64.6
steps as it is, 12 and 59.5 without."""
LATE: Final = 6
"""Steps for which a robot that is late takes actions that are nearly as good.

Of 2,000 runs of task 5 of Safety (seeds 4242, 7, 777, 5151) 33 are lost with 0 steps, 17 with 3, 18
with 6, 16 with 12, in 62.2, 64.1, 66.2 and 70.0 steps on average; 33 if it is twice as long with every
deadline missed in a row. Of 300 runs of tasks 3 and 5 (8 + k/2 steps) one is lost where the action is
held, 5 where another is drawn in every step.
`python benchmarks/ablations.py --tasks 5 --runs 1000 --seed 3031 --without late`: 7 lost and 68.9 steps
as it is, 15 and 63.3 without."""
TRANSITION_SLACK: Final = 50
"""The slack of a machine's next transition, whatever goals are pursued for it."""
TRANSITION_PACE: Final = 0.5
"""And as many more for each step that it is away: ways that are long may lead round more."""
ATTEMPTS: Final = 20
"""Deadlines of each of its options that a robot misses before it is exhausted, where it can fail. One
that is missed by decisions that are held for some steps counts as so many."""
EXHAUSTED: Final = 8
"""Deadlines of a transition missed in a row after which there is no progress."""
NONE: Final = -1
FARTHEST: Final = 500
"""Steps beyond which a goal gets no more time: values of far goals say little."""


_FIRST: Final[IntArray] = np.zeros(1, np.int64)
_EXACT: Final[FloatArray] = np.zeros(1)


class Deadlines:
    """When some robots are due at each of some goals, and how often each deadline was missed.

    A goal of value γ^k is k steps away. A robot that spends slack + pace · k steps on it, with k as it
    was when it was nearest, without coming nearer misses the deadline; the next one counts from there.
    Steps that are spent on other goals do not count, but nothing is forgotten meanwhile: goals that undo
    each other's way miss their deadlines, too.
    """

    def __init__(
        self,
        gamma: float,
        goals: int,
        robots: int = 1,
        slack: float = SLACK,
        pace: float = 0.0,
    ) -> None:
        self._log_gamma = math.log(gamma)
        self._slack, self._pace = slack, pace
        shape = robots, goals
        self._steps = np.zeros(shape, np.int64)
        """Steps spent since it was nearest."""
        self._nearest = np.full(shape, np.inf)
        """The least k since the last miss."""
        self._ever = np.full(shape, np.inf)
        """The least k of all."""
        self.missed: IntArray = np.zeros(shape, np.int64)
        """`[robot, goal]`: how often its deadline was missed."""
        self.in_a_row: IntArray = np.zeros(robots, np.int64)
        """`[robot]`: deadlines missed since any goal was nearer than ever."""

    def restart(self, robots: BoolArray | None = None) -> None:
        """Forget everything, for some robots or all: the machine has moved."""
        which = slice(None) if robots is None else robots
        self._steps[which] = self.missed[which] = 0
        self._nearest[which] = self._ever[which] = np.inf
        self.in_a_row[which] = 0

    @property
    def penalty(self) -> FloatArray:
        """`[robot, goal]`: what missed deadlines add to the logarithm of each goal's worth."""
        penalty: FloatArray = np.multiply(self.missed, PENALTY, dtype=np.float64)
        return penalty

    def watch(
        self, robots: IntArray, goals: IntArray, log_value: FloatArray, spread: FloatArray
    ) -> BoolArray:
        """Take a step that robots spend on goals; tell which of them miss the deadline.

        `log_value` is of the goals' values, `spread` how far the networks disagree on it.
        """
        where = robots, goals
        with np.errstate(divide="ignore"):
            away = log_value / self._log_gamma
        unsure = spread / -self._log_gamma
        nearer = away < self._nearest[where] - LEAST_GAIN
        self._nearest[where] = np.where(nearer, away, self._nearest[where])
        self._steps[where] = np.where(nearer, 0, self._steps[where] + 1)
        left = np.clip(self._nearest[where], 0, FARTHEST)  # Rounds to come are worth more than 1.
        left[np.isinf(self._nearest[where])] = 0  # What is worth nothing gets no time.
        late: BoolArray = self._steps[where] >= self._slack + self._pace * left
        # Half a step more than networks disagree by: exact values grow by a whole one.
        ever = away < self._ever[where] - 0.5 - unsure
        self._ever[where] = np.where(ever, away, self._ever[where])
        self.in_a_row[robots] = np.where(ever, 0, self.in_a_row[robots] + late)
        self._nearest[where] = np.where(late, np.inf, self._nearest[where])
        self._steps[where] = np.where(late, 0, self._steps[where])
        self.missed[robots[late], goals[late]] += 1
        return late

    def watch_one(self, goal: int, log_value: float) -> bool:
        """Take a step that a single robot spends on a goal; tell whether it misses the deadline."""
        where = np.array([goal])
        return bool(self.watch(_FIRST, where, np.array([log_value]), _EXACT)[0])


def transition_deadlines(gamma: float, goals: int) -> Deadlines:
    """Return the deadlines of a machine's next transition, for each goal that is pursued for it."""
    return Deadlines(gamma, goals, slack=TRANSITION_SLACK, pace=TRANSITION_PACE)


@dataclass(frozen=True)
class Chosen:
    """What each robot does: `(robots, …)` each."""

    goal: IntArray
    """The goal in pursuit; `NONE` if none in the mask can be reached."""
    action: Float32Array
    """Zeros where there is no goal: the robot stops."""
    value: Float32Array
    """The value of the goal, times what arriving there is worth."""
    log_value: FloatArray
    """The logarithm of that, which is never too small for a number."""
    late: BoolArray
    """Whether the action is one that is nearly as good, since the option is late."""
    exhausted: BoolArray
    """Whether every goal that will do has missed `ATTEMPTS` deadlines."""


class Options:
    """The options of some robots with continuous actions, from step to step."""

    def __init__(self, gamma: float, robots: int = 1, held: int = 1) -> None:
        """`held` is for how many steps a decision is held."""
        self._gamma = gamma
        self._attempts = ATTEMPTS / held
        self._goal: IntArray = np.full(robots, NONE)
        self._late: IntArray = np.zeros(robots, np.int64)
        self._deadlines: Deadlines | None = None
        self._held: Float32Array | None = None

    def restart(self, robots: BoolArray | None = None) -> None:
        """Forget the goals of some robots or all: the machine has moved, or the skill is another."""
        which = slice(None) if robots is None else robots
        self._goal[which] = NONE
        self._late[which] = 0
        if self._deadlines is not None:
            self._deadlines.restart(robots)

    def choose(
        self,
        values: ContinuousGoalValues,
        mask: BoolArray,
        log_worth: FloatArray | None = None,
        *,
        hold: bool = True,
    ) -> Chosen:
        """Return what to do, from the values of all goals and the mask of those that will do.

        Arrays are `(robots, goals, …)`; for one robot the first axis may be left out of all of
        them. `log_worth[goal]` is the logarithm of how good it is to arrive there, 0 if not given:
        what lies behind many goals is worth less than any number. With `hold`, robots that are late hold
        an action; else they take one in every step: where something must be avoided, what was nearly as
        good a moment ago may lead into it. (`python benchmarks/ablations.py --runs 1000 --seed 7001
        --without hold`, with `--tasks 5`, where nothing can fail: 7 lost as it is, 13 if it is not held;
        `--without "free hold"`, with `--tasks no_other_button`: 15 violated, 69 if it is held there.)
        """
        action, value = _batched(values.action, 3), _batched(values.value, 2)
        spread, near_best = _batched(values.spread, 2), _batched(values.near_best, 3)
        robots, goals = value.shape
        if robots != len(self._goal):
            raise SkmError(f"there are values for {robots} robots, not for {len(self._goal)}.")
        if self._deadlines is None:
            self._deadlines = Deadlines(self._gamma, goals, robots)
        with np.errstate(divide="ignore"):
            own: FloatArray = np.log(np.maximum(value, 0).astype(np.float64))
        total, linear = own, value
        if log_worth is not None:
            total = own + np.broadcast_to(log_worth, (robots, goals))
            linear = np.exp(total).astype(np.float32)
        wanted = np.broadcast_to(mask, (robots, goals))
        score = np.where(wanted, total + self._deadlines.penalty, -np.inf)
        rows = np.arange(robots)
        best = score.argmax(1)
        possible = np.isfinite(score[rows, best])
        goal = np.where(possible, self._committed(score, spread, best), NONE)
        self._late[goal != self._goal] = 0
        self._goal = goal
        self._watch(own, spread)
        late = self._late > 0
        self._late = np.maximum(self._late - 1, 0)
        held = near_best[rows, goal]
        if hold and self._held is not None:
            held = np.where((self._late == LATE - 1)[:, None], held, self._held)
        self._held = held
        moves = np.where(late[:, None], held, action[rows, goal])
        return Chosen(
            goal,
            np.where(possible[:, None], moves, np.float32(0)),
            np.where(possible, linear[rows, goal], np.float32(0)),
            np.where(possible, total[rows, goal], -np.inf),
            late,
            possible & np.all(np.isinf(score) | (self._deadlines.missed >= self._attempts), axis=1),
        )

    def _committed(self, score: FloatArray, spread: Float32Array, best: IntArray) -> IntArray:
        """Return the goal of each robot: its own, unless the best is better beyond disagreement.

        `python benchmarks/ablations.py --tasks 5 --runs 1000 --seed 7001 --without commitment`: 7 lost
        as it is, 14 without.
        """
        rows, current = np.arange(len(best)), np.maximum(self._goal, 0)
        disagreement = spread[rows, best] + spread[rows, current]
        with np.errstate(invalid="ignore"):
            keep = (self._goal >= 0) & (score[rows, best] - score[rows, current] <= disagreement)
        keep |= self._late > 0  # Until it has been tried, with success or without.
        keep &= np.isfinite(score[rows, current])
        return np.where(keep, self._goal, best)

    def _watch(self, log_value: FloatArray, spread: Float32Array) -> None:
        """Hold the robots to their deadlines; those that are late already have no other."""
        assert self._deadlines is not None
        rows = np.flatnonzero((self._goal >= 0) & (self._late == 0))
        goals = self._goal[rows]
        missed = self._deadlines.watch(
            rows, goals, log_value[rows, goals], spread[rows, goals].astype(np.float64)
        )
        self._late[rows[missed]] = LATE


def _batched(array: Float32Array, dimensions: int) -> Float32Array:
    return array if array.ndim == dimensions else array[None]


# Actions that are a choice: in a deterministic world, to see the very same observation again while
# still after the same thing shows that what was done there led nowhere, whatever an approximate
# network says. Each earlier try of an action at an observation therefore counts as if its goal were
# `REPEAT_STEPS` steps further away, so that the second best action takes over soon, and an action
# that a constraint forbids (worth next to nothing) practically never.


REPEAT_STEPS: Final = 10
"""How many steps further away a goal counts for each time that the action was tried here before.

`python benchmarks/ablations.py --domain moving_targets --tasks 2 --runs 660 --seed 6103 --without
memory`, and 340 runs of seed 6102: 3.498 rounds as it is, 3.312 without, and 12 runs without any."""
KEPT_OBSERVATIONS: Final = 1000
"""How many observations are remembered: those that were seen last."""


class DiscreteOptions:
    """The options of one robot with discrete actions, and what it tried at each observation."""

    def __init__(self, gamma: float, actions: int) -> None:
        self._gamma = gamma
        self._repeat = REPEAT_STEPS * math.log(gamma)
        self._tries: OrderedDict[bytes, IntArray] = OrderedDict()
        self._actions = actions
        self._here: IntArray = np.zeros(actions, np.int64)
        self._deadlines: Deadlines | None = None
        self.returned = False
        """Whether the robot has come back to an observation since the machine moved."""

    def __len__(self) -> int:
        """Return how many observations are remembered."""
        return len(self._tries)

    def arrive(self, observation: NDArray[Any], moved: bool) -> None:
        """Note where a step has ended; if it moved the machine, forget what came before."""
        if moved:
            self._tries.clear()
            self.returned = False
            if self._deadlines is not None:
                self._deadlines.restart()
        key = np.asarray(observation).tobytes()
        self.returned |= key in self._tries
        self._here = self._tries.setdefault(key, np.zeros(self._actions, np.int64))
        self._tries.move_to_end(key)
        if len(self._tries) > KEPT_OBSERVATIONS:
            self._tries.popitem(last=False)

    def choose(self, worth: FloatArray, log_value: FloatArray) -> tuple[int, int]:
        """Return the goal and the action of the greatest worth, `[goal, action]` as logarithms.

        `log_value[goal]` is the goal's own value, which sets its deadline.
        """
        if self._deadlines is None:
            self._deadlines = Deadlines(self._gamma, len(worth))
        believed = worth + self._deadlines.penalty[0][:, None]
        action = int((believed.max(axis=0) + self._repeat * self._here).argmax())
        goal = int(believed[:, action].argmax())
        self._here[action] += 1
        self._deadlines.watch_one(goal, float(log_value[goal]))
        return goal, action


# Recurring missions visit their recurrences in the order in which they are written.
#
# A round of `G F a & G F b & G F c` may see its recurrences in any order, and the last one counts for
# the next round, too. So a b c b a completes as many rounds as a b c a b: two ways each. But it comes
# back to its ends only after four ways, and a Büchi automaton, which waits for a, b and c in turn,
# waits longest for a robot that goes round the other way. So where the machine leaves a choice, goals
# out of turn count for half, as goals that missed a deadline do: what is out of reach does not hold the
# robot up.


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
