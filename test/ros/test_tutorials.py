"""The tutorials' parts that need ROS, as they are written: commands in their order, in one folder.

A robot drives in real time here, which takes its time. `test/repository/test_tutorials.py` and
`test_your_environment.py` follow the parts that need no nodes, and read the commands for a robot of
one's own.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from harness import skm_process

from your_environment_page import follow, write_module

ROBOT = Path(__file__).parents[2] / "docs" / "tutorials" / "your_robot.md"
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```", re.DOTALL | re.MULTILINE)
START = "-5.6 3.2 0.0"
"""Where the simulated robot begins: near to where it goes first, since the test waits for it."""


def test_the_tutorial_on_environments_ends_with_a_mission_over_ros(
    tmp_path, domain_id, monkeypatch
):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain_id))
    write_module(tmp_path)
    follow(tmp_path, "train", "demo")


class Reader:
    """Somebody who follows the page on robots: a terminal for the system, another for the rest."""

    def __init__(self, folder, domain_id):
        self.folder, self.domain_id = folder, domain_id
        self.system = None
        self.said = {}

    def follow(self, section):
        """Write the section's files and run its commands; `skm up` stays up until the next one."""
        page = ROBOT.read_text()
        (text,) = re.findall(
            rf"^## {section}\. .*?\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE
        )
        for language, title, block in FENCE.findall(text):
            if title:
                (self.folder / title).write_text(block)
            elif language in ("sh", "console"):
                for line in block.splitlines():
                    command = line.removeprefix("$ ").split("  #")[0].strip()
                    if command.startswith("skm "):
                        self.run(shlex.split(command)[1:])
                    elif language == "console" and line:
                        assert line in " ".join(self.said.values()), line

    def run(self, arguments):
        if arguments[0] == "up":
            self.end_system()
            self.system = skm_process(self.domain_id, *arguments, "--start", START)
            if "--mission" in arguments:
                self.system.told(r"accepted after (\d+) steps", "the first mission")
                self.system.wait_for((self.folder / "runs" / "robot.png").exists, "the picture")
            return
        done = subprocess.run(
            [sys.executable, "-m", "skm_cli.main", *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        self.said[" ".join(arguments)] = done.stdout + done.stderr

    def end_system(self):
        if self.system is not None:
            self.system.stop_cleanly()
        self.system = None


@pytest.fixture
def reader(tmp_path, domain_id, monkeypatch):
    """A reader in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain_id))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Reader(tmp_path, domain_id)
    yield made
    if made.system is not None:
        made.system.stop()


def test_the_tutorial_on_robots_is_followed_up_to_a_robot_of_ones_own(reader):
    reader.follow(1)
    reader.follow(2)
    second = "mission F kitchen & F dock & G !wet_floor"
    assert "accepted after" in reader.said[second], reader.said[second]
    reader.follow(3)
    assert "accepted" not in reader.said["mission F kitchen"]
    assert "kitchen" in reader.said["mission F kitchen"]
    reader.end_system()
