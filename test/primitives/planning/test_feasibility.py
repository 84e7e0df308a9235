"""Feasibility is decided by reachability: no mission is refused since its value is a small number.

What can be done is searched by definition in `feasibility_oracle`, which shares nothing with the
planners. `python benchmarks/feasibility.py` does the same for 1,000 missions in 20 worlds.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import feasibility_oracle as oracle
from large_grid import grid_spec
from skm_machine import Status, UnachievableMissionError, compile_mission
from skm_machine.skill_machine import plan_paper
from skm_primitives import MissionRun, load_primitives, make_policy, run_episode
from skm_primitives.learning.tabular import TabularLearner
from skm_primitives.learning.training import make_learner, train
from skm_primitives.planning.options import Options
from skm_primitives.planning.policy import Decision, Expectation
from skm_primitives.planning.safety import ValueShield
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.tabular_skills import TabularPrimitives, TabularSettings
from skm_primitives.skills.values import (
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    RemoteSkills,
)
from skm_sim import get_domain
from skm_sim.finite_world import FiniteWorld
from tiny_worlds import TERMINAL

OFFICE = get_domain("office")
STOPS = ("A", "B", "C", "D", "coffee", "mail", "office")


def sequence(names, length):
    """Return the mission to visit places one after the other, over and over."""
    text = f"F {names[(length - 1) % len(names)]}"
    for index in reversed(range(length - 1)):
        text = f"F({names[index % len(names)]} & X {text})"
    return text


def run(spec, skills, text):
    mission = compile_mission(text, propositions=spec.propositions)
    policy = make_policy(mission, skills)
    return run_episode(spec.make(), skills, policy, max_steps=20_000, seed=0)


@pytest.mark.parametrize("steps", [264, 5000])
def test_a_deadline_that_begins_late_is_not_refused_as_impossible(steps):
    episode = run(OFFICE, load_primitives(OFFICE), f"F[{steps},] coffee")
    assert (episode.status, episode.steps) == (Status.ACCEPTED, steps + 1)


@pytest.mark.parametrize("length", [28, 790])
def test_a_long_sequence_is_not_refused_as_impossible(length):
    """Each stop is 10 steps from the last, more or less: none is made twice at once."""
    episode = run(OFFICE, load_primitives(OFFICE), sequence(STOPS, length))
    assert episode.status is Status.ACCEPTED
    assert episode.steps > 5 * length


def test_an_explored_gridworld_refuses_neither(tmp_path):
    spec, out = grid_spec(32), tmp_path / "grid.safetensors"
    learner = make_learner(spec, {}, out, resume=False, overwrite=False)
    train(learner, learner.default_steps, out, "test")
    skills = load_primitives(spec, out)
    assert run(spec, skills, "F[1000,] a").steps == 1001
    assert run(spec, skills, sequence("abcdefgh", 300)).status is Status.ACCEPTED


@pytest.mark.parametrize("world", range(len(oracle.KINDS)))
def test_the_planner_refuses_what_a_search_finds_impossible_and_nothing_else(world):
    rng = np.random.default_rng(world)
    made = oracle.random_world(rng, world)
    skills = oracle.skills_of(made)
    answers = set()
    for _ in range(25):
        text = oracle.random_mission(rng)
        wrong, answer = oracle.check(made, skills, text, rng)
        assert not wrong, text
        answers.add(answer.split()[0])
    assert {"refused", "planned"} <= answers


def corridor(length, gamma, labels, places=True):
    """Return skills in a corridor whose cells show `labels[cell]`; the actions are back and on."""
    cells = np.arange(length)
    successors = np.stack([np.maximum(cells - 1, 0), np.minimum(cells + 1, length - 1)], axis=1)
    shown = [frozenset(labels.get(cell, ())) for cell in range(length)]
    sets = tuple(dict.fromkeys(shown))
    if places:
        goals = tuple(Goal(found, frozenset(), cell) for cell, found in enumerate(shown))
        world = FiniteWorld.showing(
            range(length),
            successors,
            {cell: (found,) for cell, found in enumerate(shown)},
            goal_probability=np.ones(length, np.float32),
        )
    else:
        goals = tuple(Goal(found) for found in sets)
        world = FiniteWorld(successors, sets, np.array([sets.index(found) for found in shown]))
    names = tuple(sorted({name for found in shown for name in found}))
    spaces = Discrete(length), Discrete(2)
    return RemoteSkills("corridor", "", "", names, (), goals, world, gamma, *spaces)


@pytest.mark.parametrize("places", [True, False])
def test_the_way_to_a_far_goal_is_taken_and_is_progress(places):
    """γ^9000 is 0 in double precision; all actions looked alike, and no step was progress."""
    skills = corridor(9001, 0.9, {9000: "a"}, places)
    policy = make_policy(compile_mission("F a"), skills)
    under_way = MissionRun(policy, skills, max_steps=10_000)
    under_way.begin(0, frozenset())
    nothing = np.zeros((len(skills.goals), 2), np.float32)
    cell = 0
    while not under_way.over:
        cell += 1 if under_way.decide(GoalValues(nothing, nothing)).action else -1
        under_way.enter(cell, frozenset("a") if cell == 9000 else frozenset())
    assert under_way.tracker.status is Status.ACCEPTED
    assert under_way.tracker.steps == 9000


def test_a_recurring_mission_of_long_rounds_is_not_refused():
    """A round takes 1,198 steps; the discount knows 263 of them."""
    skills = corridor(600, 0.9, {0: "a", 599: "b"})
    policy = make_policy(compile_mission("G F a & G F b"), skills)
    policy.start(300)
    nothing = np.zeros((600, 2), np.float32)
    state, cell, rewards = policy.mission.machine.initial, 300, 0
    for _ in range(3000):
        cell = int(skills.world_model.successors[cell, policy.choose(state, nothing).action])
        labels = skills.world_model.visit_labels[cell][0]
        state, reward = policy.mission.machine.step(state, labels)
        policy.entered(cell, moved=True)
        rewards += reward
    assert rewards >= 2


def test_what_an_event_would_help_far_away_is_waited_for():
    """The robot can get to where the event would help, 300 steps away: the discount knew 197."""
    skills = corridor(301, 0.9, {300: "a"})
    mission = compile_mission("F(a & call)", propositions=("a",), events=("call",))
    policy = make_policy(mission, skills)
    policy.start(0)
    decision = policy.choose(mission.machine.initial, None)
    assert decision.expectation is Expectation.WAITING
    assert decision.action == 1


def test_rewards_that_come_to_an_end_keep_no_mission_without_end():
    """Three cells show d, then there is none: from there `G d` cannot be kept forever."""
    chain = np.array([[1], [2], [3], [3], [4]])
    shown = np.array([0, 0, 0, 1, 0])
    sets = (frozenset("d"), frozenset())
    spaces = Discrete(5), Discrete(1)
    goals = tuple(Goal(found) for found in sets)
    world = FiniteWorld(chain, sets, shown)
    skills = RemoteSkills("chain", "", "", ("d",), (), goals, world, 0.9, *spaces)
    policy = make_policy(compile_mission("G d", horizon="infinite"), skills)
    policy.start(4)
    with pytest.raises(UnachievableMissionError):
        policy.start(0)


def test_what_ends_the_world_is_not_reached_twice():
    learner = TabularLearner(TERMINAL, TabularSettings())
    while learner.steps < 4000:
        learner.run_round()
    skills = TabularPrimitives(learner.state)
    make_policy(compile_mission("F right"), skills)
    with pytest.raises(UnachievableMissionError, match="once it is in u1, nothing"):
        make_policy(compile_mission("F(right & X F right)"), skills)
    make_policy(compile_mission("F left"), skills).start(4)  # An episode may begin at the end.


def networks(value, gamma=0.99):
    """Return skills with label sets as goals: the learned value of a after each, and of b and c."""
    names = ("a", "b", "c")
    table = np.full((3, 3), value, np.float32)
    table[:, 0] = 0.3
    return SimpleNamespace(
        domain="line",
        propositions=names,
        constraints=(),
        goals=tuple(Goal(frozenset({name})) for name in names),
        world_model=GoalToGoal(table),
        gamma=gamma,
        action_space=Box(-1.0, 1.0, (1,)),
        digest="",
    )


def seen(*value):
    zeros = np.zeros((3, 1), np.float32)
    return ContinuousGoalValues(zeros, np.array(value, np.float32), zeros[:, 0], zeros)


@pytest.mark.parametrize("length", [40, 790])
def test_goals_behind_many_others_are_not_refused(length):
    """0.3^40 is below 1e-9, and 0.3^790 below any number."""
    mission = compile_mission(sequence("abc", length))
    policy = make_policy(mission, networks(0.3))
    policy.start(None)
    decision = policy.choose(mission.machine.initial, seen(0.5, 0.6, 0.7))
    assert decision.goal == 0
    assert np.isfinite(decision.log_value)


def test_learned_values_of_nothing_prove_nothing_but_missing_goals_do():
    mission = compile_mission("F(a & X F b)")
    policy = make_policy(mission, networks(0.0))
    policy.start(None)
    assert policy.choose(mission.machine.initial, seen(0.5, 0.6, 0.7)).goal == 0
    for text in ("F(a & b)", "G F a & F G b", "F(a & X F(b & c))"):
        with pytest.raises(UnachievableMissionError):
            make_policy(compile_mission(text), networks(0.9))


def test_a_goal_fifty_steps_away_is_within_reach_of_the_shield():
    """With γ = 0.9, 0.01 is 44 steps."""
    mission = compile_mission("F a & G !b")
    shield = ValueShield(mission, networks(0.5, gamma=0.9))
    decision = Decision(np.zeros(1, np.float32), 0, 0.9**50)
    values = seen(0.9**50, 0.9**60, 0.0)
    assert shield.vet(mission.machine.initial, decision, values, None) is decision


def test_weights_too_small_for_single_precision_choose_a_goal():
    pursuit = Options(0.9)
    worth = np.array([-400.0, -300.0, -500.0])
    chosen = pursuit.choose(seen(0.9, 0.1, 0.9), np.ones(3, np.bool_), worth)
    assert chosen.goal[0] == 1


@pytest.mark.parametrize("steps", [264, 5000])
def test_the_papers_planner_tells_transitions_of_long_missions_apart(steps):
    """Values of 0 made every transition the best, and worthless at once."""
    plan = plan_paper(compile_mission(f"F[{steps},] a & G !b").machine)
    skill = plan.skills[0]
    assert str(skill.reach) == "!b"
    assert str(skill.avoid) == "b"
    assert skill.value > 0
