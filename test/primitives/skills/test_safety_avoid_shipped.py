"""The skills of Safety that avoid any kind of thing do what their card says."""

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_machine.tracker import Status
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.skill_runs import run_skill
from skm_sim import get_domain
from skm_sim.safety.encoder import MOST, FittedSafetyEncoder
from skm_sim.safety.layout import AVOID_SKILLS, AVOID_STAGES, Layout, feasible, sample_feasible
from skm_sim.safety.spec import AVOID
from skm_sim.safety.trials import TRIALS

DOMAIN = get_domain("safety")
WORLDS = 12


@pytest.fixture(scope="module")
def primitives():
    return load_primitives(DOMAIN)


def test_every_label_set_has_a_goal_for_each_of_six_sets(primitives):
    assert len(primitives.goals) == 36
    allowed = {goal.violated for goal in primitives.goals}
    assert all("button" in some for some in allowed if "cylinder" in some)


def test_only_a_cylinder_in_a_region_is_not_pursued_unless_one_of_them_may_be_touched(primitives):
    """Networks believe in it where there is none; a button in a region is pursued in any case."""
    objects = DOMAIN.objects
    rare = frozenset({"button", "cylinder", "region"})
    assert objects.pursued(frozenset({"button", "region"}), frozenset())
    assert objects.pursued(rare, frozenset({"region"}))
    assert not objects.pursued(rare, frozenset({"button"}))
    never = np.flatnonzero(~primitives.pursued)
    assert {primitives.goals[index].labels for index in never} == {rare}
    assert len(never) == 2
    values = primitives.values(DOMAIN.make().reset(seed=1)[0])
    assert not values.value[never].any()
    assert (values.value[primitives.pursued] > 0).all()


@pytest.mark.parametrize("name", AVOID_SKILLS)
def test_skills_succeed(primitives, name):
    """Far below the card's rates: this is a small sample."""
    random = np.random.default_rng(31)
    skill = AVOID_SKILLS[name]
    layouts, _ = sample_feasible(random, WORLDS, [skill])
    steps = DOMAIN.primitive_steps
    runs = run_skill(primitives, DOMAIN, skill, {"layout": layouts}, WORLDS, steps)
    assert runs.succeeded.mean() >= 0.75


@pytest.mark.parametrize("name", ["button_later", "no_button"])
def test_missions_avoid_buttons(primitives, name):
    mission = compile_mission(AVOID[name], propositions=DOMAIN.propositions)
    policy, env = make_policy(mission, primitives), DOMAIN.make()
    task = next(task for task in TRIALS.tasks(DOMAIN, "avoid") if task.name == name)
    drawn = TRIALS.draw(task, 8, 3, "random").options
    runs = [run_episode(env, primitives, policy, max_steps=500, options=each) for each in drawn]
    assert sum(run.status is Status.ACCEPTED for run in runs) >= 6


def test_a_button_in_a_region_is_pursued_for_the_rounds_that_it_completes(primitives):
    """Goals that show two kinds of things once counted for half: that cost more than half the rounds."""
    mission = compile_mission(AVOID["no_cylinder"], propositions=DOMAIN.propositions)
    policy, env = make_policy(mission, primitives), DOMAIN.make()
    task = next(task for task in TRIALS.tasks(DOMAIN, "avoid") if task.name == "no_cylinder")
    drawn = TRIALS.draw(task, 5, 2029, "random").options
    runs = [run_episode(env, primitives, policy, max_steps=200, options=each) for each in drawn]
    assert not any(run.status is Status.FAILED for run in runs)
    assert sum(run.accepting_visits for run in runs) >= 300


def nearness(x, forward=0.0, **places):
    """Return the near misses of cylinder, other buttons and regions, for a robot that faces east."""
    env, body = DOMAIN.make(), FittedSafetyEncoder()
    seen, _ = env.reset(options={"layout": arena(robot=[x, 0, 0], **places)})
    features = body.features(seen[None])
    features[:, 3] = forward  # the velocimeter, in m/s
    return body.clearance_steps(features)[0].tolist()


def test_clearance_penalty_tell_how_nearly_each_thing_was_touched():
    """A region stands at x = 1, and is touched within 0.3 m of that."""
    assert nearness(0.0) == [0, 0, 0]
    assert nearness(0.67) == [0, 0, pytest.approx(MOST / 2, abs=1)]
    assert nearness(0.695)[2] >= MOST - 2
    assert nearness(0.8) == [0, 0, 0]  # It is inside: that is no near miss.
    assert nearness(0.55, forward=1.0)[2] == 0
    assert nearness(0.63, forward=1.0) == [0, 0, MOST]  # In 0.08 s it would be inside.
    assert nearness(0.63, forward=-1.0) == [0, 0, 0]
    beside = [[1.5, 1.5], [0.35, 0.0], [1.5, -1.5], [-1.5, -1.5]]
    assert nearness(0.02, buttons=beside) == [0, pytest.approx(MOST / 2, abs=1), 0]
    assert nearness(0.02, buttons=beside, cylinder=1) == [pytest.approx(MOST / 2, abs=1), 0, 0]


def arena(**places):
    """Return an arena with everything in corners but what is given; the robot is in the middle."""
    usual = {
        "robot": [0, 0, 0],
        "buttons": [[1.5, 1.5], [-1.5, 1.5], [1.5, -1.5], [-1.5, -1.5]],
        "regions": [[1.0, 0.0], [-1.0, 0.0]],
        "cylinder": 0,
    }
    return Layout(**{name: np.array(value) for name, value in (usual | places).items()})


def test_feasible_is_what_can_be_reached_around_what_is_avoided():
    assert all(feasible(arena(), stages) for stages in AVOID_STAGES.values())
    beside = [[1.5, 1.5], [1.0, 0.1], [-1.0, 0.1], [-1.5, -1.5]]  # A button on each region.
    assert not feasible(arena(buttons=beside), AVOID_STAGES["no_button"])
    assert feasible(arena(buttons=beside), AVOID_STAGES["no_cylinder"])
    hidden = [[1.5, 1.5], [1.4, 1.4], [1.5, -1.5], [-1.5, -1.5]]  # A button by the cylinder's.
    assert feasible(arena(buttons=hidden), AVOID_STAGES["no_button"])
    assert not feasible(arena(buttons=hidden), AVOID_STAGES["no_other_button"])
