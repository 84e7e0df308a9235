"""The system `robot` over DDS: the Car, the bridge, primitives and machine as processes of their own."""

import math
import time
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist
from harness import Process
from nav_msgs.msg import Odometry
from policy_check import BY_NODE, check_policy
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from sensor_msgs.msg import LaserScan
from skm.action import ExecuteMission
from skm.msg import MachineState, Observation, RobotStatus
from skm.srv import Reset
from std_srvs.srv import Trigger

import skm_sim.maps
from skm_bench.faults import FaultBench
from skm_bench.processes import RobotSystem
from skm_primitives.planning.map_domains import make_map_domain
from skm_ros import qos
from skm_ros.conversions import ConversionError
from skm_ros.nodes.pose_sources import READINGS
from skm_ros.robot_messages import fill_pose, pose_value, scan_message, scan_value
from skm_sim.maps.spec import load_building
from skm_sim.robots.pose import REST

RATE = 20.0
HALL = Path(skm_sim.maps.__file__).parent / "hall"
PILLAR = (0.0, 0.4, 0.3)
CORRIDOR = "-3.9 0.2 0.0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The hall, as a domain."""
    made = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", made, picture=False)
    return str(made)


@pytest.fixture(scope="module")
def system(folder):
    """The robot in the corridor, with a pillar further on that is on no map."""
    car = {"start": CORRIDOR, "obstacles": " ".join(map(str, PILLAR))}
    with RobotSystem(folder, RATE, parameters={"car": car}) as made:
        yield made
        codes = {name: child.stop() for name, child in made.children.items()}
        assert set(codes.values()) == {0}, codes


def labels_of(folder, pose):
    """Return the labels of a true pose."""
    return load_building(folder).places.labels_at(*pose[:2])


def test_a_mission_is_done_in_truth_and_the_last_command_is_zero(system, folder):
    seen, commands = [], []
    system.watch = lambda pose: seen.append(labels_of(folder, pose))
    system.watch_command = commands.append
    result = system.run("F(kitchen & X F !kitchen) & G !wet_floor", 60)
    assert result.outcome == ExecuteMission.Result.ACCEPTED, result.reason
    assert any("kitchen" in labels for labels in seen)
    assert not any("wet_floor" in labels for labels in seen)
    assert max(velocity.speed for velocity in commands) <= 0.4 + 1e-9
    system.until(lambda: system.command == REST, 2, "a zero velocity")
    sent = len(commands)
    system.client.spin_until(lambda: False, 1.0)
    assert set(commands[sent:]) <= {REST}


@pytest.mark.parametrize(("kind", "right"), BY_NODE)
def test_the_access_policy_fits_the_bridge(system, kind, right):
    def until(condition, what):
        system.until(condition, 10, what)

    check_policy(system.client.node, until, "bridge", kind, right)


def test_a_stop_holds_until_it_is_taken_back(system):
    goal = system.send("F dock", max_steps=1000)
    system.until(lambda: system.command.speed > 0.2, 20, "a robot that drives")
    assert system.client.call(Trigger, "stop", Trigger.Request(), 5).success
    system.until(lambda: system.command == REST, 30, "a zero velocity")
    system.until(lambda: system.state.phase == MachineState.STOPPED, 30, "the machine's notice")
    assert "stop was called" in system.state.reason
    system.client.spin_until(lambda: False, 0.5)
    assert system.command == REST
    assert system.client.call(Trigger, "resume", Trigger.Request(), 5).success
    system.until(lambda: system.command.speed > 0.2, 30, "a robot that drives on")
    goal.cancel()
    system.until(lambda: goal.done, 30, "the end")
    goal.close()
    system.until(lambda: system.command == REST, 30, "a zero velocity")


def test_it_stops_in_front_of_what_is_not_on_the_map_and_goes_around_it(system):
    gaps = []
    system.watch = lambda pose: gaps.append(math.dist(pose[:2], PILLAR[:2]) - PILLAR[2])
    goal = system.send("F lab", max_steps=1000)
    system.until(
        lambda: system.state.phase == MachineState.STOPPED and "in the way" in system.state.reason,
        60,
        "a stop before the pillar",
    )
    system.until(lambda: goal.done, 200, "the end")
    assert goal.result.outcome == ExecuteMission.Result.ACCEPTED, goal.result.reason
    assert min(gaps) > 0.2, "it touches nothing on its way around"
    assert int(system.diagnostics["machine"]["other ways taken"]) > 0
    goal.close()


def test_the_robot_cannot_be_put_elsewhere_but_an_episode_can_begin(system):
    refused = system.client.call(Reset, "reset", Reset.Request(seed=3), 30)
    assert not refused.success
    assert "cannot be put" in refused.message
    begun = system.client.call(Reset, "reset", Reset.Request(seed=-1), 30)
    assert begun.success
    assert begun.episode == 2


