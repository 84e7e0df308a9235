"""The tutorials' parts that need ROS, as they are written: commands in their order, in one folder.

A robot drives in real time here, which takes its time; `test/repository/test_tutorials.py` and
`test_your_environment.py` follow the parts that need no nodes.
"""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import Process, skm_process
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import BatteryState

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
        self.system = self.robot = self.patrol = None
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
        if arguments[0] == "mission" and "G F" in arguments[1]:  # it has no end
            self.patrol = skm_process(self.domain_id, *arguments)
            return
        if arguments[0] == "up":
            self.end_system()
            own = "none" in arguments
            if own:
                self.start_robot()
            more = (
                ("--map-frame", "odom") if own else ("--start", START)
            )  # its odometry is exact, says the page
            self.system = skm_process(self.domain_id, *arguments, *more)
            if "--mission" in arguments:
                self.system.told(r"accepted after (\d+) steps", "the first mission")
                self.system.wait_for((self.folder / "runs" / "robot.png").exists, "the picture")
            return
        done = subprocess.run(
            [sys.executable, "-m", "skm_cli.main", *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        self.said[" ".join(arguments)] = done.stdout + done.stderr

    def start_robot(self):
        """Start what stands in for the reader's own robot: its topics are those of the page."""
        topics = [f"/{name}" for name in ("odom", "scan", "cmd_vel")]
        moved = [part for name in topics for part in ("-r", f"{name[1:]}:={name}")]
        node = ["skm_ros.nodes.car_node", "--ros-args", "-r", "__ns:=/mine", *moved]
        self.robot = Process(
            [*node, "-p", f"domain:={self.folder / 'hall'}", "-p", f"start:='{START}'"],
            self.domain_id,
        )

    def end_system(self):
        for process in (self.system, self.robot):
            if process is not None:
                process.stop_cleanly()
        self.system = self.robot = None


@pytest.fixture
def reader(tmp_path, domain_id, monkeypatch):
    """A reader in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain_id))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Reader(tmp_path, domain_id)
    yield made
    for process in (made.patrol, made.system, made.robot):
        if process is not None:
            process.stop()


def test_the_tutorial_on_robots_is_followed_from_its_first_command_to_its_last(reader, client):
    reader.follow(1)
    reader.follow(2)
    second = "mission F kitchen & F dock & G !wet_floor"
    assert "accepted after" in reader.said[second], reader.said[second]
    reader.follow(3)
    assert "accepted" not in reader.said["mission F kitchen"]
    assert "kitchen" in reader.said["mission F kitchen"]
    reader.follow(4)
    arrived = ["mission", "F kitchen", "--when-ready", "--timeout", "60"]
    reader.run(arrived)
    assert "accepted after" in reader.said[" ".join(arrived)], reader.said[" ".join(arrived)]
    reader.follow(5)
    battery = client.node.create_publisher(BatteryState, "/battery_state", qos_profile_sensor_data)
    deadline = time.monotonic() + 60
    while "dock" not in "\n".join([*reader.patrol.output, *reader.patrol.answers]):
        assert time.monotonic() < deadline, reader.patrol.transcript()
        battery.publish(BatteryState(percentage=0.1))
        client.spin_until(lambda: False, 0.2)
    reader.end_system()
