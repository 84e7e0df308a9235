"""A memory against going in circles, for executors of learned skills with discrete actions.

In a deterministic world, to see the very same observation again while still after the same thing shows
that what was done there led nowhere, whatever an approximate network says. Each earlier try of an
action at an observation therefore counts as if its goal were `REPEAT_STEPS` steps further away:

    worth(a) · γ^(REPEAT_STEPS · tries of a here)

so that the second best action takes over soon, and an action that a constraint forbids (worth next to
nothing) practically never. Exact values never go in circles, and nothing changes for them.

Where not the action but the goal is wrong, `doubt` makes the goal that was pursued longest worth half.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# How far the goals of a skill are believed: one that was pursued in vain counts for half.
#
# Learned values can promise what the world does not hold, such as a button inside a region where
# there is none. A goal that did not keep its promise loses half the trust, again each time, so
# that the robot comes to try the other goals; a new skill begins with full trust. Kept as a
# count, trust never runs out: of two goals the one that disappointed less often is ahead, however
# often both did.
#
# Where there are many goals of the same labels, which allow more or less to be touched on the
# way, one that is out of reach is so for all that allow no more: these lose the trust with it.
# Else a thing that is enclosed by forbidden ones would be tried once for each of them.


LOST_TRUST: Final = 0.5


class Trust:
    """The trust of some robots in their goals, and for how long they have pursued each."""

    def __init__(self, robots: int = 1, harder: BoolArray | None = None) -> None:
        """`harder[g, h]`: h cannot be in reach if g is not; None where goals say nothing of others."""
        self._harder = harder
        self._lost: IntArray = np.zeros((robots, 0), np.int64)
        self._pursued: IntArray = np.zeros((robots, 0), np.int64)

    def restart(self, robots: BoolArray | None = None) -> None:
        """Believe everything again, for some robots or all."""
        which = slice(None) if robots is None else robots
        self._lost[which] = 0
        self._pursued[which] = 0

    def logarithm(self, goals: int) -> Float32Array:
        """Return log trust, `(robots, goals)`: 0 where nothing was lost."""
        if self._lost.shape[1] != goals:
            self._lost = np.zeros((len(self._lost), goals), np.int64)
            self._pursued = np.zeros_like(self._lost)
        lost: Float32Array = self._lost.astype(np.float32) * np.log(np.float32(LOST_TRUST))
        return lost

    def lost_in(self, goals: BoolArray, times: int) -> BoolArray:
        """Tell which robots lost the trust in all of these goals `(robots, goals)`, so many times."""
        lost: BoolArray = np.all(~goals | (self._lost >= times), axis=1)
        return lost

    def pursue(self, robots: IntArray, goals: IntArray) -> None:
        """Note that these robots spend a step on these goals."""
        self._pursued[robots, goals] += 1

    def lose(self, robots: IntArray, goals: IntArray) -> None:
        """Believe these goals half as much, and those that are harder."""
        if self._harder is None:
            self._lost[robots, goals] += 1
        else:
            self._lost[robots] += self._harder[goals]

    def doubt(self) -> None:
        """Believe the goal that took each robot longest half as much: nothing came of all that.

        Where several goals undo each other, it is the one most likely to blame.
        """
        robots = np.flatnonzero(self._pursued.any(axis=1))
        if len(robots):
            self.lose(robots, self._pursued[robots].argmax(axis=1))
        self._pursued[:] = 0


def harder_goals(goals: Sequence[Goal], many: bool = False) -> BoolArray | None:
    """Return which goals are at least as hard as each: the same labels, and no more allowed on the way.

    None with two goals of each label set, the strictest and the freest: there the one says little of
    the other. Unless they are some of `many`.
    """
    if not many and max(Counter(goal.labels for goal in goals).values(), default=0) <= 2:
        return None
    harder = [[h.labels == g.labels and h.violated <= g.violated for h in goals] for g in goals]
    return np.array(harder, np.bool_)


REPEAT_STEPS = 10
"""How many steps further away a goal counts for each time that the action was tried here before."""
KEPT_OBSERVATIONS: Final = 1000
"""How many observations are remembered: those that were seen last."""


class Revisits:
    """Counts what was tried at each observation since the executor last got what it was after."""

    def __init__(self, actions: int, gamma: float) -> None:
        self._actions = actions
        self._factor = gamma**REPEAT_STEPS
        self._tries: OrderedDict[bytes, IntArray] = OrderedDict()
        self._here = self._blank()
        self._trust = Trust()

    def __len__(self) -> int:
        """Return how many observations are remembered."""
        return len(self._tries)

    def clear(self) -> None:
        """Forget everything: the machine moved on, so what led nowhere before may lead somewhere."""
        self._tries.clear()
        self._here = self._blank()
        self._trust.restart()

    def enter(self, observation: NDArray[Any]) -> None:
        """Note where the agent is now."""
        key = np.asarray(observation).tobytes()
        self._here = self._tries.setdefault(key, self._blank())
        self._tries.move_to_end(key)
        if len(self._tries) > KEPT_OBSERVATIONS:
            self._tries.popitem(last=False)

    def arrive(self, observation: NDArray[Any], moved: bool) -> None:
        """Note where a step has ended; if it moved the machine, forget what came before."""
        if moved:
            self.clear()
        self.enter(observation)

    def choose(self, worth: NDArray[Any]) -> tuple[int, int]:
        """Return the goal and the action of the greatest worth `[goal, action]`, and remember it."""
        trust = np.exp(self._trust.logarithm(len(worth))[0], dtype=np.float64)
        believed = worth * trust[:, None]
        action = int((believed.max(axis=0) * self.factors()).argmax())
        goal = int(believed[:, action].argmax())
        self.took(action)
        self._trust.pursue(_FIRST, np.array([goal]))
        return goal, action

    def doubt(self) -> None:
        """Try another way: nothing came of what was pursued since the machine moved."""
        self._trust.doubt()

    def factors(self) -> FloatArray:
        """Return by what the worth of each action is to be multiplied here, `(actions,)`."""
        return np.power(self._factor, self._here.astype(np.float64))

    def took(self, action: int) -> None:
        """Note what was done here."""
        self._here[action] += 1

    def _blank(self) -> IntArray:
        return np.zeros(self._actions, np.int64)


_FIRST: Final[IntArray] = np.zeros(1, np.int64)
