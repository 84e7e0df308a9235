"""The skills of this example: policies of Stable-Baselines3, learned here, composed by skm."""

import json
import runpy
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3

from installing import install, skm_with
from skm_primitives import sb3_policy
from skm_sim import check_domain, get_domain

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return install(FOLDER, tmp_path_factory.mktemp("skills"))


@pytest.fixture
def skm(place, monkeypatch, capsys):
    torch.set_num_threads(1)
    yield from skm_with(place, monkeypatch, capsys)


@pytest.fixture(scope="module")
def policies(place, tmp_path_factory):
    """Return a folder with a policy for each spot, made as `python -m own_skills FOLDER` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        folder = tmp_path_factory.mktemp("policies")
        patch.setattr("sys.argv", ["own_skills", str(folder)])
        runpy.run_module("own_skills", run_name="__main__")
    return folder


def test_the_yard_is_a_domain(skm):
    assert check_domain(get_domain("yard")) == []


@pytest.mark.parametrize(
    ("mission", "outcome"),
    [
        ("F(dock & X F(shelf & X F desk))", "accepted"),
        ("F desk & (!desk U shelf)", "accepted"),
        ("G F dock & G F desk", "satisfied so far"),
    ],
)
def test_missions_are_accomplished_with_them(skm, policies, mission, outcome):
    for seed in range(5):
        done = skm(
            *("run", "yard", mission, "--checkpoint", f"sb3:{policies}"),
            *("--seed", seed, "--max-steps", 150, "--json"),
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["outcome"] == outcome, seed


def test_a_folder_without_policies_is_an_error_that_says_so(skm, tmp_path):
    done = skm("run", "yard", "F dock", "--checkpoint", f"sb3:{tmp_path}")
    assert done.returncode == 2
    assert "has no policy" in done.stderr


class Plane(gymnasium.Env):
    """Something to make models for; nothing happens in it."""

    observation_space = Box(0.0, 1.0, (2,), np.float32)
    action_space = Box(-2.0, 2.0, (1,), np.float32)


@pytest.mark.parametrize("kind", [PPO, A2C, SAC, TD3, DDPG])
def test_models_of_any_kind_say_what_they_do_and_what_it_is_worth(kind):
    model, seen = kind("MlpPolicy", Plane(), seed=0), np.array([0.3, 0.7], np.float32)
    action, value = sb3_policy(model)(seen)
    assert np.array_equal(action, model.predict(seen, deterministic=True)[0])
    with torch.no_grad():
        tensor, _ = model.policy.obs_to_tensor(seen)
        if kind in (PPO, A2C):
            assert value == model.policy.predict_values(tensor).item()
        else:
            actor = model.actor(tensor, True) if kind is SAC else model.actor(tensor)
            assert value == pytest.approx(min(q.item() for q in model.critic(tensor, actor)))
