"""A domain of somebody else's package as nodes: `skm up` takes it by its name."""

import os
import subprocess
import sys

from harness import Process

from kitchen_package import install_kitchen

MISSION = "F(fridge & X F stove)"


def test_skm_up_runs_a_mission_in_it(domain_id, tmp_path, monkeypatch):
    source, place = tmp_path / "source", tmp_path / "place"
    source.mkdir()
    install_kitchen(source, place)
    monkeypatch.setenv("PYTHONPATH", str(place))
    skills = str(tmp_path / "kitchen")
    train = ["train", "kitchen", "--steps", "6000", "--out", skills]
    command = [sys.executable, "-m", "skm_cli.main", *train]
    subprocess.run(command, check=True, timeout=120, capture_output=True, env=dict(os.environ))
    options = ["--mission", MISSION, "--mode", "lockstep", "--render", "none", "--picture", ""]
    up = ["up", "demo", "--domain", "kitchen", "--checkpoint", skills, *options]
    system = Process(["skm_cli.main", *up], domain_id)
    system.wait_for(lambda: any("accepted" in line for line in system.output), "the mission's end")
    system.stop_cleanly()
