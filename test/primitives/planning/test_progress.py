"""A mission that gets nowhere tries another way, and in the end says so."""

import itertools
import math

import gymnasium
import numpy as np
import pytest

from lying_corridor import GAMMA, LockedCorridor, Skills, lying_skills
from skm_machine import Status, compile_mission
from skm_primitives.evaluation.exact import evaluate_policy
from skm_primitives.execution.episodes import run_episode
from skm_primitives.few_shot.tabular import FinetunedPolicy
from skm_primitives.planning.options import (
    EXHAUSTED,
    FARTHEST,
    TRANSITION_PACE,
    TRANSITION_SLACK,
    transition_deadlines,
)
from skm_primitives.planning.planners import PLANNERS, make_policy
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain

LEAST = EXHAUSTED * TRANSITION_SLACK
"""Steps without progress before a mission stalls, at least."""


def stalls_after(decisions, limit=10_000):
    """Return after how many decisions a mission stalls; None if it never does."""
    deadlines = transition_deadlines(GAMMA, 3)
    for step, (goal, value) in zip(range(1, limit), decisions, strict=False):
        deadlines.watch_one(goal, math.log(value) if value else -math.inf)
        if deadlines.in_a_row[0] >= EXHAUSTED:
            return step
    return None


def run_in_corridor(formula, skills, planner="product", max_steps=5000):
    policy = make_policy(compile_mission(formula, propositions=("left", "right")), skills, planner)
    env = LockedCorridor(continuous=not hasattr(skills.action_space, "n"))
    return run_episode(env, skills, policy, max_steps=max_steps, seed=0)


@pytest.mark.parametrize("steps_away", [0, 10, 60, 10_000])
def test_the_time_is_a_share_of_what_the_value_promised(steps_away):
    time = TRANSITION_SLACK + TRANSITION_PACE * min(steps_away, FARTHEST)
    found = stalls_after(itertools.repeat((0, GAMMA**steps_away)))
    assert found == pytest.approx(EXHAUSTED * (time + 1), abs=1), "the first step is a gain"


def test_a_value_that_creeps_by_rounding_is_no_progress():
    assert stalls_after((0, 0.7 * (1 + 1e-7) ** step) for step in range(10_000))


def test_goals_that_undo_each_other_are_no_progress():
    assert stalls_after((step % 2, 0.5 + 0.1 * (step % 2)) for step in range(10_000))


def test_no_value_at_all_is_no_progress():
    assert stalls_after(itertools.repeat((-1, 0.0))) == EXHAUSTED * TRANSITION_SLACK


@pytest.mark.parametrize("away", [400, 3000])
def test_exact_values_of_a_long_way_never_stall(away):
    assert stalls_after((0, GAMMA ** (away - step)) for step in range(away)) is None


@pytest.mark.parametrize("continuous", [True, False])
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_skill_that_lies_ends_without_progress(continuous, planner):
    episode = run_in_corridor("F right", lying_skills(continuous), planner)
    assert episode.outcome == "no progress"
    assert episode.status is Status.RUNNING
    assert LEAST <= episode.steps <= 2 * LEAST


@pytest.mark.parametrize("continuous", [True, False])
def test_exact_values_that_lie_end_without_progress_as_well(continuous):
    episode = run_in_corridor("F right", lying_skills(continuous, approximate=False), "paper")
    assert episode.outcome == "no progress"


class Undone(Skills):
    """Each goal's skill leads to where the other seems nearer, so that neither is ever at rest."""

    def value(self, cell, goal):
        return 0.5 if goal == cell % 2 else 0.4


@pytest.mark.parametrize("continuous", [True, False])
@pytest.mark.parametrize("skills", [Skills, Undone])
def test_another_way_is_tried_before_that(skills, continuous):
    """`right` cannot be reached: sooner or later the robot goes to the left."""
    episode = run_in_corridor("F (left | right)", lying_skills(continuous, skills), "product")
    assert episode.outcome == "accepted"


@pytest.mark.parametrize("continuous", [True, False])
def test_the_papers_planner_remembers_nothing_that_it_tried(continuous):
    """Algorithm 3 takes the action of the greatest value, however often that led nowhere."""
    episode = run_in_corridor("F (left | right)", lying_skills(continuous), "paper")
    assert episode.outcome == "no progress"
    assert len({decision.goal for decision in episode.decisions}) == 1


def test_nothing_in_reach_ends_without_progress():
    class Nothing(Skills):
        def value(self, cell, goal):
            return 0.0

    for planner in PLANNERS:
        episode = run_in_corridor("F right", lying_skills(True, Nothing), planner)
        assert (episode.outcome, episode.steps) == ("no progress", LEAST)
        assert not np.any([decision.action for decision in episode.decisions])


def test_a_transition_in_the_last_moment_is_progress():
    """The stall is of a machine state: moving on takes it back."""
    from skm_primitives.execution.mission_run import MissionRun  # noqa: PLC0415

    skills = lying_skills(True)
    mission = compile_mission("G F left & G F right", propositions=("left", "right"))
    run = MissionRun(make_policy(mission, skills), skills, 10_000)
    run.begin(np.array([4]), frozenset())
    while not run.stalled:
        run.decide(skills.values(np.array([4]), frozenset()))
    assert run.over
    run.enter(np.array([4]), {"right"})
    assert not run.stalled
    assert not run.over


def test_the_papers_planner_says_that_it_is_stuck_long_before_its_time_is_up():
    spec = get_domain("office_absorbing")
    skills = load_primitives(spec)
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    policy = make_policy(compile_mission(spec.tasks["coffee_strict"].formula), skills, "paper")
    episode = run_episode(env, skills, policy, max_steps=1000, seed=0)
    assert episode.outcome == "no progress"
    assert episode.steps <= 2 * LEAST
    runs = evaluate_policy(env.unwrapped.model, skills, policy, max_steps=1000)
    assert not runs.accepted.any()
    assert runs.steps.max() <= 2 * LEAST


def test_a_finetuned_policy_leaves_what_led_nowhere_to_the_zero_shot_policy():
    """What was learned says to go to the left everywhere: into a wall."""
    spec = get_domain("office")
    skills = load_primitives(spec)
    mission = compile_mission("F coffee", propositions=spec.propositions)
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    q = np.zeros((env.unwrapped.model.num_cells, mission.machine.num_states, 4))
    q[..., 2] = 0.5
    policy = FinetunedPolicy(make_policy(mission, skills), q, skills.gamma)
    episode = run_episode(env, skills, policy, max_steps=1000, seed=0)
    assert episode.outcome == "accepted"
    assert TRANSITION_SLACK < episode.steps < 4 * TRANSITION_SLACK


@pytest.mark.parametrize(
    ("domain", "formula", "steps"),
    [
        ("office", "G F A & G F C & G !decoration", 2000),
        ("safety", "G F button & G F region", 2000),
        ("moving_targets", "G F blue & G F (square & !blue)", 500),
    ],
)
def test_patrols_do_not_stall(domain, formula, steps):
    """`benchmarks/patrols.py` runs many, and longer ones."""
    spec = get_domain(domain)
    skills = load_primitives(spec)
    policy = make_policy(compile_mission(formula, propositions=spec.propositions), skills)
    episode = run_episode(spec.make(), skills, policy, max_steps=steps, seed=3)
    assert episode.outcome == "satisfied so far"
    assert episode.steps == steps
    gaps = np.diff([0, *(move.step for move in episode.transitions), steps])
    assert gaps.max() < LEAST
