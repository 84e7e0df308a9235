"""The Safety primitives that come with skm do what their card says, on layouts never trained on."""

import numpy as np
import pytest

from skm_primitives.figures.calibration import calibration_error
from skm_primitives.planning.skill_runs import run_skill
from skm_primitives.skills.checkpoint import load
from skm_primitives.skills.loading import default_checkpoint, load_primitives
from skm_sim.registry import get_domain
from skm_sim.safety.layout import SKILLS, sample_feasible

SAFETY = get_domain("safety")
WORLDS = 12


@pytest.fixture(scope="module")
def primitives():
    return load_primitives(SAFETY)


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


def test_all_goals_are_known_with_what_lies_behind_them(primitives):
    goals = len(primitives.goals)
    assert primitives.goal_seen.min() > 100
    assert primitives.world_model.values.shape == (goals, goals)
    assert (primitives.world_model.values[:, primitives.pursued] > 0).all()


@pytest.mark.parametrize("name", SKILLS)
def test_skills_succeed(runs, name):
    """Far below the card's rates, which are of 200 layouts: this is a small sample."""
    assert runs[name].succeeded.mean() >= 0.75


def test_values_are_calibrated(runs, primitives):
    assert calibration_error(runs, primitives.gamma) < 0.05


def test_the_card_says_how_it_was_made_and_how_good_it_is():
    for name in ("safety", "safety_region"):
        _, card = load(default_checkpoint(get_domain(name)))
        assert card.command.startswith(f"skm train {name} ")
        assert card.scores["validation"] > 0.97
        assert card.details["settings"]["preset"] == "cpu"


def test_the_papers_constraint_alone_has_two_goals_for_each_label_set():
    skills = load_primitives(get_domain("safety_region"))
    assert len(skills.goals) == 12
    assert {goal.violated for goal in skills.goals} == {frozenset(), frozenset({"region"})}
    random, steps = np.random.default_rng(7), SAFETY.primitive_steps
    skill = SKILLS["cylinder, no region"]
    layouts, _ = sample_feasible(random, WORLDS, [skill])
    domain = get_domain("safety_region")
    runs = run_skill(skills, domain, skill, {"layout": layouts}, WORLDS, steps)
    assert runs.succeeded.mean() >= 0.75
