"""Goals of the network learners: what is known of them at every transition, without learning."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skm_primitives.skills.goal_space import FREE, NEVER, STRICT, GoalSpace
from skm_primitives.skills.goals import Goal

NAMES = ("button", "region")
NOTHING, BUTTON, REGION = [False, False], [True, False], [False, True]


def a_space(capacity=4):
    """Return a space in which nothing, a button and a region have the slots 0, 1, 2."""
    space = GoalSpace(NAMES, ("region",), capacity)
    space.discover(np.array([NOTHING]))
    space.discover(np.array([BUTTON]))
    space.discover(np.array([REGION]))
    return space


def test_label_sets_get_slots_in_the_order_of_discovery():
    space = a_space()
    assert space.discover(np.array([REGION, NOTHING, BUTTON])).tolist() == [2, 0, 1]
    assert space.goals()[:3] == (
        Goal(frozenset()),
        Goal(frozenset(), frozenset({"region"})),
        Goal(frozenset({"button"})),
    )


def test_the_slots_double_when_they_run_out_and_arrays_are_fitted():
    space = a_space(3)
    assert space.discover(np.array([[True, True]])).tolist() == [3]
    assert (len(space), space.capacity) == (4, 6)
    assert space.fit(np.ones((5, 3, 2))).sum(1).tolist() == [[3, 3]] * 5


def test_label_sets_of_more_propositions_than_a_table_holds_get_slots_too():
    space = GoalSpace(tuple(f"p{i}" for i in range(20)), (), 1)
    rows = np.zeros((3, 20), np.bool_)
    rows[1, 19] = rows[2, 3] = True
    assert space.discover(rows).tolist() == [0, 2, 1]  # new ones by their bits
    assert space.discover(rows[::-1]).tolist() == [1, 2, 0]


def test_stopping_is_known_and_strict_goals_die_when_the_constraint_changes():
    space = a_space()
    slots, following = np.array([0, 0, 2, 2]), np.array([1, 2, 2, 0])
    achieved, alive = space.outcomes(slots, following)
    assert achieved[0, 1].all()
    assert achieved.sum() == 8  # one slot with both heads for each transition
    assert alive[:, 0, FREE].all()
    assert alive[:, 0, STRICT].tolist() == [True, False, True, False]  # entering, leaving a region


def test_steps_to_goals_count_to_the_first_time_and_stop_at_violations():
    space = a_space()
    episode = np.array([[0], [0], [2], [0], [1]])  # nothing, nothing, region, nothing, button
    steps = space.steps_to_goals(episode)[:, 0]
    assert steps[:, 1, FREE].tolist() == [4, 3, 2, 1]
    assert steps[:, 1, STRICT].tolist() == [NEVER, NEVER, NEVER, 1]
    assert steps[:, 2, STRICT].tolist() == [2, 1, NEVER, NEVER]


@given(st.lists(st.integers(0, 2), min_size=2, max_size=12))
def test_steps_to_goals_agree_with_a_plain_search(slots):
    space = a_space()
    steps = space.steps_to_goals(np.array(slots)[:, None])[:, 0]
    for start in range(len(slots) - 1):
        for slot in range(3):
            free = next((k for k in range(start + 1, len(slots)) if slots[k] == slot), start)
            assert steps[start, slot, FREE] == free - start
            clean = [
                k
                for k in range(start + 1, len(slots))
                if all((slots[i] == 2) == (slots[start] == 2) for i in range(start, k))
                and slots[k] == slot
            ]
            assert steps[start, slot, STRICT] == (clean[0] - start if clean else NEVER)


def test_random_masks_are_single_goals_or_boolean_expressions():
    space = a_space()
    masks = space.random_masks(np.random.default_rng(0), 500)
    assert masks.any((1, 2)).all()
    assert not masks[:, 3].any()  # a slot that is not in use
    assert (masks.any(1).sum(1) == 1).all()  # all strict, or all free
    sizes = np.bincount(masks.sum((1, 2)))
    assert sizes[1] > sizes[2] > 0
