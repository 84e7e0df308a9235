"""Only the goals that a mission can tell apart are planned with, however many things there are."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box

from skm_machine import compile_mission
from skm_machine.errors import UnachievableMissionError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.label_set_policies import (
    GroundedGoalPolicy,
    goals_of_mission,
    log_goal_weights,
)
from skm_primitives.planning.lookahead import goal_outcomes
from skm_primitives.skills.goal_space import ObjectGoals
from skm_primitives.skills.values import ContinuousGoalValues, GoalToGoal, GoalValues, RemoteSkills
from skm_sim import get_domain
from skm_sim.object_centric import ObjectSets

TEN = tuple("abcdefghij")
ACTIONS = Box(-1.0, 1.0, (1,))


@pytest.fixture(scope="module")
def ten():
    """Skills of ten kinds, all equally far from one another: a row for each label set."""
    space = ObjectGoals(TEN, TEN, ObjectSets(1, TEN, 2, 3, 2, 6), 16)
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
    whole = GroundedGoalPolicy(mission, skills, skills.world_model)
    kept = goals_of_mission(mission, skills)
    assert 0 < len(kept) < len(skills.goals)
    for state in range(mission.machine.num_states):
        few, all_ = policy.weights_of_goals(state, None), whole.weights_of_goals(state, None)
        np.testing.assert_allclose(few[kept], all_[kept], rtol=0.01, atol=0.02)
        assert not few[np.setdiff1d(np.arange(len(few)), kept)].any()


def test_where_there_are_two_goals_of_each_label_set_both_are_kept(ten):
    strict_or_free = [i for i, goal in enumerate(ten.goals) if len(goal.violated) in (1, len(TEN))]
    goals = tuple(ten.goals[index] for index in strict_or_free)
    behind = ten.world_model.select(np.array(strict_or_free))
    skills = replace(ten, goals=goals, world_model=behind)
    mission = compile_mission("F a", propositions=TEN)
    assert len(goals) == len(goals_of_mission(mission, skills)) == 20


WITH_NETWORKS = ("safety", "zones", "moving_targets")


@pytest.mark.parametrize("domain", WITH_NETWORKS)
def test_every_proposition_can_be_promised_to_last(domain):
    """`F G p` was refused: any way to p that may touch more than p was taken to break the commitment."""
    skills = load_primitives(get_domain(domain))
    for p in skills.propositions:
        for text in (f"F G {p}", f"F({p} & X {p})"):
            mission = compile_mission(text, propositions=skills.propositions)
            policy = make_policy(mission, skills)
            machine = mission.machine
            for state in machine.committed or {1}:
                reached = [skills.goals[g] for g in np.flatnonzero(policy.wanted(state))]
                assert any(p in goal.labels for goal in reached), text


def test_a_weaker_mission_is_not_refused_where_a_stronger_one_runs():
    skills = load_primitives(get_domain("zones"))
    for text in ("F G yellow & G !(green | blue | magenta)", "F G yellow", "F G (blue | green)"):
        make_policy(compile_mission(text, propositions=skills.propositions), skills)


@pytest.mark.parametrize("domain", ["safety", "zones"])
def test_what_shall_last_lasts(domain):
    spec = get_domain(domain)
    skills = load_primitives(spec)
    p = skills.propositions[-1]
    mission = compile_mission(f"F G {p}", propositions=skills.propositions)
    episode = run_episode(spec.make(), skills, make_policy(mission, skills), max_steps=250, seed=3)
    rounds = [move.step for move in episode.transitions if move.reward > 0]
    assert rounds[-50:] == list(range(201, 251))


@pytest.mark.parametrize("domain", [*WITH_NETWORKS, "office"])
def test_a_mission_with_no_goal_to_reach_runs(domain):
    """No goal was wanted, so that networks that are asked about each goal had no input to look at."""
    spec = get_domain(domain)
    skills = load_primitives(spec)
    everything = " | ".join(skills.propositions)
    for text in (f"G !({everything})", f"G[0,2] !({everything})", "G true", "X X true"):
        mission = compile_mission(text, propositions=skills.propositions)
        episode = run_episode(
            spec.make(), skills, make_policy(mission, skills), max_steps=4, seed=3
        )
        assert episode.steps
        assert episode.outcome in ("accepted", "satisfied so far", "timed out"), text


def test_goals_that_lead_nowhere_are_worth_nothing(ten):
    """Of 5,120 goals, none can be reached here without failing: planning took seven minutes."""
    mission = compile_mission(f"G !({' | '.join(TEN)})", propositions=TEN)
    outcomes = goal_outcomes(mission.machine, ten)
    assert not len(outcomes.leading_somewhere())
    weights, anywhere = log_goal_weights(outcomes, ten, ten.world_model)
    assert not np.isfinite(weights).any()
    assert anywhere[mission.machine.initial] > 0, "doing nothing is worth more than 1"