def test_messages_that_make_no_sense_are_dropped_and_counted(system):
    node = system.client.node
    odometry = node.create_publisher(Odometry, "odom", 10)
    scans = node.create_publisher(LaserScan, "scan", READINGS)
    nothing = Odometry()
    nothing.pose.pose.orientation.w = 0.0
    broken = Odometry()
    broken.pose.pose.position.x = math.nan
    empty, endless = LaserScan(), LaserScan(angle_increment=math.inf, ranges=[1.0] * 10)

    def counted():
        for publisher, message in (
            (odometry, nothing),
            (odometry, broken),
            (scans, empty),
            (scans, endless),
        ):
            publisher.publish(message)
        report = system.diagnostics.get("bridge", {})
        return all(f"dropped: unusable {what}" in report for what in ("odometry", "scan"))

    system.until(counted, 10, "a line in the diagnostics")


def test_a_robot_that_listens_for_stamped_commands_gets_them(folder):
    """The Car waits for TwistStamped, as Nav2's servers send it; nobody has set `stamped`."""
    with RobotSystem(
        folder, RATE, parameters={"car": {"stamped": True, "start": CORRIDOR}}
    ) as made:
        goal = made.send("F kitchen", max_steps=1000)
        start = made.pose
        made.until(lambda: math.dist(made.pose[:2], start[:2]) > 0.2, 60, "a robot that drives")
        goal.cancel()
        made.until(lambda: goal.done, 30, "the end")
        goal.close()


class Driver:
    """A robot's driver by hand: says where it is and what its laser sees, hears what the bridge says."""

    ANGLES = np.linspace(-1.4, 1.4, 281)

    def __init__(self, client, bridge):
        self.client, self.bridge = client, bridge
        self.pose, self.thing, self.frame = (-3.9, 0.2, 0.0), (0.3, 0.0), "map"
        self.status, self.message = "", ""
        self.stopped, self.report, self.reports = [], {}, 0
        node = client.node
        self.odometry = node.create_publisher(Odometry, "odom", 10)
        self.scans = node.create_publisher(LaserScan, "scan", READINGS)
        node.create_subscription(Observation, "observation", self.on_state, qos.STATE)
        node.create_subscription(RobotStatus, "robot_status", self.on_status, qos.LATCHED)
        node.create_subscription(DiagnosticArray, "/diagnostics", self.on_report, qos.DIAGNOSTICS)

    def on_state(self, message):
        self.stopped.append(message.stopped)

    def on_status(self, message):
        self.status = message.stopped

    def on_report(self, message):
        for status in message.status:
            if "bridge" in status.name:
                self.message = status.message
                self.report = {pair.key: pair.value for pair in status.values}
                self.reports += 1

    def until(self, condition, what):
        """Say again and again what is so, until the bridge says what it should."""
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, f"timed out waiting for {what}: {self.stopped[-1:]}"
            self.bridge.check_running()
            reading = Odometry()
            reading.header.frame_id = self.frame
            fill_pose(reading.pose.pose, self.pose)
            self.odometry.publish(reading)
            ahead, aside = self.thing  # seen from the laser
            hit = np.abs(self.ANGLES - math.atan2(aside, ahead)) < 0.05
            seen = np.where(hit, math.hypot(ahead, aside), np.inf)
            self.scans.publish(scan_message(seen, self.ANGLES, 5.0))
            self.client.spin_until(lambda: False, 0.05)

    def until_after(self, count, condition, what):
        """Wait until so many more states have been told, and the last one is as it should be."""
        enough = len(self.stopped) + count
        self.until(lambda: len(self.stopped) >= enough and condition(self.stopped[-1]), what)


def test_a_laser_beside_the_middle_and_a_robot_that_is_carried(
    client, domain_id, folder, processes
):
    given = {"domain": folder, "scan_y": 0.6, "scan_timeout": 10.0, "pose_timeout": 10.0}
    options = [part for key, value in given.items() for part in ("-p", f"{key}:={value}")]
    command = ["skm_ros.nodes.bridge_node", "--ros-args", "-r", "__ns:=/skm", *options]
    processes.append(Process(command, domain_id))
    driver = Driver(client, processes[0])
    driver.until_after(5, lambda said: "heard" not in said, "a robot that is heard of")
    driver.until_after(10, lambda said: "in the way" not in said, "a free way")
    driver.thing = (0.3, -0.6)
    driver.until_after(1, lambda said: "in the way" in said, "a stop before it")
    x, y, heading = driver.pose
    driver.pose = x + 1.5, y, heading
    driver.until(lambda: "poses far from the last one" in driver.report, "the robot's jump")
    enough = driver.reports + 2
    driver.until(lambda: driver.reports >= enough, "more reports")
    assert driver.report["poses far from the last one"] == "1"
    assert processes[0].stop() == 0


