"""The planner of this example: installed as a package, named on the command line."""

import json
from pathlib import Path

import pytest

from installing import install, skm_with

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return install(FOLDER, tmp_path_factory.mktemp("planner"))


@pytest.fixture
def skm(place, monkeypatch, capsys):
    yield from skm_with(place, monkeypatch, capsys)


def test_it_accomplishes_the_tasks_of_the_office_from_every_start(skm):
    done = skm("eval", "office", "--planner", "nearest", "--json")
    assert done.returncode == 0, done.stderr
    tasks = json.loads(done.stdout)["tasks"]
    assert {task["all_starts"]["success"] for task in tasks.values()} == {1.0}
    assert {task["all_starts"]["violations"] for task in tasks.values()} == {0}


def test_it_goes_with_continuous_skills_as_well(skm):
    done = skm(
        *("run", "safety", "F(button & X F cylinder) & G !region"),
        *("--planner", "nearest", "--seed", "1", "--json"),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["outcome"], found["planner"]) == ("accepted", "nearest")
