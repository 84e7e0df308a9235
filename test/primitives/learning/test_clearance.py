"""Near misses: what counts as one, for which goals, and what becomes of values."""

from dataclasses import replace

import numpy as np
import pytest

from rail_learning import assert_resumes_to_the_same_bytes, learned_on
from rail_world import KINDS, RAIL, RailEncoder
from skm_primitives.learning.clearance import ClearancePenalty
from skm_primitives.skills.goal_space import GoalSpace
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_sim.object_centric import ObjectKinds

RED, BLUE = frozenset({"red"}), frozenset({"blue"})
BOTH = RED | BLUE
SETS = ((), ("red",), ("blue",), ("red", "blue"))
MORE = 4


class ClearanceRailEncoder(RailEncoder):
    """To be beside a stop counts as five steps."""

    def clearance_steps(self, features):
        gaps = np.rint(features[:, [2, 5]] * 7)
        return np.where(np.abs(gaps) == 1, MORE, 0).astype(np.uint8)


WARY = replace(
    RAIL,
    encoder="test_clearance:ClearanceRailEncoder",
    objects=ObjectKinds(
        own=1, kinds=KINDS, each=(1, 1), features=3, allowed=SETS, shown=(("red",), ("blue",))
    ),
)


class Told:
    """An encoder whose features are the near misses themselves."""

    def clearance_steps(self, features):
        return features.astype(np.uint8)


def goals_of(near, here, labels=(0, 0b01, 0b10)):
    """Return the steps more of each goal `[labels, V]`, in a space of red (bit 0) and blue (bit 1)."""
    kinds = WARY.objects
    space = GoalSpace(KINDS, KINDS, 4, labels, (0b00, 0b01, 0b10, 0b11))
    misses = ClearancePenalty(Told(), space, kinds)
    slots, features = np.array([here]), np.array([near], np.float32)
    every = misses.steps(features, slots)[0]
    some = np.array([[5, 0, 3]])
    assert (misses.steps(features, slots, some)[0] == every[some[0]]).all()
    return every.reshape(4, 4).tolist()


def test_a_near_miss_counts_for_goals_that_must_not_touch_it():
    """Red is nearly touched: that is nothing to who may touch red, or wants to arrive there."""
    assert goals_of([5, 0], here=0) == [[5, 0, 5, 0], [0, 0, 0, 0], [5, 0, 5, 0], [0, 0, 0, 0]]
    assert goals_of([0, 3], here=0)[1] == [3, 3, 0, 0]
    assert goals_of([5, 3], here=0)[0] == [5, 3, 5, 0]


def test_what_is_touched_already_is_not_nearly_touched():
    """In red, another red thing is no danger; a blue one is, also where red was just arrived at."""
    assert goals_of([5, 0], here=1) == [[0] * 4] * 4
    assert goals_of([5, 3], here=1)[1] == [3, 3, 0, 0]


def test_label_sets_that_come_later_are_known_too():
    space = GoalSpace(KINDS, KINDS, 4, (0,), (0b00, 0b11))
    misses = ClearancePenalty(Told(), space, WARY.objects)
    seen = np.array([[5, 0]], np.float32)
    assert misses.steps(seen, np.array([0]))[0].tolist() == [5, 0, 0, 0, 0, 0, 0, 0]
    space.add(0b10)
    assert misses.steps(seen, np.array([0]))[0].tolist() == [5, 0, 5, 0, 0, 0, 0, 0]


def test_steps_known_from_an_episode_last_longer_there():
    """Nothing, nothing, red: the second step counts three more for V = ∅, and so does all before it."""
    space = GoalSpace(KINDS, KINDS, 2, (0, 0b01), (0b00, 0b11))
    slots = np.array([[0], [0], [1]])
    more = np.zeros((2, 1, 2, 2), np.uint8)
    more[1, 0, 1, 0] = 3
    assert space.steps_to_goals(slots)[:, 0, 1].tolist() == [[2, 2], [1, 1]]
    assert space.steps_to_goals(slots, None, more)[:, 0, 1].tolist() == [[5, 2], [4, 1]]
    more[1, 0, 1, 0] = 255
    assert space.steps_to_goals(slots, None, more)[:, 0, 1].tolist() == [[0, 2], [0, 1]]


def test_values_are_those_one_can_write_down(tmp_path):
    """Arriving at red beside blue is worth γ^4 where blue must not be touched, and else 1."""
    learned_on(WARY, 40, update_every=3, slots=2, validate_rounds=40).save(
        tmp_path / "wary", "test"
    )
    primitives = load_primitives(WARY, tmp_path / "wary")

    def worth(red, blue, goal):
        values = primitives.values(np.array([red, blue], np.float32))
        return float(values.value[primitives.goals.index(goal)])

    assert worth(1, 2, Goal(RED, RED)) == pytest.approx(0.9**MORE, abs=0.1)
    assert worth(1, 2, Goal(RED, BOTH)) == pytest.approx(1, abs=0.1)
    assert worth(1, 3, Goal(RED, RED)) == pytest.approx(1, abs=0.1)
    # From beside blue, two steps away from it: only arriving elsewhere counts as it is.
    assert worth(2, -1, Goal(RED, RED)) == pytest.approx(0.9, abs=0.1)


def test_they_can_be_left_out(tmp_path):
    learned_on(WARY, 40, update_every=3, slots=2, clearance_penalty=False).save(
        tmp_path / "bold", "test"
    )
    primitives = load_primitives(WARY, tmp_path / "bold")
    values = primitives.values(np.array([1, 2], np.float32))
    assert values.value[primitives.goals.index(Goal(RED, RED))] == pytest.approx(1, abs=0.1)


def test_a_run_that_is_stopped_and_resumed_equals_one_that_is_not(tmp_path):
    assert_resumes_to_the_same_bytes(WARY, tmp_path, update_every=3, slots=2)
