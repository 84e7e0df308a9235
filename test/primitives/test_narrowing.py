"""Only the goals that a mission can tell apart are planned with, however many things there are."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box

from skm_machine import compile_mission
from skm_machine.errors import UnachievableMissionError
from skm_primitives import load_primitives, make_policy
from skm_primitives.deep.relative_goals import RelativeGoals
from skm_primitives.planning.grounded_goals import GroundedGoalPolicy
from skm_primitives.planning.narrowing import goals_of_mission
from skm_primitives.primitives import ContinuousGoalValues, GoalToGoal, GoalValues, RemoteSkills
from skm_sim import get_domain
from skm_sim.things import Things

TEN = tuple("abcdefghij")
ACTIONS = Box(-1.0, 1.0, (1,))


@pytest.fixture(scope="module")
def ten():
    """Skills of ten kinds, all equally far from one another: a row for each label set."""
    space = RelativeGoals(TEN, TEN, Things(1, TEN, 2, 3, 2, 6), 16)
    goals, rows = space.goals(), space.served() // space.heads
    behind = GoalToGoal(np.full((len(space), len(goals)), 0.5, np.float32), rows=rows)
    return RemoteSkills("ten", "", "", TEN, TEN, goals, behind, 0.9, ACTIONS, ACTIONS)


def values_of(goals, best):
    """Return values in which one goal is nearest; its action is its number."""
    value = np.full(goals, 0.1, np.float32)
    value[best] = 0.9
    number = np.arange(goals, dtype=np.float32)[:, None]
    return ContinuousGoalValues(number, value, np.zeros(goals, np.float32), number)


def test_of_ten_kinds_only_those_that_the_mission_names_count(ten):
    assert len(ten.goals) == 5120
    mission = compile_mission("!(a | b) U (c & F d)", propositions=TEN)
    kept = [ten.goals[index] for index in goals_of_mission(mission, ten)]
    assert len(kept) == 4 * 8
    assert {goal.labels for goal in kept} == {frozenset(name) for name in "abcd"}
    assert all(goal.violated >= set("efghij") for goal in kept)


def test_a_policy_speaks_of_goals_by_their_numbers_among_all(ten):
    mission = compile_mission("!(a | b) U (c & F d)", propositions=TEN)
    policy = make_policy(mission, ten)
    policy.start(None)
    state = mission.machine.initial
    wanted = np.flatnonzero(policy.wanted(state))
    assert {ten.goals[index].labels for index in wanted} == {frozenset("c")}
    for index in wanted:  # What may be touched must not fail the mission.
        assert not ten.goals[index].violated & {"a", "b"}
    decision = policy.choose(state, values_of(len(ten.goals), wanted[-1]))
    assert decision.goal == decision.action[0] == wanted[-1]
    weights = policy.weights_of_goals(state, None)
    assert np.flatnonzero(weights).tolist() == wanted.tolist()
    each = GoalValues(*np.random.default_rng(0).random((2, len(ten.goals), 3), np.float32))
    best = (np.maximum(each.move, each.stop) * weights[:, None]).max(axis=0)
    np.testing.assert_allclose(policy.composed(state, each), best, rtol=1e-6)


def test_where_nothing_shown_moves_the_machine_all_labels_count(ten):
    """Whoever is to leave `a` may go to anything."""
    mission = compile_mission("F(a & X !a)", propositions=TEN)
    kept = [ten.goals[index] for index in goals_of_mission(mission, ten)]
    assert {goal.labels for goal in kept} == {frozenset(name) for name in TEN}
    assert all(goal.violated >= set(TEN) - {"a"} for goal in kept)


def test_what_cannot_be_achieved_is_refused_as_before(ten):
    with pytest.raises(UnachievableMissionError):
        make_policy(compile_mission("F(a & b)", propositions=TEN), ten)


@pytest.mark.parametrize("text", ["F(blue & F green)", "!yellow U blue", "G F blue & G F yellow"])
def test_goals_that_are_kept_are_worth_what_they_were(text):
    skills = load_primitives(get_domain("zones"))
    mission = compile_mission(text, propositions=skills.propositions)
    policy = make_policy(mission, skills)
    whole = GroundedGoalPolicy(mission, skills, skills.behind_goals)
    kept = goals_of_mission(mission, skills)
    assert 0 < len(kept) < len(skills.goals)
    for state in range(mission.machine.num_states):
        few, all_ = policy.weights_of_goals(state, None), whole.weights_of_goals(state, None)
        np.testing.assert_allclose(few[kept], all_[kept], rtol=0.01, atol=0.02)
        assert not few[np.setdiff1d(np.arange(len(few)), kept)].any()


def test_where_there_are_two_goals_of_each_label_set_both_are_kept(ten):
    strict_or_free = [i for i, goal in enumerate(ten.goals) if len(goal.violated) in (1, len(TEN))]
    goals = tuple(ten.goals[index] for index in strict_or_free)
    behind = ten.behind_goals.among(np.array(strict_or_free))
    skills = replace(ten, goals=goals, behind_goals=behind)
    mission = compile_mission("F a", propositions=TEN)
    assert len(goals) == len(goals_of_mission(mission, skills)) == 20
