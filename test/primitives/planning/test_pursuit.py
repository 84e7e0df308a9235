"""Composed continuous actions: no flapping between goals, no standing still."""

from itertools import pairwise

import numpy as np
import pytest

from skm_machine.errors import SkmError
from skm_primitives.planning.options import IN_VAIN, NONE, Pursuit
from skm_primitives.planning.revisits import harder_goals
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues


def values_of(*values, spread=0.0):
    """Return values in which goal i has the action (i, i) and the detour (-i, -i)."""
    number = np.arange(len(values), dtype=np.float32)
    action = np.stack([number, number], axis=1)
    return ContinuousGoalValues(
        action,
        np.array(values, np.float32),
        np.full(len(values), spread, np.float32),
        -action,
    )


ALL = np.ones(3, np.bool_)


def test_without_disagreement_it_is_the_masked_maximum():
    pursuit = Pursuit()
    for values in ([0.1, 0.5, 0.4], [0.1, 0.5, 0.6], [0.7, 0.5, 0.6]):
        chosen = pursuit.choose(values_of(*values), ALL)
        assert chosen.goal[0] == np.argmax(values)
    masked = pursuit.choose(values_of(0.9, 0.5, 0.6), np.array([False, True, True]))
    assert (masked.goal[0], masked.value[0]) == (2, np.float32(0.6))
    assert masked.action[0].tolist() == [2, 2]


def test_goals_that_are_equal_within_the_networks_doubt_do_not_flap():
    """On the way to both, the larger of two values flips at random; the goal does not."""
    random = np.random.default_rng(0)
    pursuit = Pursuit()
    larger, goals = set(), set()
    for step in range(150):
        noisy = 0.99 ** (200 - step) * np.exp(random.uniform(-0.02, 0.02, 2))
        larger.add(int(noisy.argmax()))
        goals.add(int(pursuit.choose(values_of(0.0, *noisy, spread=0.02), ALL).goal[0]))
    assert len(larger) == 2
    assert len(goals) == 1


def test_a_goal_that_is_better_beyond_doubt_takes_over():
    pursuit = Pursuit()
    assert pursuit.choose(values_of(0.0, 0.5, 0.45, spread=0.1), ALL).goal[0] == 1
    assert pursuit.choose(values_of(0.0, 0.5, 0.6, spread=0.1), ALL).goal[0] == 1
    assert pursuit.choose(values_of(0.0, 0.5, 0.7, spread=0.1), ALL).goal[0] == 2


def test_a_goal_out_of_reach_is_given_up_whatever_the_doubt():
    pursuit = Pursuit()
    pursuit.choose(values_of(0.0, 0.5, 0.45, spread=9.0), ALL)
    assert pursuit.choose(values_of(0.0, 0.0, 0.1, spread=9.0), ALL).goal[0] == 2


def test_a_careful_robot_pursues_in_vain_after_enough_standstills_at_all_that_it_wants():
    for careful in (True, False):
        pursuit = Pursuit(patience=4, detour=3)
        pursuit.careful = careful
        moves = [pursuit.choose(values_of(0.0, 0.5, 0.45), ALL) for _ in range(200)]
        vain = [bool(move.vain[0]) for move in moves]
        begun = [not a.detour[0] and b.detour[0] for a, b in pairwise(moves)]
        if careful:  # The 16th standstill: eight of each goal.
            first = vain.index(True)
            assert sum(begun[: first - 1]) == 2 * IN_VAIN - 1
            assert all(vain[first:])
            pursuit.restart()
            assert not pursuit.choose(values_of(0.0, 0.5, 0.45), ALL).vain[0]
        else:
            assert sum(begun) > 2 * IN_VAIN
            assert not any(vain)


def test_a_standstill_is_broken_by_a_detour_that_is_held_and_ends():
    pursuit = Pursuit(patience=4, detour=3)
    moves = [pursuit.choose(values_of(0.0, 0.5, 0.0), ALL) for _ in range(16)]
    on_detour = [bool(move.detour[0]) for move in moves]
    assert on_detour == [False] * 4 + [True] * 3 + [False] * 4 + [True] * 3 + [False] * 2
    assert moves[4].action[0].tolist() == [-1, -1]


def test_a_goal_that_leads_nowhere_loses_trust_until_the_skill_is_a_new_one():
    """Its value stays the larger one, but nothing comes of it: the other goal is tried."""
    pursuit = Pursuit(patience=4, detour=3)
    values = values_of(0.0, 0.6, 0.5)
    goals = [int(pursuit.choose(values, ALL).goal[0]) for _ in range(12)]
    assert goals == [1] * 7 + [2] * 5  # the detour is held to its end
    pursuit.restart()
    assert pursuit.choose(values, ALL).goal[0] == 1


