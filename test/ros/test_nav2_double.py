"""The nodes of the Nav2 double, over real topics and actions, each test in a domain of its own."""

# ruff: noqa: E402  (nav2_msgs can be imported only after it has been built)

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from doubles.interfaces import ensure_interfaces, interface_environment

DEFAULT = Path(tempfile.gettempdir()) / f"nav2-double-{os.getuid()}-{sys.version_info[1]}"
PREFIX = ensure_interfaces(os.environ.get("NAV2_DOUBLE_PREFIX", DEFAULT))

import rclpy
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, Twist, TwistStamped
from lifecycle_msgs.srv import GetState
from nav2_msgs.action import NavigateThroughPoses, NavigateToPose
from nav2_msgs.msg import CostmapFilterInfo
from nav_msgs.msg import OccupancyGrid, Odometry
from nav_msgs.msg import Path as PathMessage
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Header, String
from std_srvs.srv import Empty
from tf2_msgs.msg import TFMessage

from doubles.nav2 import (
    LATCHED,
    Nav2Double,
    Options,
    fill_pose,
    load_map,
    read_faults,
    to_duration,
    to_grid,
    to_occupancy,
    to_pose,
    to_quaternion,
    to_yaw,
)
from doubles.nav2_model import Fault, Faults, Grid, Parameters, Pose, Status

# rclpy imports a parser that imports `sre_parse`, on Python 3.11.
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

ROOM = Grid.room(8.0, 5.0)
START = Pose(1.0, 1.0, 0.0)
_domains = itertools.count(os.getpid() * 13)


