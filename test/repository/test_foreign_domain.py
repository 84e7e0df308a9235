"""A domain of somebody else's package, installed by pip: every command knows it by its name."""

import json
import os
import subprocess
import sys

import pytest

from kitchen_package import install_kitchen


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    """Return a function that runs `skm` where the package is installed, in a folder of its own."""
    source, place, work = (tmp_path_factory.mktemp(name) for name in ("source", "place", "work"))
    install_kitchen(source, place)
    environment = {**os.environ, "PYTHONPATH": str(place)}

    def skm(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "skm_cli.main", *arguments],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    trained = skm("train", "kitchen", "--steps", "6000", "--out", "kitchen", "--json")
    assert trained.returncode == 0, trained.stderr
    return skm


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
