"""Options: no flapping between goals, no standing still, no going in circles."""

from itertools import pairwise

import numpy as np
import pytest

from skm_machine.errors import SkmError
from skm_primitives.planning.options import (
    ATTEMPTS,
    KEPT_OBSERVATIONS,
    LATE,
    NONE,
    REPEAT_STEPS,
    SLACK,
    DiscreteOptions,
    Options,
)
from skm_primitives.skills.values import ContinuousGoalValues

GAMMA = 0.99


def values_of(*values, spread=0.0):
    """Return values in which goal i has the action (i, i) and (-i, -i), nearly as good."""
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
    options = Options(GAMMA)
    for values in ([0.1, 0.5, 0.4], [0.1, 0.5, 0.6], [0.7, 0.5, 0.6]):
        chosen = options.choose(values_of(*values), ALL)
        assert chosen.goal[0] == np.argmax(values)
    masked = options.choose(values_of(0.9, 0.5, 0.6), np.array([False, True, True]))
    assert (masked.goal[0], masked.value[0]) == (2, np.float32(0.6))
    assert masked.action[0].tolist() == [2, 2]


def test_goals_that_are_equal_within_the_networks_doubt_do_not_flap():
    """On the way to both, the larger of two values flips at random; the goal does not."""
    random = np.random.default_rng(0)
    options = Options(GAMMA)
    larger, goals = set(), set()
    for step in range(150):
        noisy = 0.99 ** (200 - step) * np.exp(random.uniform(-0.02, 0.02, 2))
        larger.add(int(noisy.argmax()))
        goals.add(int(options.choose(values_of(0.0, *noisy, spread=0.02), ALL).goal[0]))
    assert len(larger) == 2
    assert len(goals) == 1


def test_a_goal_that_is_better_beyond_doubt_takes_over():
    options = Options(GAMMA)
    assert options.choose(values_of(0.0, 0.5, 0.45, spread=0.1), ALL).goal[0] == 1
    assert options.choose(values_of(0.0, 0.5, 0.6, spread=0.1), ALL).goal[0] == 1
    assert options.choose(values_of(0.0, 0.5, 0.7, spread=0.1), ALL).goal[0] == 2


def test_a_goal_out_of_reach_is_given_up_whatever_the_doubt():
    options = Options(GAMMA)
    options.choose(values_of(0.0, 0.5, 0.45, spread=9.0), ALL)
    assert options.choose(values_of(0.0, 0.0, 0.1, spread=9.0), ALL).goal[0] == 2


def test_a_standstill_is_broken_by_an_action_nearly_as_good_that_is_held_and_ends():
    options = Options(GAMMA)
    moves = [options.choose(values_of(0.0, 1.0, 0.0), ALL) for _ in range(2 * (SLACK + LATE) + 2)]
    late = [bool(move.late[0]) for move in moves]
    assert late == [False] * SLACK + [True] * LATE + [False] * SLACK + [True] * LATE + [False] * 2
    assert moves[SLACK].action[0].tolist() == [-1, -1]


