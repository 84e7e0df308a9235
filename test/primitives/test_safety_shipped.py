"""The Safety primitives that come with skm do what their card says, on layouts never trained on."""

import time

import numpy as np
import pytest

from skm_primitives.checkpoint import load
from skm_primitives.deep.calibration import calibration_error
from skm_primitives.deep.skill_runs import run_skill
from skm_primitives.planning.pursuit import Pursuit
from skm_primitives.primitives import default_checkpoint, load_primitives
from skm_sim.registry import get_domain
from skm_sim.safety.environment import SafetyEnv
from skm_sim.safety.feasibility import SKILLS, sample_feasible

SAFETY = get_domain("safety")
WORLDS = 12


@pytest.fixture(scope="module")
def primitives():
    return load_primitives(default_checkpoint("safety"), SAFETY)


@pytest.fixture(scope="module")
def runs(primitives):
    """Every skill on a few feasible layouts, a hundred steps each."""
    random = np.random.default_rng(31)
    found = {}
    for name, skill in SKILLS.items():
        layouts, _ = sample_feasible(random, WORLDS, [skill])
        options = {"layout": layouts}
        found[name] = run_skill(primitives, SAFETY, skill, options, WORLDS, SAFETY.primitive_steps)
    return found


def test_all_twelve_goals_are_known_with_what_lies_behind_them(primitives):
    assert len(primitives.goals) == 12
    assert primitives.goal_seen.min() > 100
    assert primitives.goal_to_goal.shape == (12, 12)
    assert (primitives.goal_to_goal > 0).all()


@pytest.mark.parametrize("name", SKILLS)
def test_skills_succeed(runs, name):
    """Far below the card's rates, which are of 200 layouts: this is a small sample."""
    assert runs[name].succeeded.mean() >= 0.75


def test_values_are_calibrated(runs, primitives):
    assert calibration_error(runs, primitives.gamma) < 0.05


def test_a_composed_step_is_quick(primitives):
    """All goals, the masked maximum and the commitment: a millisecond, with room for a busy machine."""
    env, pursuit = SafetyEnv(), Pursuit()
    observation, _ = env.reset(seed=0)
    mask = np.array(["cylinder" in goal.labels for goal in primitives.goals])
    times = []
    for _ in range(40):
        started = time.process_time()
        chosen = pursuit.choose(primitives.values(observation, frozenset()), mask)
        times.append(time.process_time() - started)
        observation, *_ = env.step(chosen.action[0])
    assert np.median(times) < 3e-3


def test_the_card_says_how_it_was_made_and_how_good_it_is():
    _, card = load(default_checkpoint("safety"))
    assert card.command.startswith("skm train safety")
    assert card.scores["validation"] > 0.95
    assert card.details["settings"]["preset"] == "cpu"
