"""A robot that Nav2 drives and AMCL finds: the bridge against a double of both (test/doubles)."""

import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from geometry_msgs.msg import PoseStamped
from harness import Process, System
from rclpy.qos import QoSProfile
from skm.action import ExecuteMission
from skm.msg import MachineState, RobotStatus
from skm.srv import SetPlace
from std_msgs.msg import String

import skm_sim.maps
from skm_machine.errors import SkmError
from skm_primitives.planning.map_domains import make_map_domain
from skm_ros import qos
from skm_sim.maps.spec import load_building

DOUBLES = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DOUBLES))
from doubles.interfaces import ensure_interfaces, interface_environment  # noqa: E402

HALL = Path(skm_sim.maps.__file__).parent / "hall"
CORRIDOR = [-3.9, 0.2, 0.0]
Result = ExecuteMission.Result


@pytest.fixture(scope="module")
def prefix():
    """Where nav2_msgs and tf2_msgs are: built from their definitions, once."""
    given = os.environ.get("NAV2_DOUBLE_PREFIX")
    usual = Path(tempfile.gettempdir()) / f"nav2-double-{os.getuid()}-{sys.version_info[1]}"
    return ensure_interfaces(given or usual)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", made, picture=False)
    return str(made)


class Nav2System(System):
    """The double, the bridge, primitives and machine; the true pose is watched."""

    def __init__(self, domain_id, prefix, folder, tmp_path, double=None, bridge=None, machine=None):
        self.environment = interface_environment(prefix, os.environ)
        self.folder = folder
        config = {"grid": {"map": str(HALL / "hall.yaml")}, "start": CORRIDOR, **(double or {})}
        (tmp_path / "double.yaml").write_text(yaml.safe_dump(config))
        before = dict(os.environ)
        os.environ.update(self.environment)
        try:
            super().__init__(
                domain_id,
                order=("primitives", "machine"),
                parameters={
                    "primitives": {"domain": folder},
                    "machine": {"state_folder": tmp_path / "state", **(machine or {})},
                },
            )
            given = {"domain": folder, "drive": "nav2", "pose_source": "pose", "pose": "/amcl_pose"}
            given |= {"odom": "/odom", "scan": "none", "navigate": "/navigate_to_pose"}
            given |= {"navigate_through": "/navigate_through_poses", **(bridge or {})}
            options = [part for key, value in given.items() for part in ("-p", f"{key}:={value}")]
            command = ["skm_ros.nodes.bridge_node", "--ros-args", "-r", "__ns:=/skm", *options]
            self.processes["double"] = Process(
                ["doubles.nav2", "--config", str(tmp_path / "double.yaml")], domain_id
            )
            self.processes["bridge"] = Process(command, domain_id)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.building = load_building(folder)
        self.seen, self.pose, self.status = [], None, RobotStatus()
        node = self.client.node
        node.create_subscription(PoseStamped, "/ground_truth/pose", self._on_pose, 10)
        node.create_subscription(RobotStatus, "robot_status", self._on_status, qos.LATCHED)
        self.inject = node.create_publisher(String, "/nav2_double/inject", QoSProfile(depth=10))

    def _on_pose(self, message):
        self.pose = message.pose.position.x, message.pose.position.y
        labels = self.building.places.labels_at(*self.pose)
        if not self.seen or self.seen[-1] != labels:
            self.seen.append(labels)

    def _on_status(self, status):
        self.status = status


@pytest.fixture
def nav2(domain_id, prefix, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{DOUBLES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    made = []

    def make(**options):
        made.append(Nav2System(domain_id, prefix, folder, tmp_path, **options))
        return made[-1]

    yield make
    for system in made:
        system.discard()
        system.client.close()


def test_amcl_that_waits_for_motion_and_goals_within_a_tolerance_do_a_mission(nav2):
    """AMCL has spoken before the bridge was there, and speaks again only once the robot has moved."""
    system = nav2()
    system.wait_ready()
    result = system.run("F(kitchen & X F office) & G !wet_floor")
    assert result.outcome == Result.ACCEPTED, result.reason
    assert (result.error_code, result.error_msg) == (0, "")
    assert any("kitchen" in labels for labels in system.seen)
    assert any("office" in labels for labels in system.seen)
    assert not any("wet_floor" in labels for labels in system.seen)


def test_goals_that_fail_are_sent_again_and_the_mission_is_done(nav2):
    faults = {"seed": 1, "script": {0: ["reject"], 1: ["abort"], 3: ["lie_success"]}}
    system = nav2(double={"faults": faults})
    system.wait_ready()
    result = system.run("F(kitchen & X F office)")
    assert result.outcome == Result.ACCEPTED, result.reason
    assert any("office" in labels for labels in system.seen)


def test_a_stack_that_always_fails_ends_the_mission_with_its_reason(nav2):
    system = nav2(
        double={"faults": {"seed": 1, "abort": {"probability": 1.0, "after": [0.0, 0.01]}}}
    )
    system.wait_ready()
    result = system.run("F lab")
    assert result.outcome == Result.NO_PROGRESS
    assert "aborted the goal, error 105" in result.reason
    assert result.error_code == Result.ERROR_OFFSET + Result.NO_PROGRESS


def test_a_jump_of_the_localiser_stops_the_robot_and_is_said(nav2):
    system = nav2()
    system.wait_ready()
    goal = system.send("F lab")
    system.wait_until(lambda: system.status.distance_remaining > 2, "a goal under way", 60)
    system.inject.publish(String(data=json.dumps({"jump": [30.0, 0.0, 0.0, 60.0]})))
    system.wait_until(
        lambda: (
            system.states.last.phase == MachineState.STOPPED
            and (
                "jumped" in system.states.last.reason
                or "off the floor" in system.states.last.reason
            )
        ),
        "a stop",
        60,
    )
    goal.cancel()
    system.finish(goal)


def test_a_place_out_of_service_is_gone_around_and_its_mission_refused(nav2):
    system = nav2()
    system.wait_ready()
    close = SetPlace.Request(name="kitchen", closed=True, note="cleaning")
    answer = system.client.call(SetPlace, "set_place", close, 20)
    assert answer.success
    assert list(answer.closed_places) == ["kitchen"]
    refused = system.run("F kitchen")
    assert refused.outcome == Result.REJECTED
    assert "out of service" in refused.reason
    system.kill("machine")
    system.start("machine")

    def closed():
        """Ask; a request to the machine that was killed is never answered."""
        with suppress(SkmError):
            return system.client.call(SetPlace, "set_place", SetPlace.Request(), 3).closed_places
        return []

    system.wait_until(lambda: "kitchen" in closed(), "the closed place after a restart")
    wrong = SetPlace.Request(name="kitchn", closed=True)
    assert "kitchen" in system.client.call(SetPlace, "set_place", wrong, 20).message
    opened = SetPlace.Request(name="kitchen", closed=False)
    assert not system.client.call(SetPlace, "set_place", opened, 20).closed_places
