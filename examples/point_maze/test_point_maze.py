"""The PointMaze of gymnasium-robotics, which knows nothing of skm: checked, trained, run."""

import sys
from pathlib import Path

import pytest

from skm_cli.main import main
from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.training import make_learner, train
from skm_sim import check_domain, get_domain

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def maze():
    sys.path.insert(0, str(FOLDER))
    try:
        yield get_domain("point_maze:POINT_MAZE")
    finally:
        sys.path.remove(str(FOLDER))


def test_it_is_a_domain_without_fault(maze):
    assert check_domain(maze) == []


def test_a_short_training_leaves_skills_that_run_a_mission(maze, tmp_path):
    out = tmp_path / "maze.safetensors"
    options = {"agents": 16, "hidden": (64, 64), "update_every": 4, "learning_rate": 2e-3}
    options |= {"validation_layouts": 2, "horizon": 3072, "validate_rounds": 100}
    learner = make_learner(maze, options, out, resume=False, overwrite=False)
    train(learner, 3072, out, "test")
    skills = load_primitives(maze, out)
    assert {name for goal in skills.goals for name in goal.labels} == set(maze.propositions)
    mission = compile_mission("F(bench | wet)", propositions=maze.propositions)
    policy, env = make_policy(mission, skills), maze.make()
    runs = [run_episode(env, skills, policy, max_steps=20, seed=seed) for seed in range(10)]
    # Random forces get there in one run of five.
    assert sum(run.outcome == "accepted" for run in runs) >= 6


@pytest.mark.parametrize("task", ["round", "dry", "choice"])
def test_the_shipped_skills_do_the_tasks(maze, task):
    skills = load_primitives(maze)
    mission = compile_mission(maze.task(task).formula, propositions=maze.propositions)
    policy = make_policy(mission, skills)
    for seed in (1, 2):
        episode = run_episode(maze.make(), skills, policy, max_steps=200, seed=seed)
        assert episode.outcome == "accepted"


def test_the_commands_know_it(maze, tmp_path, capsys):
    place, picture = "point_maze:POINT_MAZE", tmp_path / "paths.png"
    assert main(["plot", "trajectories", place, "--task", "choice", "--out", str(picture)]) == 0
    assert picture.stat().st_size
    assert main(["eval", place, "--missions", "2", "--episodes", "1", "--seed", "1"]) == 0
    assert "2 runs: success 1.000" in capsys.readouterr().out
