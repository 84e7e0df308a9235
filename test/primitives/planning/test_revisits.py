"""The memory against going in circles."""

import numpy as np
import pytest

from skm_primitives.planning.revisits import KEPT_OBSERVATIONS, REPEAT_STEPS, Revisits

GAMMA = 0.99


def picture(cell):
    return np.full((2, 2), cell, np.uint8)


def walk(worth, steps, *, memory):
    """Walk a corridor of five cells from its middle; return the cells entered."""
    revisits = Revisits(2, GAMMA)
    cell, entered = 2, []
    for _ in range(steps):
        revisits.enter(picture(cell))
        factors = revisits.factors() if memory else 1.0
        action = int((np.array(worth[cell]) * factors).argmax())
        revisits.took(action)
        cell = int(np.clip(cell + (-1, 1)[action], 0, 4))
        entered.append(cell)
    return entered


def test_every_try_counts_as_steps_further_away():
    revisits = Revisits(3, GAMMA)
    revisits.enter(picture(1))
    assert revisits.factors().tolist() == [1, 1, 1]
    revisits.took(2)
    revisits.took(2)
    revisits.enter(picture(0))
    assert revisits.factors().tolist() == [1, 1, 1]
    revisits.enter(picture(1))
    assert revisits.factors() == pytest.approx([1, 1, GAMMA ** (2 * REPEAT_STEPS)])
    revisits.clear()
    revisits.enter(picture(1))
    assert revisits.factors().tolist() == [1, 1, 1]


def test_a_network_that_flips_between_two_cells_gets_out():
    """Cells 2 and 3 point at each other; the goal is at 0."""
    worth = [(1.0, 0.5), (1.0, 0.5), (0.4, 0.5), (0.5, 0.4), (0.4, 0.3)]
    assert 0 not in walk(worth, 30, memory=False)
    assert 0 in walk(worth, 10, memory=True)


def test_correct_values_are_followed_as_they_are():
    worth = [(0.9, 0.8), (0.9, 0.7), (0.8, 0.6), (0.7, 0.6), (0.6, 0.5)]
    assert walk(worth, 2, memory=True) == walk(worth, 2, memory=False) == [1, 0]


def test_a_forbidden_action_is_not_taken_for_want_of_others():
    """Worth next to nothing, it is beaten by an action that was tried in vain many times."""
    revisits = Revisits(2, GAMMA)
    revisits.enter(picture(0))
    for _ in range(10):
        action = int((np.array([0.4, 1e-5]) * revisits.factors()).argmax())
        assert action == 0
        revisits.took(action)


def test_the_memory_is_bounded_and_keeps_what_was_seen_last():
    revisits = Revisits(2, GAMMA)
    for cell in range(2 * KEPT_OBSERVATIONS):
        revisits.enter(np.array([cell]))
        revisits.took(1)
        revisits.enter(np.array([0]))
    assert len(revisits) == KEPT_OBSERVATIONS
    assert revisits.factors()[1] < 1, "it was seen all the time"
    revisits.enter(np.array([1]))
    assert revisits.factors().tolist() == [1, 1], "forgotten"
    revisits.enter(np.array([2 * KEPT_OBSERVATIONS - 1]))
    assert revisits.factors()[1] < 1


def test_a_goal_in_doubt_is_left_for_another_until_the_machine_moves():
    revisits = Revisits(2, GAMMA)
    worth = np.array([[0.0, 0.9], [0.8, 0.0]])
    revisits.arrive(picture(0), moved=True)
    assert revisits.choose(worth) == (0, 1)
    revisits.doubt()
    revisits.arrive(picture(1), moved=False)
    assert revisits.choose(worth) == (1, 0)
    revisits.arrive(picture(1), moved=True)
    assert revisits.choose(worth) == (0, 1)
