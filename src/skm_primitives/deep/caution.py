"""Caution: of actions that lead to a goal about as well, one that risks nothing that is forbidden.

A skill ends where its goal is reached, and its values look no further: to a robot that stays there, as a
standing order has it do, every action that shows the goal again in the next step is as good as any
other, also one after which it can no longer stop before what is forbidden.

How much an action risks is known all the same, from all goals together. A goal that allows the
constraints V to be violated is worth at most what the same labels are worth where any may be; by how
much less, after an action, is what keeping off the others costs from there on: nothing far from them,
everything where they can't be avoided any more. That logarithm, on average over the labels that can be
shown without touching them, is added to that of each action's value, for every goal that allows V, or
that does once it is reached: where a goal itself shows constraints, it is the others that are risked.
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
    """The goals at which the same constraints are still to be kept off."""

    cautious: BoolArray
    """Those goals: what they allow to be violated and what they show are the same set V together."""
    goals: IntArray
    """Of these, as indices, those that allow all of V and have a twin that allows all constraints."""
    free: IntArray
    """For each of these, that goal."""


def allowed_at(goal: Goal, constraints: frozenset[str]) -> frozenset[str]:
    """Return the constraints that may be violated once a goal is reached: its own, and V."""
    return goal.violated | (goal.labels & constraints)


class Caution:
    """Chooses actions for goals, by the values that each action has for all of them."""

    def __init__(self, goals: Sequence[Goal], constraints: Collection[str]) -> None:
        every = frozenset(constraints)
        free = {goal.labels: i for i, goal in enumerate(goals) if goal.violated == every}
        self._kept: list[_Kept] = []
        reached = [allowed_at(goal, every) for goal in goals]
        for allowed in sorted(set(reached) - {every}, key=sorted):
            cautious = np.array([some == allowed for some in reached])
            compared = [
                i
                for i in np.flatnonzero(cautious).tolist()
                if goals[i].violated == allowed and goals[i].labels in free
            ]
            if compared:
                twins = np.array([free[goals[i].labels] for i in compared])
                self._kept.append(_Kept(cautious, np.array(compared), twins))

    def best(self, logits: Float32Array) -> IntArray:
        """Return the best action of each goal `(n, goals)`.

        From what two networks think of every goal and action, as logits `(2, n, goals, actions)`.
        """
        best: IntArray = logits.mean(0).argmax(-1)
        if not self._kept:
            return best
        log_value = (-np.logaddexp(0, -logits)).mean(0)
        for kept in self._kept:
            cost = log_value[:, kept.goals] - log_value[:, kept.free]
            risk = np.minimum(cost, 0).mean(axis=1)
            careful = (log_value + CAUTION * risk[:, None]).argmax(-1)
            best = np.where(kept.cautious, careful, best)
        return best
