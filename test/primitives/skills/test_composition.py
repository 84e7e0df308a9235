"""The paper's operators on value functions and the compiled goal mask say the same."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skm_primitives.skills.composition import (
    conjunction,
    disjunction,
    goal_mask,
    masked_values,
    negation,
    primitive,
)
from skm_primitives.skills.goals import Goal

PROPOSITIONS = ("p", "q", "r")
CONSTRAINTS = ("q", "r")


@dataclass(frozen=True)
class Is:
    """A leaf of a Boolean expression: a proposition, or a constraint (with a hat)."""

    name: str
    constraint: bool

    def satisfied_by(self, labels, violated):
        return self.name in (violated if self.constraint else labels)

    def compose(self, goals, q_max, q_min):
        return primitive(self.name, goals, q_max, q_min, constraint=self.constraint)


@dataclass(frozen=True)
class Not:
    of: object

    def satisfied_by(self, labels, violated):
        return not self.of.satisfied_by(labels, violated)

    def compose(self, goals, q_max, q_min):
        return negation(self.of.compose(goals, q_max, q_min), q_max, q_min)


@dataclass(frozen=True)
class Both:
    first: object
    second: object
    either: bool

    def satisfied_by(self, labels, violated):
        join = any if self.either else all
        return join(side.satisfied_by(labels, violated) for side in (self.first, self.second))

    def compose(self, goals, q_max, q_min):
        join = disjunction if self.either else conjunction
        sides = (side.compose(goals, q_max, q_min) for side in (self.first, self.second))
        return join(*sides)


leaves = st.one_of(
    st.builds(Is, st.sampled_from(PROPOSITIONS), st.just(False)),
    st.builds(Is, st.sampled_from(CONSTRAINTS), st.just(True)),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(st.builds(Not, inner), st.builds(Both, inner, inner, st.booleans())),
    max_leaves=12,
)
goals = st.lists(
    st.builds(
        Goal,
        st.frozensets(st.sampled_from(PROPOSITIONS)),
        st.frozensets(st.sampled_from(CONSTRAINTS)),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=12,
    unique=True,
)


def values(count, low, high):
    """Return random values that floating-point sums keep exact: multiples of 1/256."""
    whole = st.integers(low * 256, high * 256)
    return arrays(np.float64, (count, 2), elements=whole.map(lambda number: number / 256))


def maximum_inside(q_max, mask, q_min=0.0):
    """The best value of each action over the goals in the mask, which is what policies act on."""
    return q_max[..., mask, :].max(axis=-2, initial=q_min)


@given(st.data(), expressions, goals)
def test_operators_agree_with_the_mask_when_rmin_is_zero(data, expression, goals):
    """For any Q_MAX ≥ 0, and Q_MIN = 0: the same function of goals, and the same maximum."""
    q_max = data.draw(values(len(goals), 0, 1))
    mask = goal_mask(expression, goals)
    composed = expression.compose(goals, q_max, 0.0)
    np.testing.assert_array_equal(composed, masked_values(q_max, mask))
    np.testing.assert_array_equal(composed.max(axis=0), maximum_inside(q_max, mask))


@given(st.data(), expressions, goals)
def test_operators_agree_with_the_mask_whenever_q_min_is_below_q_max(data, expression, goals):
    """For rmin ≠ 0, the condition is Q_MIN ≤ Q_MAX at every goal and action; optimal ones satisfy it.

    The maximum over the mask alone is then the composed maximum, wherever it is not below Q_MIN
    outside the mask.
    """
    q_min = data.draw(values(len(goals), -2, 1))
    q_max = q_min + data.draw(values(len(goals), 0, 2))
    mask = goal_mask(expression, goals)
    composed = expression.compose(goals, q_max, q_min)
    np.testing.assert_array_equal(composed, masked_values(q_max, mask, q_min))
    inside = maximum_inside(q_max, mask, -np.inf)
    outside = maximum_inside(q_min, ~mask, -np.inf)
    np.testing.assert_array_equal(composed.max(axis=0), np.maximum(inside, outside))


def test_without_that_condition_they_may_differ():
    """With Q_MIN above Q_MAX, p ∨ ¬p would take the larger one, the mask takes Q_MAX."""
    goal = [Goal(frozenset({"p"}))]
    q_max, q_min = np.array([[0.0]]), np.array([[1.0]])
    always = Both(Is("p", False), Not(Is("p", False)), either=True)
    assert always.compose(goal, q_max, q_min) == 1
    assert masked_values(q_max, goal_mask(always, goal), q_min) == 0


def test_the_mask_forgets_places_and_asks_once_per_label_set():
    asked = []

    class Curious:
        def satisfied_by(self, labels, violated):
            asked.append((labels, violated))
            return "p" in labels

    goals = [Goal(frozenset(names), frozenset(), place) for names in ("p", "q") for place in (0, 1)]
    assert goal_mask(Curious(), goals).tolist() == [True, True, False, False]
    assert len(asked) == 2


def test_a_mask_without_goals_is_worth_q_min():
    assert maximum_inside(np.ones((3, 2)), np.zeros(3, bool)).tolist() == [0, 0]


def test_composition_works_on_batches_of_states():
    q_max = np.arange(24.0).reshape(4, 3, 2)
    mask = np.array([True, False, True])
    assert maximum_inside(q_max, mask).tolist() == q_max[:, 2].tolist()
    assert masked_values(q_max, mask)[:, 1].tolist() == [[0, 0]] * 4
