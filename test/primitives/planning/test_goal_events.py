"""Events where goals are label sets: never counted on, reacted to at once, never walked into."""

import pytest

from skm_machine import compile_mission
from skm_machine.errors import UnachievableMissionError
from skm_machine.events import EventScript
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.policy import Expectation
from skm_sim import get_domain

SAFETY, REGION = get_domain("safety"), get_domain("safety_region")


@pytest.fixture(scope="module", params=[SAFETY, REGION], ids=lambda spec: spec.name)
def skills(request):
    return load_primitives(request.param)


@pytest.fixture(scope="module")
def few():
    """Skills with two goals for each label set, with all of which every mission is planned."""
    return load_primitives(REGION)


def mission_of(text, *events):
    return compile_mission(text, propositions=SAFETY.propositions, events=events)


def run(skills, mission, script, steps, seed=3):
    """Return the episode, with the labels of the goal in pursuit after each step."""
    policy, pursued = make_policy(mission, skills), []
    episode = run_episode(
        get_domain(skills.domain).make(),
        skills,
        policy,
        max_steps=steps,
        seed=seed,
        events=EventScript(script),
        watch=lambda tracker, decision: pursued.append(decision),
    )
    return episode, [skills.goals[d.goal].labels if d.goal >= 0 else frozenset() for d in pursued]


@pytest.mark.parametrize("seed", range(4))
def test_what_an_event_makes_the_robot_owe_is_done_first_from_the_next_step_on(skills, seed):
    mission = mission_of("G(battery_low -> F cylinder) & G F button & G F region", "battery_low")
    episode, pursued = run(skills, mission, "battery_low@60", 200, seed)
    called = next(move for move in episode.transitions if "battery_low" in move.labels)
    assert called.step == 60
    served = [move.step for move in episode.transitions if "cylinder" in move.labels]
    served = min(step for step in served if step > 60)
    assert all("cylinder" in labels for labels in pursued[60:served])  # decisions of step 61 on
    assert episode.outcome == "satisfied so far"


@pytest.mark.parametrize("script", ["battery_low@20-", "battery_low~0.5"])
def test_an_event_that_comes_back_at_once_does_not_keep_the_robot_from_its_rounds(skills, script):
    mission = mission_of("G(battery_low -> F region) & G F button", "battery_low")
    episode, _ = run(skills, mission, script, 500, seed=1)
    assert episode.accepting_visits > 8


def test_without_its_event_the_plan_is_that_of_the_rest(few):
    reactive = mission_of("G(battery_low -> F cylinder) & G F button & G F region", "battery_low")
    plain = mission_of("G F button & G F region")
    one, _ = run(few, reactive, "battery_low", 150)
    other, _ = run(few, plain, "", 150)
    assert min(one.accepting_visits, other.accepting_visits) > 0
    first, same = one.decisions[0], other.decisions[0]
    assert (first.goal, first.value) == (same.goal, pytest.approx(same.value))


def test_the_planner_waits_for_an_event_and_never_counts_on_it(skills):
    mission = mission_of("F(door_open & X F button) & G(region -> door_open)", "door_open")
    waited, _ = run(skills, mission, "door_open", 80)
    assert waited.outcome == "timed out"
    assert all(decision.expectation is Expectation.WAITING for decision in waited.decisions)
    opened, _ = run(skills, mission, "door_open@30-", 200)
    assert opened.outcome == "accepted"
    assert opened.transitions[0].step == 30
    with pytest.raises(UnachievableMissionError):
        make_policy(mission_of("F(button & X F false) & F door_open", "door_open"), skills)


def test_goals_that_an_event_could_turn_into_a_failure_are_not_pursued(few):
    text = "F(button | region) & G(region -> !alarm)"
    free = make_policy(mission_of("F(button | region)"), few)
    careful = make_policy(mission_of(text, "alarm"), few)
    start = careful.mission.machine.initial
    risky = [g for g, goal in enumerate(few.goals) if "region" in goal.labels]
    assert free.weights[free.mission.machine.initial][risky].any()
    assert not careful.weights[start][risky].any()
    assert careful.weights[start].any()
