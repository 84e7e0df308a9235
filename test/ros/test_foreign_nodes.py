"""Packages of somebody else's in the nodes: a domain, a planner, skills, each by its name."""

import os
import subprocess
import sys

import pytest
from harness import Process

from installing import install
from kitchen_package import write_kitchen
from plugin_package import write_plugins
from skm_ros import SkmClient

QUIET = ("--mode", "lockstep", "--render", "none", "--picture", "")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a package for all processes that are started from now on."""

    def make(write):
        source = tmp_path / "package"
        source.mkdir()
        place = install(write(source), tmp_path)
        monkeypatch.setenv("PYTHONPATH", place)

    return make


def test_skm_up_runs_a_mission_in_a_domain(domain_id, tmp_path, installed):
    installed(write_kitchen)
    skills = str(tmp_path / "kitchen")
    train = ["train", "kitchen", "--steps", "6000", "--out", skills]
    command = [sys.executable, "-m", "skm_cli.main", *train]
    subprocess.run(command, check=True, timeout=120, capture_output=True, env=dict(os.environ))
    mission = ["--mission", "F(fridge & X F stove)"]
    up = ["up", "demo", "--domain", "kitchen", "--checkpoint", skills, *mission, *QUIET]
    system = Process(["skm_cli.main", *up], domain_id)
    system.wait_for(lambda: any("accepted" in line for line in system.output), "the mission's end")
    system.stop_cleanly()


def test_planner_and_skills_serve_in_the_nodes_and_a_broken_planner_ends_its_mission_only(
    domain_id, installed, processes
):
    installed(write_plugins)
    up = ["up", "demo", "--domain", "lane", "--planner", "first", "--mission", "none", *QUIET]
    system = Process(["skm_cli.main", *up], domain_id)
    processes.append(system)
    mission = "F(left & X F right)"
    with SkmClient(domain_id=domain_id) as robot:
        assert robot.run(mission).outcome == "accepted"
        broken = robot.run(mission, planner="late", reset=True)
        assert broken.outcome == "error"
        assert "planner 'late' of the package 'lane-plugins'" in broken.reason
        unknown = robot.run(mission, planner="frist")
        assert unknown.outcome == "rejected"
        assert "did you mean 'first'?" in unknown.reason
        assert robot.run(mission, planner="product").succeeded
    system.stop_cleanly()