def bridge_alone(client, domain_id, processes, **given):
    """Start a bridge with parameters, and a driver for it."""
    options = [part for key, value in given.items() for part in ("-p", f"{key}:={value}")]
    command = ["skm_ros.nodes.bridge_node", "--ros-args", "-r", "__ns:=/skm", *options]
    processes.append(Process(command, domain_id))
    return Driver(client, processes[-1])


def test_a_pose_that_cannot_be_right_is_none_and_why_is_said(client, domain_id, folder, processes):
    driver = bridge_alone(
        client, domain_id, processes, domain=folder, scan="none", pose_timeout=5.0
    )
    driver.frame = "odom"
    driver.until(lambda: "REP 105" in driver.status, "a word on the frame")
    assert not driver.stopped, "there is no state without a pose"
    driver.frame = "map"
    driver.until_after(3, lambda said: not said, "a robot that may move")
    x, y, heading = driver.pose
    driver.pose = x + 30.0, y, heading
    driver.until_after(1, lambda said: "off the floor" in said, "a stop")
    driver.pose = x, y, heading
    driver.until_after(1, lambda said: "jumped by" in said, "a stop that nobody has settled")
    assert client.call(Trigger, "resume", Trigger.Request(), 20).success
    driver.until_after(3, lambda said: not said, "a robot that may move")
    assert processes[-1].stop() == 0


def test_parameters_change_while_it_runs_and_a_second_commander_is_named(
    client, domain_id, folder, processes
):
    driver = bridge_alone(
        client, domain_id, processes, domain=folder, scan="none", pose_timeout=5.0, sight=0.25
    )
    asked = GetParameters.Request(names=["lookahead_distance"])
    (given,) = client.call(GetParameters, "bridge/get_parameters", asked, 20).values
    assert given.double_value == 0.25, "given under the name that it had in 0.1"
    rival = client.node.create_publisher(Twist, "cmd_vel", 10)
    driver.until(lambda: "twist_mux" in driver.message, "a word on the second commander")
    assert client.node.get_name() in driver.message
    client.node.destroy_publisher(rival)
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=0.1)
    request = SetParameters.Request(parameters=[Parameter(name="speed", value=value)])
    answer = client.call(SetParameters, "bridge/set_parameters", request, 20)
    assert answer.results[0].successful, answer.results[0].reason
    assert processes[-1].stop() == 0


@pytest.fixture(scope="module")
def bench(folder):
    """The robot on a patrol, whose nodes can be killed and frozen."""
    made = FaultBench(folder, "G F kitchen & G F store & G !wet_floor", RATE, 0, "robot")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("node", "kind"), [("primitives", "SIGKILL"), ("car", "SIGSTOP"), ("bridge", "SIGKILL")]
)
def test_whoever_dies_zero_is_commanded_in_time(bench, node, kind):
    fault = bench.fault(node, kind)
    assert fault.braking is not None
    assert 0 < fault.obeyed <= 2 / RATE  # by the clocks of those who obeyed
    assert fault.commands_after == 0
    assert fault.reason


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({}, "needs a domain on a map"),
        ({"pose_source": "tf"}, "tf2_msgs"),
        ({"drive": "nav2"}, "nav2_msgs"),
    ],
)
def test_what_is_missing_is_said(domain_id, folder, parameters, complaint):
    given = {"domain": folder, **parameters} if parameters else {}
    options = [part for key, value in given.items() for part in ("-p", f"{key}:={value}")]
    process = Process(["skm_ros.nodes.bridge_node", "--ros-args", *options], domain_id)
    process.wait_for(lambda: process.returncode is not None, "its end")
    assert process.stop() == 2
    assert complaint in process.transcript()
    assert "Traceback" not in process.transcript()


def test_a_scan_that_tells_nothing_is_none_and_one_that_sees_nothing_is_one():
    angles = np.linspace(-1, 1, 5)
    seen, _ = scan_value(scan_message(np.full(5, np.inf), angles, 5.0))
    assert np.isinf(seen).all()
    for nothing in (np.nan, -np.inf):
        with pytest.raises(ConversionError, match="tells nothing"):
            scan_value(scan_message(np.full(5, nothing), angles, 5.0))
    mixed = np.array([np.nan, 1.0, np.inf, np.nan, 2.0])
    assert scan_value(scan_message(mixed, angles, 5.0))[0].tolist() == [
        *(np.inf, 1.0, np.inf, np.inf, 2.0)
    ]


def test_scans_and_poses_are_read_as_they_were_written():
    message = Odometry().pose.pose
    for pose in ((1.0, -2.0, 3.0), (0.0, 0.0, -1.5)):
        fill_pose(message, pose)
        assert pose_value(message) == pytest.approx(pose)
    angles = np.linspace(-1, 1, 9)
    distances = np.array([0.5, 1, 2, np.inf, 7, 3, 3, 3, 3])
    seen, at = scan_value(scan_message(distances, angles, 5.0))
    assert at == pytest.approx(angles)
    assert seen == pytest.approx([0.5, 1, 2, np.inf, np.inf, 3, 3, 3, 3])
