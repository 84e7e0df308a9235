"""A mission driven state by state, as a node does it, against the loop of `run_episode`."""

import gymnasium
import pytest

from skm_machine import UnachievableMissionError, compile_mission
from skm_machine.tracker import Status
from skm_primitives.execution.episodes import run_episode
from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Ahead
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain
from skm_sim.world import World

OFFICE = get_domain("office")
PRIMITIVES = load_primitives(OFFICE)


def begin(formula, planner="product", max_steps=200, seed=0):
    policy = make_policy(compile_mission(formula), PRIMITIVES, planner)
    run, world = MissionRun(policy, PRIMITIVES, max_steps), World(OFFICE, seed)
    run.begin(world.observation, world.labels)
    return run, world


def decide(run, world):
    return run.decide(PRIMITIVES.values(world.observation, run.history))


@pytest.mark.parametrize("planner", ["product", "paper"])
@pytest.mark.parametrize("task", OFFICE.tasks)
def test_it_decides_as_run_episode_does(task, planner):
    formula = OFFICE.task(task).formula
    run, world = begin(formula, planner, seed=4)
    decisions = []
    while not run.over:
        decisions.append(decide(run, world))
        world.step(decisions[-1].action)
        run.enter(world.observation, world.labels)
    policy = make_policy(compile_mission(formula), PRIMITIVES, planner)
    env = gymnasium.make(OFFICE.env_id, max_episode_steps=-1)
    episode = run_episode(env, PRIMITIVES, policy, max_steps=200, seed=4)
    assert decisions == list(episode.decisions)
    assert run.tracker.transitions == list(episode.transitions)
    assert run.tracker.status is episode.status


@pytest.mark.parametrize("planner", ["product", "values"])
@pytest.mark.parametrize("formula", ["G F A & G F C", "F(coffee & X F office) & G !decoration"])
def test_a_node_that_waits_for_values_decides_the_same(formula, planner):
    """It tracks, asks, sees and chooses ahead, in this order; an answer comes at the end."""
    (run, world), (other, _) = begin(formula, planner), begin(formula, planner)
    needs_no_values = planner == "product"
    assert isinstance(run.policy, Ahead) == needs_no_values
    for _ in range(40):
        settled = run.settled
        decision = decide(run, world)
        assert decision == decide(other, world)
        assert settled in (None, decision)
        assert run.settled is other.settled is None
        world.step(decision.action)
        moved = run.track(world.observation, world.labels)
        assert moved == other.enter(world.observation, world.labels)
        assert (run.history, run.over) == (other.history, other.over)
        if run.over:
            break
        run.see(world.observation)
        run.prepare()
        assert (run.settled is not None) == needs_no_values
    assert run.tracker.transitions == other.tracker.transitions
    assert run.tracker.moves > 1


def test_it_is_over_at_the_step_limit():
    run, world = begin("F A & F B", max_steps=1)
    world.step(decide(run, world).action)
    run.enter(world.observation, world.labels)
    assert run.over
    assert run.tracker.status is Status.RUNNING


def test_labels_count_even_where_the_observation_is_lost():
    run, _ = begin("F coffee")
    assert run.enter(None, frozenset({"coffee"}))
    assert run.tracker.status is Status.ACCEPTED


def test_it_says_what_it_goes_for():
    run, world = begin("F(coffee & X F office) & G !decoration")
    decide(run, world)
    text = MissionText(run)
    assert text.target == "coffee & !decoration"
    assert text.active_constraints == ("decoration",)
    assert "coffee" in PRIMITIVES.goals[run.goal].labels
    assert 0 < run.goal_value <= 1
    run.enter(world.observation, {"coffee"})
    decide(run, world)
    assert text.target == "office & !decoration"
    run.enter(world.observation, {"office"})
    assert (run.over, text.target, text.active_constraints) == (True, "", ())


@pytest.mark.parametrize("formula", ["G F A & G F C", "F(coffee & X F office) & G !decoration"])
def test_what_was_studied_before_is_what_would_be_told_on_the_way(formula):
    (run, world), (other, _) = begin(formula), begin(formula)
    text, later = MissionText(run), MissionText(other)
    text.study()
    while not run.over and run.tracker.moves < 4:
        decision = decide(run, world)
        assert decide(other, world) == decision
        values = PRIMITIVES.values(world.observation, run.history)
        pursued = PRIMITIVES.goals[run.goal]
        alike = [
            number
            for number, goal in enumerate(PRIMITIVES.goals)
            if (goal.labels, goal.place) == (pursued.labels, pursued.place)
        ]
        assert run.goal_value == max(values.move[alike].max(), values.stop[alike].max())
        told = text.target, text.active_constraints, run.goal_value
        assert told == (later.target, later.active_constraints, other.goal_value)
        world.step(decision.action)
        run.enter(world.observation, world.labels)
        other.enter(world.observation, world.labels)
    assert run.tracker.moves > 1


def test_what_cannot_be_achieved_is_refused():
    with pytest.raises(UnachievableMissionError):
        begin("F(coffee & mail)")