def test_a_robot_is_exhausted_once_every_option_missed_enough_deadlines():
    attempts = 4
    options = Options(GAMMA, held=ATTEMPTS // attempts)
    count = 2 * attempts * (SLACK + LATE)
    moves = [options.choose(values_of(0.0, 1.0, 0.9), ALL) for _ in range(count)]
    exhausted = [bool(move.exhausted[0]) for move in moves]
    first = exhausted.index(True)
    assert all(exhausted[first:])
    begun = [not a.late[0] and b.late[0] for a, b in pairwise(moves[: first + 1])]
    assert sum(begun) == 2 * attempts
    options.restart()
    assert not options.choose(values_of(0.0, 1.0, 0.9), ALL).exhausted[0]


def test_a_goal_that_leads_nowhere_counts_for_less_until_the_skill_is_a_new_one():
    """Its value stays the larger one, but nothing comes of it: the other goal is tried."""
    options, values = Options(GAMMA), values_of(0.0, 1.0, 0.8)
    goals = [int(options.choose(values, ALL).goal[0]) for _ in range(SLACK + LATE + 5)]
    assert goals == [1] * (SLACK + LATE) + [2] * 5  # The action is held to its end.
    options.restart()
    assert options.choose(values, ALL).goal[0] == 1


def test_a_value_that_grows_is_no_standstill():
    options = Options(GAMMA)
    for step in range(40):
        assert not options.choose(values_of(0.0, GAMMA ** (40 - step), 0.0), ALL).late[0]


def test_a_value_that_creeps_up_is_a_standstill():
    """A robot at rest: rounding alone makes each value the highest yet."""
    options, value, late = Options(GAMMA), np.float32(0.999), []
    for _ in range(SLACK + LATE + 2):
        late.append(bool(options.choose(values_of(0.0, value, 0.0), ALL).late[0]))
        value = np.nextafter(value, np.float32(1))
    assert late == [False] * SLACK + [True] * LATE + [False] * 2


def test_where_something_must_be_avoided_no_action_is_held():
    options, taken = Options(GAMMA), []
    for step in range(SLACK + LATE):
        values = values_of(0.0, 1.0, 0.0)
        values.near_best[1] = step
        taken.append(float(options.choose(values, ALL, hold=False).action[0, 0]))
    assert taken == [1] * SLACK + list(range(SLACK, SLACK + LATE))


def test_no_penalty_rules_a_goal_out():
    """However often it stood still, the robot goes on: there is no other goal."""
    options = Options(GAMMA)
    for _ in range(1000):
        assert options.choose(values_of(0.0, 0.5, 0.0), ALL).goal[0] == 1


def test_goals_that_undo_each_other_miss_their_deadlines():
    """Which of two goals is better flips with every step or two; the third would lead somewhere."""
    options = Options(GAMMA)
    flipping = [values_of(0.4, 0.5, 0.6), values_of(0.4, 0.6, 0.5), values_of(0.4, 0.5, 0.6)]
    pursued = [int(options.choose(flipping[step % 3], ALL).goal[0]) for step in range(300)]
    assert set(pursued[:SLACK]) == {1, 2}
    assert 0 in pursued


def test_worth_weighs_goals_and_restart_forgets():
    options = Options(GAMMA)
    worth = np.array([1.0, 0.1, 1.0], np.float32)
    assert options.choose(values_of(0.0, 0.9, 0.5, spread=5.0), ALL, worth).goal[0] == 2
    options.restart()
    assert options.choose(values_of(0.0, 0.9, 0.5, spread=5.0), ALL).goal[0] == 1


def test_with_nothing_in_reach_the_robot_stands_still():
    chosen = Options(GAMMA).choose(values_of(0.0, 0.0, 0.0), ALL)
    assert chosen.goal[0] == NONE
    assert chosen.action[0].tolist() == [0, 0]
    assert chosen.value[0] == 0


def test_robots_of_a_batch_have_goals_of_their_own():
    one, two = values_of(0.0, 0.5, 0.4), values_of(0.0, 0.4, 0.5)
    both = ContinuousGoalValues(
        *(np.stack([getattr(v, n) for v in (one, two)]) for n in one.__slots__)
    )
    options = Options(GAMMA, 2)
    assert options.choose(both, ALL).goal.tolist() == [1, 2]
    with pytest.raises(SkmError, match="2 robots"):
        Options(GAMMA, 3).choose(both, ALL)


def picture(cell):
    return np.full((2, 2), cell, np.uint8)


def walk(worth, steps, *, memory):
    """Walk a corridor of five cells from its middle, after one goal; return the cells entered."""
    options = DiscreteOptions(GAMMA, 2)
    cell, entered = 2, []
    for step in range(steps):
        options.arrive(picture(cell), moved=not memory or step == 0)
        logs = np.log(np.array(worth[cell]))[None]
        cell = int(np.clip(cell + (-1, 1)[options.choose(logs, logs.max(axis=1))[1]], 0, 4))
        entered.append(cell)
    return entered


def test_a_network_that_flips_between_two_cells_gets_out():
    """Cells 2 and 3 point at each other; the goal is at 0."""
    worth = [(1.0, 0.5), (1.0, 0.5), (0.4, 0.5), (0.5, 0.4), (0.4, 0.3)]
    assert 0 not in walk(worth, 30, memory=False)
    assert 0 in walk(worth, 10, memory=True)


def test_correct_values_are_followed_as_they_are():
    worth = [(0.9, 0.8), (0.9, 0.7), (0.8, 0.6), (0.7, 0.6), (0.6, 0.5)]
    assert walk(worth, 2, memory=True) == walk(worth, 2, memory=False) == [1, 0]


def test_every_try_counts_as_steps_further_away():
    options, log_gamma = DiscreteOptions(GAMMA, 2), np.log(GAMMA)
    worth = np.array([[0.0, 2.5 * REPEAT_STEPS * log_gamma]])
    options.arrive(picture(0), moved=True)
    assert [options.choose(worth, np.zeros(1))[1] for _ in range(4)] == [0, 0, 0, 1]
    options.arrive(picture(1), moved=False)
    assert options.choose(worth, np.zeros(1)) == (0, 0), "nothing was tried here"


def test_a_forbidden_action_is_not_taken_for_want_of_others():
    """Worth next to nothing, it is beaten by an action that was tried without success many times."""
    options, worth = DiscreteOptions(GAMMA, 2), np.log([[0.4, 1e-5]])
    options.arrive(picture(0), moved=True)
    assert {options.choose(worth, worth[:, 0])[1] for _ in range(10)} == {0}


def test_the_memory_is_bounded():
    options = DiscreteOptions(GAMMA, 2)
    for cell in range(2 * KEPT_OBSERVATIONS):
        options.arrive(np.array([cell]), moved=False)
    assert len(options) == KEPT_OBSERVATIONS


def test_a_discrete_goal_that_leads_nowhere_is_left_for_another_until_the_machine_moves():
    """Two actions, of which each leads to one goal; every observation is a new one."""
    options, worth = DiscreteOptions(GAMMA, 2), np.log([[1e-9, 0.9], [0.8, 1e-9]])
    taken = []
    for step in range(30):
        options.arrive(picture(step), moved=step == 0)
        taken.append(options.choose(worth, worth.max(axis=1)))
    assert taken[0] == (0, 1)
    assert (1, 0) in taken
    options.arrive(picture(0), moved=True)
    assert options.choose(worth, worth.max(axis=1)) == (0, 1)
