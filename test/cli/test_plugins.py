"""Planners, learners and skills of somebody else's package, installed by pip: named like skm's own."""

import json
import os
import subprocess
import sys

import pytest

from installing import install, skm_with
from plugin_package import write_plugins

MISSION = "F(left & X F right)"
BROKEN = ("nobody", "orphan", "wild")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return the folder that the package is installed in."""
    source = write_plugins(tmp_path_factory.mktemp("source"))
    return install(source, tmp_path_factory.mktemp("place"))


@pytest.fixture
def skm(place, monkeypatch, tmp_path, capsys):
    """Return a function that runs `skm` with the package installed, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    yield from skm_with(place, monkeypatch, capsys)


def outcome(done):
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["outcome"], found["planner"]


@pytest.mark.parametrize("planner", ["first", "product"])
def test_a_planner_runs_missions_with_skills_of_the_domains_name(skm, planner):
    assert outcome(skm("run", "lane", MISSION, "--planner", planner, "--json")) == (
        "accepted",
        planner,
    )


def test_a_planner_serves_evaluations_and_mission_files(skm, tmp_path):
    file = tmp_path / "mission.yaml"
    file.write_text(f"mission: {MISSION}\ndomain: lane\nplanner: first\n")
    assert outcome(skm("run", str(file), "--json")) == ("accepted", "first")
    done = skm("eval", "lane", "--task", "both", "--planner", "first", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"]["both"]["all_starts"]["success"] == 1.0


def test_a_learner_trains_and_resumes_and_its_checkpoints_are_served_by_skills_of_its_name(
    skm, tmp_path
):
    out = str(tmp_path / "lane")
    arguments = ("train", "lane", "--learner", "walker", "--seed", "1", "--out", out, "--json")
    done = skm(*arguments, "--steps", "200")
    assert done.returncode == 0, done.stderr
    done = skm(*arguments, "--steps", "400", "--resume")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 400
    for planner in ("first", "product"):
        done = skm("run", "lane", MISSION, "--checkpoint", out, "--planner", planner, "--json")
        assert outcome(done) == ("accepted", planner)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "lane", MISSION, "--planner", "frist"), ["did you mean 'first'?", "product"]),
        (("train", "lane", "--learner", "walkr"), ["did you mean 'walker'?", "dqn"]),
        (("run", "lane", MISSION, "--checkpoint", "walkd"), ["did you mean 'walked'?"]),
        (
            ("run", "lane", MISSION, "--planner", "lost"),
            ["planner 'lost' of the package 'lane-plugins'", "cannot be loaded", "missing"],
        ),
        (
            ("run", "lane", MISSION, "--planner", "half"),
            ["planner 'half' of the package 'lane-plugins'", "without", "choose", "BasePolicy"],
        ),
        (
            ("run", "lane", MISSION, "--planner", "late"),
            ["planner 'late' of the package", "failed in lane_plugins.py, line", "never_made"],
        ),
        (
            ("run", "lane", MISSION, "--planner", "nobody"),
            ["planner 'nobody' of the package", "chose None", "Decision"],
        ),
        (
            ("run", "lane", MISSION, "--planner", "orphan"),
            ["planner 'orphan' of the package", "super().__init__(mission, skills)"],
        ),
        (
            ("run", "lane", MISSION, "--planner", "printed"),
            ["planner 'printed' of the package", "has the name of one of skm's"],
        ),
        (
            ("run", "lane", MISSION, "--planner", "wild"),
            ["planner 'wild' of the package", "chose the action 99", "Discrete"],
        ),
        (
            ("run", "lane", MISSION, "--checkpoint", "foreign"),
            ["skills 'foreign' of the package", "not for the domain 'lane'", "left, right, up"],
        ),
        (
            ("run", "torn", MISSION),
            ["domain 'torn' of the package 'lane-plugins'", "no attribute 'NOWHERE'"],
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_what_is_unknown_or_broken_is_said_in_one_sentence(skm, arguments, said):
    done = skm(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr


def test_a_new_process_knows_what_is_installed(place):
    path = os.pathsep.join([place, *sys.path])
    code = "from skm_primitives import planner_names; print(*planner_names())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[4:] == ["first", "half", "late", "lost", *BROKEN]
