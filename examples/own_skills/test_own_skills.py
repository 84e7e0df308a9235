"""The skills of this example: policies of Stable-Baselines3, learned here, composed by skm."""

import json
import runpy
from pathlib import Path

import pytest
import torch

from installing import install, skm_with
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
