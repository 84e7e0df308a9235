"""The skills of the zones that come with skm do what their card says, on layouts never trained on."""

import json

import numpy as np
import pytest

from skm_cli.main import main
from skm_machine import compile_mission
from skm_primitives.execution.episodes import run_episode
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.skill_runs import run_skill
from skm_primitives.skills.checkpoint import load
from skm_primitives.skills.loading import default_checkpoint, load_primitives
from skm_sim.registry import get_domain
from skm_sim.zones.layout import sample_layouts
from skm_sim.zones.trials import SKILL_TRIALS

ZONES = get_domain("zones")
WORLDS = 16


@pytest.fixture(scope="module")
def primitives():
    return load_primitives(ZONES)


def test_all_32_goals_are_known_with_what_lies_behind_them(primitives):
    assert len(primitives.goals) == 32
    assert primitives.goal_seen.min() > 100
    assert primitives.world_model.values.shape == (32, 32)
    assert (primitives.world_model.values > 0).any(axis=1).all()
    assert primitives.hold == 5


@pytest.mark.parametrize("name", [*SKILL_TRIALS.skills][::3])
def test_skills_succeed(primitives, name):
    """Far below the card's rates: this is a small sample."""
    random = np.random.default_rng(31)
    skill = SKILL_TRIALS.skills[name]
    options, _ = SKILL_TRIALS.worlds(skill, random, WORLDS)
    runs = run_skill(primitives, ZONES, skill, options, WORLDS, 60)
    assert runs.succeeded.mean() >= 0.75


def test_missions_succeed_and_end_within_their_steps(primitives):
    layouts = sample_layouts(np.random.default_rng(12), 4)
    task = ZONES.tasks["phi10"]
    policy = make_policy(compile_mission(task.formula, propositions=ZONES.propositions), primitives)
    env = ZONES.make()
    outcomes = [
        run_episode(env, primitives, policy, max_steps=1000, options={"layout": layouts[i]}).outcome
        for i in range(4)
    ]
    assert outcomes.count("accepted") >= 3


@pytest.mark.parametrize(
    ("formula", "outcome"),
    [
        ("F((blue & !magenta) | green) & G !magenta", "accepted"),
        ("F blue & G !magenta", "no progress"),
    ],
)
def test_a_zone_under_forbidden_ones_is_given_up_for_another_or_reported(
    primitives, formula, outcome
):
    mission = compile_mission(formula, propositions=ZONES.propositions)
    policy, env = make_policy(mission, primitives), ZONES.make()
    layouts = sample_layouts(np.random.default_rng(6), 24)
    for index in range(3):
        zones = layouts[index].zones.copy()
        zones[2] = zones[0]  # A magenta zone lies on each blue one.
        arena = {"layout": {"robot": layouts[index].robot, "zones": zones}}
        episode = run_episode(env, primitives, policy, max_steps=1500, options=arena)
        assert episode.outcome == outcome
        assert episode.steps < 1000


def test_an_evaluation_says_what_became_of_every_run(capsys):
    asked = ["eval", "zones", "--task", "psi4", "--episodes", "1", "--seed", "3", "--json"]
    assert main(asked) == 0
    task = json.loads(capsys.readouterr().out)["tasks"]["psi4"]
    wanted = {"success", "violations", "walls", "timeouts", "steps", "visits", "rounds"}
    assert set(task) >= wanted
    assert task["rounds"] >= task["visits"] >= 0
    assert task["success"] + task["violations"] + task["walls"] + task["timeouts"] >= 1


def test_the_card_says_how_it_was_made_and_how_good_it_is():
    _, card = load(default_checkpoint(ZONES))
    assert card.command.startswith("skm train zones")
    assert card.scores["validation"] > 0.97
    assert card.details["relative"]
