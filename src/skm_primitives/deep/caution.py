"""Caution: of actions that lead to a goal about as well, one that risks nothing that is forbidden.

A skill ends where its goal is reached, and its values look no further: to a robot that stays there, as a
standing order has it do, every action that shows the goal again in the next step is as good as any
other, also one after which it can no longer stop before what is forbidden.

How much an action risks is known all the same, from all goals together. A goal that allows the
constraints V to be violated is worth at most what the same labels are worth where any may be; by how
much less, after an action, is what keeping off the others costs from there on: nothing far from them,
everything where they can't be avoided any more. That logarithm, on average over the labels that can be
shown without touching them, is added to that of each action's value, for every goal that allows V.

Inside what is forbidden that is turned round. A constraint counts as violated when it changes, so to the
strict goals leaving is as bad as entering was, and the careful thing would be to drift on. A robot can
be there with its mission unharmed: it was allowed so far, or is as long as other labels are shown with
it. It is inside if forbidden labels are nearer than all others, on average over what it may do; then it
takes the shortest way to its goal, as if everything were allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from skm_primitives.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, IntArray

CAUTION: Final = 1.0
"""How much the risk counts beside the value."""


class _Kept(NamedTuple):
    """The goals that allow the same constraints to be violated."""

    cautious: BoolArray
    """Those whose labels show none of the other constraints."""
    goals: IntArray
    """Of these, as indices, those with a goal of the same labels that allows all constraints."""
    forbidden: IntArray
    """The goals that allow all constraints and show one of the others."""


class Caution:
    """Chooses actions for goals, by the values that each action has for all of them."""

    def __init__(self, goals: Sequence[Goal], constraints: Collection[str]) -> None:
        every = frozenset(constraints)
        free = {goal.labels: i for i, goal in enumerate(goals) if goal.violated == every}
        self._twins = np.array([free.get(goal.labels, i) for i, goal in enumerate(goals)])
        """For every goal, the one of the same labels that allows all constraints, or itself."""
        self._kept: list[_Kept] = []
        for allowed in sorted({goal.violated for goal in goals} - {every}, key=sorted):
            cautious = np.array(
                [goal.violated == allowed and goal.labels & every <= allowed for goal in goals]
            )
            compared = [i for i in np.flatnonzero(cautious).tolist() if goals[i].labels in free]
            if compared:
                shown = [i for labels, i in free.items() if not labels & every <= allowed]
                self._kept.append(_Kept(cautious, np.array(compared), np.array(shown, np.int64)))

    def best(self, logits: Float32Array) -> IntArray:
        """Return the best action of each goal `(n, goals)`.

        From what two networks think of every goal and action, as logits `(2, n, goals, actions)`.
        """
        best: IntArray = logits.mean(0).argmax(-1)
        if not self._kept:
            return best
        log_value = (-np.logaddexp(0, -logits)).mean(0)
        shortest = best[:, self._twins]
        for kept in self._kept:
            free = log_value[:, self._twins[kept.goals]]
            risk = np.minimum(log_value[:, kept.goals] - free, 0).mean(axis=1)
            careful = (log_value + CAUTION * risk[:, None]).argmax(-1)
            near = log_value[:, kept.forbidden].max(axis=1, initial=-np.inf).mean(axis=1)
            inside = near > free.max(axis=1).mean(axis=1)
            best = np.where(kept.cautious, np.where(inside[:, None], shortest, careful), best)
        return best
