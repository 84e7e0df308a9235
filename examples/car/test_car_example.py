"""safety-gymnasium's Car in the arenas of the Safety domain: compared, checked, trained, run."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from skm_cli.main import main
from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.checkpoint import load
from skm_sim import check_domain, get_domain
from skm_sim.safety.layout import sample_layouts
from skm_sim.safety.trials import TRIALS

FOLDER = Path(__file__).parent
PLACE = "car:CAR"
SEEN = ("accelerometer", "velocimeter", "gyro", "magnetometer")
LIDARS = ("goal_lidar", "buttons_lidar", "hazards_lidar")


@pytest.fixture(scope="module")
def car():
    sys.path.insert(0, str(FOLDER))
    try:
        yield get_domain(PLACE)
    finally:
        sys.path.remove(str(FOLDER))


def accepted(spec, skills, mission, trials, max_steps):
    """Return how many runs of a mission are accepted, one in each arena."""
    compiled = compile_mission(mission, propositions=spec.propositions)
    policy, env = make_policy(compiled, skills), spec.make()
    runs = [
        run_episode(env, skills, policy, max_steps=max_steps, seed=1, options=options)
        for options in trials.options
    ]
    return sum(run.outcome == "accepted" for run in runs)


def test_it_is_a_domain_without_fault(car):
    assert check_domain(car) == []


def test_it_moves_and_senses_as_in_the_package_itself(car):
    task, env = import_module("car_engine").car_task(), car.make()
    random = np.random.default_rng(3)
    for layout in sample_layouts(random, 2):
        observation, _ = env.reset(options={"layout": layout})
        task.place(layout)
        task.reset()
        for _ in range(25):
            action = random.uniform(-0.02, 0.02, 2)
            assert not task.simulation_forward(action)
            observation, *_ = env.step(action)
            theirs = task.obs()
            sensors = np.concatenate([theirs[name] for name in SEEN])
            np.testing.assert_allclose(observation[:12], sensors, atol=1e-4)
            # The package's lidar is level with the Car, which tilts by a degree; ours with the floor.
            lidars = np.concatenate([theirs[name] for name in LIDARS])
            np.testing.assert_allclose(observation[12:], lidars, atol=0.03)


def test_a_region_that_is_grazed_while_an_action_is_held_is_told(car):
    batch = import_module("car_env").CarVectorEnv
    layout = sample_layouts(np.random.default_rng(0), 1)
    layout.robot[:], layout.buttons[:] = (0, 0.33, 0), 1.6
    layout.regions[:] = (0, 0), (-1.6, -1.6)
    single, held = batch(1), batch(1, hold=50)
    for env in (single, held):
        env.reset(seed=0, options={"layout": layout})
    action = np.array([[0.02, 0.02]])
    shown = [single.step(action)[-1]["labels"][0, 2] for _ in range(50)]
    assert any(shown)
    assert not shown[-1]
    assert held.step(action)[-1]["labels"][0, 2]


def test_a_short_training_leaves_skills_that_run_a_mission(car, tmp_path):
    out = tmp_path / "car.safetensors"
    options = {"horizon": 8192, "hidden": (64, 64), "learning_rate": 2e-3, "average_rate": 0.02}
    options |= {"update_every": 6, "validation_layouts": 2, "validate_rounds": 100}
    learner = make_learner(car, options, out, resume=False, overwrite=False)
    train(learner, 8192, out, "test")
    trials = TRIALS.draw(car.task("1"), 10, 5, "random")
    # What has learned nothing is accepted in two of ten.
    assert accepted(car, load_primitives(car, out), "F button", trials, 400) >= 5


@pytest.mark.parametrize("task", list("123456"))
def test_the_shipped_skills_do_the_tasks(car, task):
    found = car.task(task)
    trials = TRIALS.draw(found, 3, 11, "random")
    assert accepted(car, load_primitives(car), found.formula, trials, found.max_steps) >= 2


def test_the_commands_know_it(car, tmp_path, capsys):
    picture = tmp_path / "paths.png"
    drawn = ["plot", "trajectories", PLACE, "--task", "2", "--out", str(picture)]
    assert main(drawn) == 0
    assert picture.stat().st_size
    assert main(["eval", PLACE, "--task", "1", "--episodes", "2"]) == 0
    assert "success" in capsys.readouterr().out
    assert load(FOLDER / "car.safetensors")[1].command.startswith("skm train car:CAR")
