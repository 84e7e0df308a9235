"""The four rooms of MiniGrid, which knows nothing of skm: checked, trained from images, run."""

import sys
from pathlib import Path

import pytest

from skm_cli.main import main
from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.checkpoint import load
from skm_sim import check_domain, get_domain

FOLDER = Path(__file__).parent
SKILLS = FOLDER / "four_rooms.safetensors"
PLACE = "four_rooms:FOUR_ROOMS"
OBJECTS = [("red", "ball"), ("red", "box"), ("green", "ball"), ("green", "box")]
LABEL_SETS = {frozenset(names) for names in [(), ("wet",), *OBJECTS]}


@pytest.fixture(scope="module")
def rooms():
    sys.path.insert(0, str(FOLDER))
    try:
        yield get_domain(PLACE)
    finally:
        sys.path.remove(str(FOLDER))


def accepted(spec, skills, mission, seeds):
    """Return how many runs of a mission are accepted, one for each seed."""
    compiled = compile_mission(mission, propositions=spec.propositions)
    policy = make_policy(compiled, skills)
    env = spec.make()
    runs = [run_episode(env, skills, policy, max_steps=300, seed=seed) for seed in seeds]
    return sum(run.outcome == "accepted" for run in runs)


def test_it_is_a_domain_without_fault(rooms):
    assert check_domain(rooms) == []


def test_objects_change_places_and_are_told_by_colour_and_kind(rooms):
    env = rooms.make()
    images = [env.reset(seed=seed)[0] for seed in range(40)]
    assert len({tuple(image[1, 1]) for image in images}) == 4
    shown = set()
    for _ in range(400):
        shown.add(env.step(env.action_space.sample())[-1]["labels"])
    assert shown <= LABEL_SETS


def test_a_short_training_leaves_skills_that_run_a_mission(rooms, tmp_path):
    out = tmp_path / "rooms.safetensors"
    options = {"horizon": 5120, "validate_rounds": 4, "validation_layouts": 2}
    learner = make_learner(rooms, options, out, resume=False, overwrite=False)
    train(learner, 5120, out, "test")
    skills = load_primitives(rooms, out)
    assert {goal.labels for goal in skills.goals} == LABEL_SETS
    assert accepted(rooms, skills, "F ball", range(8)) >= 5


@pytest.mark.parametrize("task", ["ball", "dry", "kinds"])
def test_the_shipped_skills_do_the_tasks(rooms, task):
    assert accepted(rooms, load_primitives(rooms), rooms.task(task).formula, range(8)) >= 7


def test_the_commands_know_it(rooms, tmp_path, capsys):
    picture = tmp_path / "paths.png"
    assert main(["plot", "trajectories", PLACE, "--out", str(picture)]) == 0
    assert picture.stat().st_size
    assert main(["eval", PLACE, "--missions", "2", "--episodes", "2"]) == 0
    assert "4 runs: success" in capsys.readouterr().out
    assert load(SKILLS)[1].command.startswith("skm train four_rooms:FOUR_ROOMS")


def test_a_package_is_begun_from_an_environment_of_images(tmp_path):
    source = ["--from", "minigrid:MiniGrid-FourRooms-v0", "--out", str(tmp_path / "it")]
    assert main(["new", "domain", "it", *source]) == 0
    written = (tmp_path / "it" / "src" / "it" / "environment.py").read_text()
    assert 'observation["image"][..., ' in written
    assert 'observation_key="image"' in written
