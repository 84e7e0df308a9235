"""Plans of several legs, with what lies between label sets in the world at hand."""

import math

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_primitives.planning.legs_ahead import LegsAhead

SETS = tuple(frozenset(some) for some in ((), ("a",), ("b",), ("c",)))
GAMMA = 0.9
MEAN_STEPS = 4


def legs_ahead(machine, pursued):
    """Return plans where all ways take the same number of steps on the mean, and avoid nothing."""
    steps = np.full((4, 4), MEAN_STEPS * math.log(GAMMA))
    rewards = np.array([[len(SETS[h]) * 1.0 for h in range(4)]] * machine.num_states)
    with np.errstate(divide="ignore"):
        weights = np.where(pursued, np.log(rewards), -np.inf)
    costs = np.zeros((machine.num_states, 4, 4))
    return LegsAhead(machine, SETS, weights, steps, costs, math.log(GAMMA))


def pursued_by(machine):
    """Return which label sets move the machine from each state that does not end."""
    return np.array(
        [
            [
                state not in machine.terminal
                and machine.step(state, labels) not in ((state, 0), (state, 0.0))
                and bool(labels)
                for labels in SETS
            ]
            for state in range(machine.num_states)
        ]
    )


def test_of_two_orders_the_one_is_worth_more_whose_legs_are_short_here():
    machine = compile_mission("F a & F b & F c", propositions="abc").machine
    ahead = legs_ahead(machine, pursued_by(machine))
    start = machine.initial
    assert ahead.label_sets(start).tolist() == [False, True, True, True]
    unknown = np.full((4, 4), np.nan)
    alike = ahead.continuation(start, unknown)
    assert alike[1, 2] == pytest.approx(alike[1, 3])
    steps = np.full((4, 4), 5.0)
    steps[1, 2] = steps[2, 3] = 1.0  # a, then b, then c lie in a row; c to b is far.
    here = ahead.continuation(start, steps * math.log(GAMMA))
    # What is left once b was shown after a is the way to c; beside the value of both legs.
    assert here[1, 2] - here[1, 3] == pytest.approx(4.0 * -math.log(GAMMA))
    assert here[1, 2] == pytest.approx((1 + 1) * math.log(GAMMA))
    assert np.isneginf(here[1, 1])


def test_the_avoided_makes_later_legs_dearer_in_its_own_machine_state_only():
    machine = compile_mission("F(a & (!c U b))", propositions="abc").machine
    pursued = pursued_by(machine)
    plain = legs_ahead(machine, pursued).continuation(machine.initial, np.zeros((4, 4)))
    costs = np.zeros((machine.num_states, 4, 4))
    after = machine.step(machine.initial, SETS[1])[0]
    costs[after, 1, 2] = math.log(0.5)
    ahead = legs_ahead(machine, pursued)
    dear = LegsAhead(machine, SETS, ahead._weights, ahead._means, costs, math.log(GAMMA))
    found = dear.continuation(machine.initial, np.zeros((4, 4)))
    assert found[1, 2] == pytest.approx(plain[1, 2] + math.log(0.5))