def test_a_value_that_grows_is_no_standstill():
    pursuit = Pursuit(patience=3, detour=3)
    for step in range(30):
        assert not pursuit.choose(values_of(0.0, 0.99 ** (40 - step), 0.0), ALL).detour[0]


def test_a_value_that_creeps_up_is_a_standstill():
    """A robot at rest: rounding alone makes each value the highest yet."""
    pursuit, value = Pursuit(patience=4, detour=3), np.float32(0.5)
    on_detour = []
    for _ in range(9):
        on_detour.append(bool(pursuit.choose(values_of(0.0, value, 0.0), ALL).detour[0]))
        value = np.nextafter(value, np.float32(1))
    assert on_detour == [False] * 4 + [True] * 3 + [False] * 2


def test_trust_never_runs_out():
    """However often it stood still, the robot goes on: there is no other goal."""
    pursuit = Pursuit(patience=1, detour=1)
    for _ in range(1000):
        assert pursuit.choose(values_of(0.0, 0.5, 0.0), ALL).goal[0] == 1


def test_of_goals_that_undo_each_other_the_one_that_took_longest_is_doubted():
    """Which of two goals is better flips with every step or two; the third would lead somewhere."""
    pursuit = Pursuit(patience=1000)
    flipping = [values_of(0.4, 0.5, 0.6), values_of(0.4, 0.6, 0.5), values_of(0.4, 0.5, 0.6)]

    def pursued():
        return {int(pursuit.choose(flipping[step % 3], ALL).goal[0]) for step in range(60)}

    assert pursued() == {1, 2}
    pursuit.doubt()
    assert pursued() == {1}
    pursuit.doubt()
    assert pursued() == {0}
    pursuit.restart()
    assert pursued() == {1, 2}


def test_doubt_before_anything_was_pursued_changes_nothing():
    pursuit = Pursuit()
    pursuit.doubt()
    assert pursuit.choose(values_of(0.0, 0.6, 0.5), ALL).goal[0] == 1


def test_worth_weighs_goals_and_restart_forgets():
    pursuit = Pursuit()
    worth = np.array([1.0, 0.1, 1.0], np.float32)
    assert pursuit.choose(values_of(0.0, 0.9, 0.5, spread=5.0), ALL, worth).goal[0] == 2
    pursuit.restart()
    assert pursuit.choose(values_of(0.0, 0.9, 0.5, spread=5.0), ALL).goal[0] == 1


def test_with_nothing_in_reach_the_robot_stands_still():
    chosen = Pursuit().choose(values_of(0.0, 0.0, 0.0), ALL)
    assert chosen.goal[0] == NONE
    assert chosen.action[0].tolist() == [0, 0]
    assert chosen.value[0] == 0


def test_robots_of_a_batch_have_goals_of_their_own():
    one, two = values_of(0.0, 0.5, 0.4), values_of(0.0, 0.4, 0.5)
    both = ContinuousGoalValues(
        *(np.stack([getattr(v, n) for v in (one, two)]) for n in one.__slots__)
    )
    pursuit = Pursuit(2)
    assert pursuit.choose(both, ALL).goal.tolist() == [1, 2]
    with pytest.raises(SkmError, match="2 robots"):
        Pursuit(3).choose(both, ALL)


def test_what_allows_no_more_loses_trust_with_the_goal_that_led_nowhere():
    """Three goals at one thing, all the larger, and another thing: that is tried next."""
    one, two = frozenset("a"), frozenset("b")
    goals = [Goal(one, one | {"c"}), Goal(one, one), Goal(one, one | {"b", "c"}), Goal(two, two)]
    harder = harder_goals(goals)
    assert harder.tolist() == [
        [True, True, False, False],
        [False, True, False, False],
        [True, True, True, False],
        [False, False, False, True],
    ]
    values, every = values_of(0.59, 0.58, 0.6, 0.5), np.ones(4, np.bool_)
    together, apart = Pursuit(patience=4, detour=3, harder=harder), Pursuit(patience=4, detour=3)
    assert [int(together.choose(values, every).goal[0]) for _ in range(8)] == [2] * 7 + [3]
    assert [int(apart.choose(values, every).goal[0]) for _ in range(8)] == [2] * 7 + [0]
    assert harder_goals([Goal(one), Goal(one, one), Goal(two), Goal(two, one)]) is None


def test_a_careful_detour_takes_what_is_nearly_as_good_now():
    pursuit = Pursuit(patience=4, detour=3)
    pursuit.careful = True
    taken = []
    for step in range(8):
        values = values_of(0.0, 0.5, 0.0)
        values.detour[1] = step
        taken.append(pursuit.choose(values, ALL).action[0].tolist())
    assert taken == [[1, 1]] * 4 + [[4, 4], [5, 5], [6, 6]] + [[1, 1]]
