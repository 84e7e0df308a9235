"""Boolean composition of skills: the paper's operators, and the goal mask that they amount to.

The operators act on goal-oriented value functions, arrays with a goal axis second to last
(`[..., goal, action]`). A composition of primitives takes each goal's values either from Q_MAX or
from Q_MIN, so a Boolean expression over primitives *is* a set of goals: it is compiled once to a
mask over the goal buffer (`goal_mask`), and acting on it is one maximum over that mask.

The two agree wherever Q_MIN ≤ Q_MAX at every goal and action, which optimal values satisfy. For the
maximum over goals, those outside the mask may be left out if no Q_MIN there exceeds the result;
with r_min = 0, Q_MIN is 0 and that holds always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray
from skm_sim.trials import GoalPredicate

Values = NDArray[Any]

Q_MIN = 0.0
"""Q_MIN with r_min = 0: the value of every goal in the task that rewards none."""


def disjunction(first: Values, second: Values) -> Values:
    """Return Q_A ∨ Q_B = max{Q_A, Q_B}."""
    return np.maximum(first, second)


def conjunction(first: Values, second: Values) -> Values:
    """Return Q_A ∧ Q_B = min{Q_A, Q_B}."""
    return np.minimum(first, second)


def negation(values: Values, q_max: Values, q_min: ArrayLike = Q_MIN) -> Values:
    """Return ¬Q_A = (Q_MAX + Q_MIN) − Q_A."""
    negated: Values = (q_max + q_min) - values
    return negated


def primitive(
    name: str,
    goals: Sequence[Goal],
    q_max: Values,
    q_min: ArrayLike = Q_MIN,
    *,
    constraint: bool = False,
) -> Values:
    """Return Q_p: Q_MAX on the goals that contain p, Q_MIN on the others (Algorithm 1, last lines).

    With `constraint`, p is the constraint of that name (with a hat), not the proposition.
    """
    contains = [name in (goal.violated if constraint else goal.labels) for goal in goals]
    return masked_values(q_max, np.array(contains, np.bool_), q_min)


def goal_mask(predicate: GoalPredicate, goals: Sequence[Goal]) -> BoolArray:
    """Compile a Boolean expression over propositions and constraints to the goals that satisfy it.

    This is the one place where masks are made.
    """
    answers: dict[tuple[frozenset[str], frozenset[str]], bool] = {}
    mask = np.zeros(len(goals), np.bool_)
    for index, goal in enumerate(goals):
        key = goal.labels, goal.violated
        if key not in answers:
            answers[key] = predicate.satisfied_by(*key)
        mask[index] = answers[key]
    return mask


def masked_values(q_max: Values, mask: BoolArray, q_min: ArrayLike = Q_MIN) -> Values:
    """Return the composed value function: Q_MAX on the goals in the mask, Q_MIN on the others."""
    return np.where(mask[:, None], q_max, np.asarray(q_min, q_max.dtype))
