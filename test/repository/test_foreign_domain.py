"""A domain of somebody else's package, installed by pip: every command knows it by its name."""

import json
import os
import subprocess
import sys

import pytest

from installing import install, skm_with
from kitchen_package import write_kitchen


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return the folder that the package is installed in."""
    source = write_kitchen(tmp_path_factory.mktemp("source"))
    return install(source, tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def skills(place, tmp_path_factory):
    """Return a folder with skills, trained by a process of its own."""
    folder = tmp_path_factory.mktemp("work")
    trained = subprocess.run(
        [sys.executable, "-m", "skm_cli.main", "train", "kitchen", "--steps", "6000"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([place, *sys.path])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert trained.returncode == 0, trained.stderr
    return folder / "runs"


@pytest.fixture
def kitchen(place, skills, monkeypatch, capsys):
    """Return a function that runs `skm` where the package is installed, beside its skills."""
    monkeypatch.chdir(skills)
    yield from skm_with(place, monkeypatch, capsys)


def test_it_is_trained_and_run(kitchen):
    done = kitchen("run", "kitchen", "F(fridge & X F stove)", "--checkpoint", "kitchen", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "accepted"


def test_it_is_evaluated_exactly(kitchen):
    done = kitchen("eval", "kitchen", "--checkpoint", "kitchen", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"]["cook"]["all_starts"]["success"] == 1.0


def test_it_is_plotted_over_its_own_scene(kitchen):
    done = kitchen("plot", "trajectories", "kitchen", "--checkpoint", "kitchen", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"]["cook"]["outcome"] == "accepted"
    refused = kitchen("plot", "values", "kitchen", "--checkpoint", "kitchen")
    assert refused.returncode == 2
    assert "has no map" in refused.stderr


def test_it_is_checked_and_named_in_errors(kitchen):
    assert kitchen("check", "F stove", "--domain", "kitchen").returncode == 0
    assert "kitchen" in kitchen("run", "kichen", "F stove").stderr
    missing = kitchen("run", "kitchen", "F stove")
    assert missing.returncode == 2
    assert "skm train kitchen" in missing.stderr