class Client:
    """A node that sends goals and keeps what it hears; `wait` turns its executor."""

    def __init__(self, context) -> None:
        self.node = rclpy.create_node("client", context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self.feedback: list = []
        self.to_pose = ActionClient(self.node, NavigateToPose, "navigate_to_pose")
        self.through = ActionClient(self.node, NavigateThroughPoses, "navigate_through_poses")

    def wait(self, condition, timeout: float = 20.0) -> None:
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, "the condition never came true"
            self._executor.spin_once(timeout_sec=0.05)

    def result_of(self, future, timeout: float = 30.0):
        self.wait(future.done, timeout)
        return future.result()

    def hear(self, kind, topic: str, qos=10) -> list:
        heard: list = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def send(self, pose: Pose, frame_id: str = "map"):
        self.wait(self.to_pose.server_is_ready)
        goal = NavigateToPose.Goal()
        goal.pose.header.frame_id = frame_id
        fill_pose(goal.pose.pose, pose)
        sending = self.to_pose.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        return self.result_of(sending)

    def destroy(self) -> None:
        self._executor.shutdown(timeout_sec=2.0)
        self.to_pose.destroy()
        self.through.destroy()
        self.node.destroy_node()


@pytest.fixture
def start(monkeypatch):
    """Return a function that starts a double and a client, in a domain of their own."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with contextlib.ExitStack() as stack:

        def begin(**values) -> tuple[Client, Nav2Double]:
            context = rclpy.Context()
            rclpy.init(context=context, domain_id=next(_domains) % 100 + 1)
            stack.callback(rclpy.try_shutdown, context=context)
            options = values.pop("options", Options(speed=10.0))
            grid, at = values.pop("grid", ROOM), values.pop("at", START)
            double = Nav2Double(grid, at, options=options, context=context, **values)
            stack.enter_context(double.running())
            client = Client(context)
            stack.callback(client.destroy)
            return client, double

        yield begin


# --- conversions ---------------------------------------------------------------------------------


def test_poses_and_grids_survive_the_messages() -> None:
    message = PoseStamped()
    fill_pose(message.pose, Pose(1.0, 2.0, -2.5))
    assert to_pose(message.pose).distance(Pose(1.0, 2.0)) == 0.0
    assert to_yaw(to_quaternion(-2.5)) == pytest.approx(-2.5)
    grid = Grid.from_text("#?.\n...", 0.5, (1.0, -2.0))
    again = to_grid(to_occupancy(grid, Header(frame_id="map")))
    assert (again.data == grid.data).all()
    assert (again.resolution, again.origin_x, again.origin_y) == (0.5, 1.0, -2.0)
    assert to_duration(1.5).nanosec == 500_000_000


def test_maps_of_the_map_server_can_be_read(tmp_path) -> None:
    (tmp_path / "m.pgm").write_bytes(b"P5 3 2 255\n" + bytes([0, 254, 205, 254, 254, 254]))
    (tmp_path / "m.yaml").write_text(
        "image: m.pgm\nresolution: 0.05\norigin: [-1.0, 2.0, 0.0]\n"
        "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"
    )
    grid = load_map(tmp_path / "m.yaml")
    assert grid.data.tolist() == [[0, 0, 0], [100, 0, -1]]
    assert (grid.resolution, grid.origin_x, grid.origin_y) == (0.05, -1.0, 2.0)


def test_faults_can_be_written_as_plain_data() -> None:
    faults = read_faults(
        {
            "seed": 4,
            "reject": 0.1,
            "abort": {"probability": 1.0, "after": [2, 3]},
            "jump": [1, 2, 0],
        }
    )
    assert faults.reject == Fault(0.1)
    assert faults.abort == Fault(1.0, (2, 3))
    assert faults.jump == Pose(1, 2, 0)
    with pytest.raises(ValueError, match="rejekt"):
        read_faults({"rejekt": 1.0})


# --- robot and AMCL ------------------------------------------------------------------------------


def test_frames_of_odometry_scan_map_and_tf(start) -> None:
    client, _double = start()
    odom, tf = client.hear(Odometry, "odom"), client.hear(TFMessage, "/tf", 100)
    static = client.hear(TFMessage, "/tf_static", LATCHED)
    grid = client.hear(OccupancyGrid, "map", LATCHED)
    scans = client.hear(LaserScan, "scan", qos_profile_sensor_data)
    clock = client.hear(ClockMessage, "/clock")
    client.wait(lambda: odom and static and grid and scans and clock and len(tf) > 10)
    assert (odom[0].header.frame_id, odom[0].child_frame_id) == ("odom", "base_link")
    assert odom[0].pose.pose.position.x == 0.0
    edges = {(t.header.frame_id, t.child_frame_id) for message in tf for t in message.transforms}
    assert edges == {("odom", "base_link"), ("map", "odom")}
    (laser,) = static[0].transforms
    assert (laser.header.frame_id, laser.child_frame_id) == ("base_link", "base_scan")
    assert scans[0].header.frame_id == "base_scan"
    assert len(scans[0].ranges) == 180
    assert (grid[0].info.width, grid[0].info.height) == (80, 50)


def test_the_transform_to_the_map_is_dated_into_the_future(start) -> None:
    client, _double = start()
    tf, clock = client.hear(TFMessage, "/tf", 100), client.hear(ClockMessage, "/clock")

    def latest() -> list:
        found = [t for message in tf for t in message.transforms if t.child_frame_id == "odom"]
        return found[-1:]

    client.wait(lambda: latest() and len(clock) > 20)
    (transform,) = latest()
    now = clock[-1].clock.sec + clock[-1].clock.nanosec / 1e9
    dated = transform.header.stamp.sec + transform.header.stamp.nanosec / 1e9
    assert 0.5 < dated - now < 1.2
    assert transform.transform.translation.x == pytest.approx(1.0, abs=0.1)


def test_a_late_subscriber_hears_the_pose_only_when_it_asks_for_the_latched_one(start) -> None:
    client, double = start()
    client.wait(lambda: double.call(lambda model: model.time) > 3.0)
    volatile = client.hear(PoseWithCovarianceStamped, "amcl_pose", QoSProfile(depth=10))
    latched = client.hear(PoseWithCovarianceStamped, "amcl_pose", LATCHED)
    client.wait(lambda: latched)
    now = double.call(lambda model: model.time)
    client.wait(lambda: double.call(lambda model: model.time) > now + 5.0)
    assert len(latched) == 1
    assert not volatile
    assert latched[0].header.frame_id == "map"
    assert latched[0].pose.pose.position.x == pytest.approx(1.0, abs=0.1)
    assert latched[0].pose.covariance[0] > 0
    client.send(Pose(4.0, 1.0))
    client.wait(lambda: len(volatile) >= 3)


def test_initial_poses_are_taken_in_the_frame_of_the_map(start) -> None:
    client, _double = start(parameters=Parameters(set_initial_pose=False))
    poses = client.hear(PoseWithCovarianceStamped, "amcl_pose", LATCHED)
    publisher = client.node.create_publisher(PoseWithCovarianceStamped, "initialpose", 10)
    client.wait(lambda: publisher.get_subscription_count() == 1)
    message = PoseWithCovarianceStamped()
    fill_pose(message.pose.pose, START)
    message.header.frame_id = "odom"
    publisher.publish(message)
    handle = client.send(Pose(3.0, 1.0))  # accepted and aborted: there is no pose yet
    assert client.result_of(handle.get_result_async()).status == GoalStatus.STATUS_ABORTED
    assert not poses
    message.header.frame_id = "map"
    publisher.publish(message)
    client.wait(lambda: poses)
    handle = client.send(Pose(3.0, 1.0))
    assert client.result_of(handle.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED


def test_a_nomotion_update_can_be_requested(start) -> None:
    client, _double = start()
    poses = client.hear(PoseWithCovarianceStamped, "amcl_pose", LATCHED)
    service = client.node.create_client(Empty, "request_nomotion_update")
    client.wait(lambda: poses and service.service_is_ready())
    client.result_of(service.call_async(Empty.Request()))
    client.wait(lambda: len(poses) == 2)


@pytest.mark.parametrize("stamped", [False, True])
def test_velocities_drive_the_robot_until_they_stop(start, stamped) -> None:
    client, double = start(options=Options(speed=4.0, enable_stamped_cmd_vel=stamped))
    kind = TwistStamped if stamped else Twist
    publisher = client.node.create_publisher(kind, "cmd_vel", 10)
    client.wait(lambda: publisher.get_subscription_count() == 1)
    message = kind()
    (message.twist if stamped else message).linear.x = 0.4

    def driven() -> float:
        publisher.publish(message)
        return double.call(lambda model: model.robot.distance_driven)

    client.wait(lambda: driven() > 0.5)
    client.wait(lambda: double.call(lambda model: model.robot.speed) == 0.0)


def test_the_nodes_answer_as_active_lifecycle_nodes(start) -> None:
    client, _double = start()
    for name in ("amcl", "bt_navigator"):
        service = client.node.create_client(GetState, f"{name}/get_state")
        client.wait(service.service_is_ready)
        state = client.result_of(service.call_async(GetState.Request())).current_state
        assert (state.id, state.label) == (3, "active")


# --- actions -------------------------------------------------------------------------------------


def test_a_goal_is_driven_to_with_feedback_and_plans(start) -> None:
    client, double = start()
    plans = client.hear(PathMessage, "plan")
    handle = client.send(Pose(5.0, 3.0, 1.0))
    assert handle.accepted
    response = client.result_of(handle.get_result_async())
    assert response.status == GoalStatus.STATUS_SUCCEEDED
    assert (response.result.error_code, response.result.error_msg) == (0, "")
    assert double.call(lambda model: model.robot.true_pose).distance(Pose(5.0, 3.0)) < 0.35
    assert plans[-1].poses[-1].pose.position.x == 5.0
    distances = [message.distance_remaining for message in client.feedback]
    assert max(distances) > 3.0
    assert distances[-1] < 0.4
    assert client.feedback[-1].current_pose.header.frame_id == "map"
    assert client.feedback[-1].navigation_time.sec >= 8


@pytest.mark.parametrize("loopback", [False, True])
def test_in_real_time_and_by_topic_too(start, loopback) -> None:
    client, double = start(options=Options(loopback=loopback))
    response = client.result_of(client.send(Pose(1.8, 1.0)).get_result_async())
    assert response.status == GoalStatus.STATUS_SUCCEEDED
    stamp = client.feedback[-1].current_pose.header.stamp.sec
    assert abs(stamp - time.time()) < 5.0
    assert double.call(lambda model: model.robot.distance_driven) > 0.4


def test_poses_on_the_way(start) -> None:
    client, double = start()
    client.wait(client.through.server_is_ready)
    goal = NavigateThroughPoses.Goal()
    for pose in (Pose(3.0, 4.0), Pose(6.0, 1.0)):
        stamped = PoseStamped(header=Header(frame_id="map"))
        fill_pose(stamped.pose, pose)
        goal.poses.append(stamped)
    heard: list = []
    handle = client.result_of(client.through.send_goal_async(goal, feedback_callback=heard.append))
    response = client.result_of(handle.get_result_async())
    assert response.status == GoalStatus.STATUS_SUCCEEDED
    assert {message.feedback.number_of_poses_remaining for message in heard} == {2, 1}
    assert double.call(lambda model: model.robot.true_pose).distance(Pose(6.0, 1.0)) < 0.35


def test_preempting_and_cancelling(start) -> None:
    client, double = start()
    old = client.send(Pose(7.0, 1.0))
    client.wait(lambda: client.feedback)
    new = client.send(Pose(1.0, 4.0))
    response = client.result_of(old.get_result_async())
    assert (response.status, response.result.error_code) == (GoalStatus.STATUS_ABORTED, 0)
    canceling = client.result_of(new.cancel_goal_async())
    assert len(canceling.goals_canceling) == 1
    assert client.result_of(new.get_result_async()).status == GoalStatus.STATUS_CANCELED
    again = client.result_of(new.cancel_goal_async())
    assert not again.goals_canceling
    client.wait(lambda: double.call(lambda model: model.robot.speed) == 0.0)


def test_a_rejected_goal_and_one_that_fails(start) -> None:
    client, _double = start(faults=Faults(script={0: ["reject"]}))
    assert not client.send(Pose(3.0, 1.0)).accepted
    response = client.result_of(client.send(Pose(100.0, 1.0)).get_result_async())
    assert (response.status, response.result.error_code) == (GoalStatus.STATUS_ABORTED, 204)


def test_servers_come_late_go_with_their_goals_and_come_again(start) -> None:
    client, double = start(faults=Faults(server_absent=((0.0, 8.0), (20.0, 30.0))))
    client.wait(lambda: double.call(lambda model: model.time) > 5.0)
    assert not client.to_pose.server_is_ready()
    handle = client.send(Pose(7.0, 4.0))
    lost = handle.get_result_async()
    client.wait(lambda: double.call(lambda model: model.time) > 20.5)
    client.wait(lambda: not client.to_pose.server_is_ready())
    assert not lost.done()
    response = client.result_of(client.send(Pose(2.0, 2.0)).get_result_async())
    assert response.status == GoalStatus.STATUS_SUCCEEDED


def test_a_hung_goal_is_silent(start) -> None:
    client, double = start(faults=Faults(script={0: ["hang"]}, hang=Fault(after=(0.5, 0.5))))
    handle = client.send(Pose(7.0, 1.0))
    result = handle.get_result_async()
    client.wait(lambda: double.call(lambda model: model.time) > 5.0)
    count = len(client.feedback)
    client.wait(lambda: double.call(lambda model: model.time) > 30.0)
    assert len(client.feedback) == count
    assert not result.done()
    client.result_of(handle.cancel_goal_async())
    assert client.result_of(result).status == GoalStatus.STATUS_CANCELED


def test_a_keep_out_mask_is_found_through_its_filter_info(start) -> None:
    client, double = start()
    masks = client.node.create_publisher(OccupancyGrid, "keepout_mask", LATCHED)
    infos = client.node.create_publisher(CostmapFilterInfo, "costmap_filter_info", LATCHED)
    header = Header(frame_id="map")
    masks.publish(to_occupancy(ROOM.blank().filled(3.0, 0.0, 4.0, 3.5), header))
    info = CostmapFilterInfo(header=header, filter_mask_topic="keepout_mask", multiplier=1.0)
    infos.publish(info)
    client.wait(lambda: double.call(lambda model: model.costmap.blocked(3.5, 1.0)))
    truth = client.hear(PoseStamped, "ground_truth/pose", 1000)
    response = client.result_of(client.send(Pose(7.0, 1.0)).get_result_async())
    assert response.status == GoalStatus.STATUS_SUCCEEDED
    ys = [m.pose.position.y for m in truth if 3.0 <= m.pose.position.x <= 4.0]
    assert min(ys) >= 3.5
    masks.publish(to_occupancy(ROOM.blank(), header))
    client.wait(lambda: not double.call(lambda model: model.costmap.blocked(3.5, 1.0)))


def test_goals_from_rviz_and_disturbances_by_topic(start) -> None:
    client, double = start()
    goals = client.node.create_publisher(PoseStamped, "goal_pose", 10)
    orders = client.node.create_publisher(String, "nav2_double/inject", 10)
    client.wait(lambda: goals.get_subscription_count() and orders.get_subscription_count())
    orders.publish(String(data=json.dumps({"obstacle": [4.0, 2.5, 0.3, 1000.0]})))
    orders.publish(String(data="nonsense"))
    message = PoseStamped(header=Header(frame_id="map"))
    fill_pose(message.pose, Pose(7.0, 2.5))
    goals.publish(message)
    client.wait(lambda: double.call(lambda m: m.goals and m.goals[0].status is Status.SUCCEEDED))
    assert double.call(lambda model: model.robot.collisions) == 0


def test_a_process_of_its_own(start, tmp_path) -> None:
    config = {
        "grid": {"room": [6.0, 4.0]},
        "start": [1.0, 1.0, 0.0],
        "parameters": {"xy_goal_tolerance": 0.2},
        "faults": {"seed": 1, "lie_abort": 1.0},
        "obstacles": [[3.0, 1.0, 0.3]],
        "options": {"speed": 10.0, "namespace": "robot1"},
    }
    (tmp_path / "double.json").write_text(json.dumps(config))
    domain = next(_domains) % 100 + 1
    environ = interface_environment(PREFIX, {**os.environ, "ROS_DOMAIN_ID": str(domain)})
    script = Path(__file__).parents[1] / "doubles" / "nav2.py"
    command = [sys.executable, str(script), "--config", str(tmp_path / "double.json")]
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("client", namespace="robot1", context=context)
    action = ActionClient(node, NavigateToPose, "navigate_to_pose")
    executor = SingleThreadedExecutor(context=context)
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            assert action.wait_for_server(20.0)
            goal = NavigateToPose.Goal()
            goal.pose.header.frame_id = "map"
            fill_pose(goal.pose.pose, Pose(5.0, 1.0))
            sending = action.send_goal_async(goal)
            rclpy.spin_until_future_complete(node, sending, executor, timeout_sec=20.0)
            ending = sending.result().get_result_async()
            rclpy.spin_until_future_complete(node, ending, executor, timeout_sec=60.0)
            response = ending.result()
            assert (response.status, response.result.error_code) == (GoalStatus.STATUS_ABORTED, 105)
            process.send_signal(signal.SIGINT)
            assert process.wait(20.0) == 0
        finally:
            process.kill()
            action.destroy()
            node.destroy_node()
            rclpy.try_shutdown(context=context)
