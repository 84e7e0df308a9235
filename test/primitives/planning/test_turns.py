"""Recurring missions of several recurrences are gone round in the order they are written in."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box

from skm_machine import compile_mission
from skm_primitives import make_policy
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues, GoalToGoal

NAMES = ("a", "b", "c")
SKILLS = SimpleNamespace(
    domain="line",
    propositions=NAMES,
    constraints=(),
    goals=tuple(Goal(frozenset({name})) for name in NAMES),
    world_model=GoalToGoal(np.full((3, 3), 0.5, np.float32)),
    gamma=0.9,
    action_space=Box(-1.0, 1.0, (1,)),
    digest="",
)
FAR = {frozenset("ab"): 2, frozenset("bc"): 2, frozenset("ac"): 3}
"""`b` lies between the others, so that the nearest one leads to and fro."""


def values_at(place, lost=()):
    """Return the values of the three goals from one of them, or from in front of `a`."""
    away = [FAR.get(frozenset((place, name)), 1) for name in NAMES]
    value = np.array([0.0 if name in lost else 0.9**k for name, k in zip(NAMES, away, strict=True)])
    zeros = np.zeros((3, 1), np.float32)
    return ContinuousGoalValues(zeros, value.astype(np.float32), np.zeros(3, np.float32), zeros)


def visited(formula, count, lost=()):
    """Return what a robot that is put at once where it wants to be sees, one after the other."""
    mission = compile_mission(formula, propositions=NAMES)
    policy = make_policy(mission, SKILLS)
    policy.start(None)
    state, place, seen = mission.machine.initial, "a", ""
    for _ in range(count):
        place = NAMES[policy.choose(state, values_at(place, lost)).goal]
        seen += place
        state = mission.machine.step(state, frozenset({place})).target
        state = mission.machine.step(state, frozenset({place})).target  # It stays a while.
    return seen


@pytest.mark.parametrize(("formula", "order"), [("abc", "abcabcabc"), ("cba", "acbacbacb")])
def test_three_recurrences_are_gone_round_as_they_are_written(formula, order):
    assert visited(" & ".join(f"G F {name}" for name in formula), 9) == order


def test_two_recurrences_are_gone_to_and_fro():
    assert visited("G F a & G F c", 6) == "acacac"


def test_what_is_out_of_reach_does_not_hold_the_robot_up():
    """Nothing else is left of the round then, but as long as there is, it is gone to."""
    assert visited("G F a & G F b & G F c", 2, lost=("b",)) == "ac"
