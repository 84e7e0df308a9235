"""Networks relative to what is to be avoided: what they see, what they learn, how they are served."""

from dataclasses import replace

import numpy as np
import pytest

from rail_learning import assert_resumes_to_the_same_bytes, learned_on
from rail_world import KINDS, RAIL
from skm_primitives.skills.checkpoint import WrongDomainError
from skm_primitives.skills.goal_encoding import avoid_inputs, avoided_kinds
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_sim.object_centric import ObjectKinds

RED, BLUE = frozenset({"red"}), frozenset({"blue"})
BOTH = RED | BLUE
SETS = ((), ("red",), ("blue",), ("red", "blue"))
APART = replace(
    RAIL, objects=ObjectKinds(own=1, kinds=KINDS, each=(1, 1), features=3, allowed=SETS)
)
OPTIONS = {"update_every": 3, "slots": 2}


def learned(rounds, **options):
    return learned_on(APART, rounds, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def primitives(tmp_path_factory):
    """What was learned on the rail, served."""
    path = tmp_path_factory.mktemp("apart") / "apart"
    learned(20).save(path, "test")
    return load_primitives(APART, path)


def value_of(primitives, red, blue, goal):
    """Return what a goal is worth with the stops so far away."""
    values = primitives.values(np.array([red, blue], np.float32))
    return float(values.value[primitives.goals.index(goal)])


def test_the_network_sees_everything_and_once_more_what_to_avoid():
    kinds = ObjectKinds(own=1, kinds=("a", "b"), each=(1, 2), features=2, allowed=((), ("a", "b")))
    features = np.array([[9, 1, 2, 3, 4, 5, 6]], np.float32)
    shown = avoid_inputs(kinds, features, np.array([[False, True]]))[0].tolist()
    assert shown == [9, 1, 2, 3, 4, 5, 6, 0, 0, 3, 4, 5, 6, 0, 1]
    assert kinds.relative_inputs == len(shown)
    allowed = np.array([0b00, 0b01, 0b10, 0b11])  # Bits over the propositions, in their order.
    assert avoided_kinds(kinds, ("b", "a"), allowed).tolist() == [
        [True, True],
        [True, False],
        [False, True],
        [False, False],
    ]


def test_every_label_set_has_a_goal_for_every_set_that_may_be_touched(primitives):
    """Nothing is a label set, too; with room for two, the third has made everything grow."""
    sets = [frozenset(some) for some in SETS]
    labels = {goal.labels for goal in primitives.goals}
    assert labels == {frozenset(), RED, BLUE}
    assert set(primitives.goals) == {Goal(each, some) for each in labels for some in sets}


def test_values_are_those_one_can_write_down(primitives):
    """γ to the number of steps, less one; little where what is to be avoided is in the way."""
    for red, blue in ((1, -2), (3, -1), (-2, 2), (4, 2)):
        worth = value_of(primitives, red, blue, Goal(RED, BOTH))
        assert worth == pytest.approx(0.9 ** (abs(red) - 1), abs=0.2)
    assert value_of(primitives, 3, 1, Goal(RED, RED)) < 0.35
    assert value_of(primitives, 3, 1, Goal(RED, frozenset())) < 0.35
    assert value_of(primitives, 3, 1, Goal(RED, BLUE)) > 0.5
    assert value_of(primitives, 3, -1, Goal(RED, frozenset())) > 0.5


def test_only_sets_that_are_wanted_are_asked_about_and_actions_stay_the_same(primitives):
    seen = np.array([3, -1], np.float32)
    wanted = np.array([goal.violated == RED for goal in primitives.goals])
    some, every = primitives.wanted_values(seen, frozenset(), wanted), primitives.values(seen)
    np.testing.assert_allclose(some.value[wanted], every.value[wanted], atol=1e-6)
    np.testing.assert_array_equal(some.action[wanted], every.action[wanted])
    unasked = np.array([goal.violated not in (RED, BOTH) for goal in primitives.goals])
    assert not some.value[unasked].any()
    assert np.isfinite(some.spread).all()


def test_a_run_that_is_stopped_and_resumed_equals_one_that_is_not(tmp_path):
    assert_resumes_to_the_same_bytes(APART, tmp_path, **OPTIONS)


def test_networks_of_another_kind_are_refused(tmp_path):
    learned(1).save(tmp_path / "apart", "test")
    fewer = replace(APART, objects=replace(APART.objects, own=4, each=(1, 0)))
    with pytest.raises(WrongDomainError, match="do not fit"):
        load_primitives(fewer, tmp_path / "apart")
