"""The nodes of the Nav2 double: a robot, AMCL and Nav2's navigators around one `Nav2Model`.

Needs rclpy, and nav2_msgs and tf2_msgs (`doubles.interfaces.ensure_interfaces`). In a process:

    with Nav2Double(grid, start).running() as double:  # spins in a thread of its own
        …

As a process of its own: `python test/doubles/nav2.py --config double.yaml` (see README.md).
"""

from __future__ import annotations

import argparse
import array
import contextlib
import json
import math
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path as FilePath
from typing import Any

if __name__ == "__main__":  # run as a file: the folder above holds the package `doubles`
    sys.path.insert(0, str(FilePath(__file__).resolve().parent.parent))

import numpy as np
import rclpy
import yaml
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import (
    PoseStamped,
    PoseWithCovarianceStamped,
    Quaternion,
    TransformStamped,
    Twist,
    TwistStamped,
)
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from nav2_msgs.action import NavigateThroughPoses, NavigateToPose
from nav2_msgs.msg import CostmapFilterInfo
from nav_msgs.msg import OccupancyGrid, Odometry
from nav_msgs.msg import Path as PathMessage
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Header, String
from std_srvs.srv import Empty
from tf2_msgs.msg import TFMessage

from doubles.nav2_model import (
    THROUGH_POSES,
    TO_POSE,
    Fault,
    Faults,
    Feedback,
    Goal,
    Grid,
    Nav2Model,
    Obstacle,
    Parameters,
    Pose,
    Status,
)

LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
ACTIONS: dict[str, Any] = {TO_POSE: NavigateToPose, THROUGH_POSES: NavigateThroughPoses}


# --- conversions ---------------------------------------------------------------------------------


def to_time(seconds: float) -> Time:
    """Return seconds as a stamp."""
    nanoseconds = round(seconds * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def to_duration(seconds: float) -> Duration:
    """Return seconds as a duration; what a message cannot hold becomes the most it can."""
    nanoseconds = round(min(seconds, 2.0**31 - 1) * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def to_quaternion(yaw: float) -> Quaternion:
    """Return a rotation about the vertical axis."""
    return Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2))


def to_yaw(rotation: Quaternion) -> float:
    """Return the yaw of any quaternion, also of one that is not quite of length 1."""
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    return math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)


def to_pose(message: Any) -> Pose:
    """Return the plane's part of a geometry_msgs/Pose."""
    return Pose(message.position.x, message.position.y, to_yaw(message.orientation))


def fill_pose(message: Any, pose: Pose) -> None:
    """Write a pose into a geometry_msgs/Pose."""
    message.position.x, message.position.y = pose.x, pose.y
    message.orientation = to_quaternion(pose.yaw)


def to_grid(message: OccupancyGrid) -> Grid:
    """Return the grid of a message (its origin unrotated, as Nav2 takes it)."""
    data = np.array(message.data, dtype=np.int8)
    shape = (message.info.height, message.info.width)
    origin = message.info.origin.position
    return Grid(data.reshape(shape), float(message.info.resolution), origin.x, origin.y)


def to_occupancy(grid: Grid, header: Header) -> OccupancyGrid:
    """Return a grid as a message."""
    message = OccupancyGrid(header=header)
    message.info.resolution = grid.resolution
    message.info.height, message.info.width = grid.data.shape
    message.info.origin.position.x = grid.origin_x
    message.info.origin.position.y = grid.origin_y
    message.info.origin.orientation.w = 1.0
    message.data = array.array("b", grid.data.astype(np.int8).tobytes())
    return message


def to_transform(parent: str, child: str, stamp: float, pose: Pose) -> TransformStamped:
    """Return a transform for tf."""
    message = TransformStamped(
        header=Header(stamp=to_time(stamp), frame_id=parent), child_frame_id=child
    )
    message.transform.translation.x = pose.x
    message.transform.translation.y = pose.y
    message.transform.rotation = to_quaternion(pose.yaw)
    return message


# --- nodes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """How the nodes run."""

    namespace: str = ""
    speed: float = 0.0
    """0: real time. Else /clock is published, so many times as fast; clients set use_sim_time."""
    clock_start: float = 0.0
    """Where /clock begins, in seconds."""
    enable_stamped_cmd_vel: bool = False
    """TwistStamped on cmd_vel, the default after Jazzy; else Twist."""
    loopback: bool = False
    """Nav2 drives by publishing cmd_vel, which the robot hears as from anybody; else directly,
    and its velocities are shown on cmd_vel_nav."""
    publish_scan: bool = True
    filter_info_topic: str = "costmap_filter_info"
    feedback_period: float = 0.01
    """Feedback is at most so frequent in real seconds (bt_loop_duration), and once for a tick."""


@dataclass(frozen=True)
class Setup:
    """What the nodes share: options, when the model's time began, the clock, the rclpy context."""

    options: Options
    base: float
    stamp: Callable[[], float]
    context: Any = None

    def node_options(self) -> dict[str, Any]:
        """Return the arguments of a node that is on the same clock as its clients."""
        return {
            "namespace": self.options.namespace,
            "context": self.context,
            "parameter_overrides": [Parameter("use_sim_time", value=bool(self.options.speed))],
        }


class RobotNode(Node):
    """The robot's driver and the map server.

    Publishes `odom`, `scan`, `map` (latched), odom → base_link on /tf, base_link → base_scan on
    /tf_static, and `ground_truth/pose`. Hears `cmd_vel`.
    """

    def __init__(self, model: Nav2Model, setup: Setup) -> None:
        self.model, self._stamp, self._options = model, setup.stamp, setup.options
        super().__init__("robot", **setup.node_options())
        options, stamp = setup.options, setup.stamp
        self._odom = self.create_publisher(Odometry, "odom", 10)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self._truth = self.create_publisher(PoseStamped, "ground_truth/pose", 10)
        self._scan = self.create_publisher(LaserScan, "scan", qos_profile_sensor_data)
        self._static = self.create_publisher(TFMessage, "/tf_static", LATCHED)
        self._map = self.create_publisher(OccupancyGrid, "map", LATCHED)
        kind = TwistStamped if options.enable_stamped_cmd_vel else Twist
        self.create_subscription(kind, "cmd_vel", self._commanded, 10)
        topic = "cmd_vel" if options.loopback else "cmd_vel_nav"
        self._nav = self.create_publisher(kind, topic, 1)
        model.drive = self._drive
        self._next_scan = 0.0
        header = Header(stamp=to_time(stamp()), frame_id="map")
        self._map.publish(to_occupancy(model.world.grid, header))
        laser = to_transform("base_link", "base_scan", stamp(), Pose())
        self._static.publish(TFMessage(transforms=[laser]))

    def publish(self) -> None:
        """Publish what the sensors say after a tick."""
        robot, now = self.model.robot, self._stamp()
        odom = Odometry(
            header=Header(stamp=to_time(now), frame_id="odom"), child_frame_id="base_link"
        )
        fill_pose(odom.pose.pose, robot.odom_pose)
        odom.twist.twist.linear.x = robot.speed
        odom.twist.twist.angular.z = robot.rotation
        self._odom.publish(odom)
        transform = to_transform("odom", "base_link", now, robot.odom_pose)
        self._tf.publish(TFMessage(transforms=[transform]))
        truth = PoseStamped(header=Header(stamp=to_time(now), frame_id="map"))
        fill_pose(truth.pose, robot.true_pose)
        self._truth.publish(truth)
        if self._options.publish_scan and self.model.time >= self._next_scan - 1e-9:
            self._next_scan = self.model.time + 1.0 / self.model.parameters.scan_rate
            self._publish_scan(now)

    def _publish_scan(self, now: float) -> None:
        angles, limit = self.model.scan_angles(), self.model.parameters.scan_range
        message = LaserScan(header=Header(stamp=to_time(now), frame_id="base_scan"))
        message.angle_min, message.angle_max = float(angles[0]), float(angles[-1])
        message.angle_increment = float(angles[1] - angles[0])
        message.scan_time = 1.0 / self.model.parameters.scan_rate
        message.range_min, message.range_max = 0.05, limit
        message.ranges = array.array("f", self.model.scan().astype(np.float32).tobytes())
        self._scan.publish(message)

    def _commanded(self, message: Twist | TwistStamped) -> None:
        twist = message.twist if isinstance(message, TwistStamped) else message
        self.model.robot.command(twist.linear.x, twist.angular.z)

    def _drive(self, speed: float, rotation: float) -> None:
        """Send the controller's velocities on their way."""
        if not self._options.loopback:
            self.model.robot.command(speed, rotation)
        twist = Twist()
        twist.linear.x, twist.angular.z = speed, rotation
        if self._options.enable_stamped_cmd_vel:
            header = Header(stamp=to_time(self._stamp()), frame_id="base_link")
            self._nav.publish(TwistStamped(header=header, twist=twist))
        else:
            self._nav.publish(twist)


class AmclNode(Node):
    """AMCL: publishes `amcl_pose` (latched) and map → odom on /tf; hears `initialpose`.

    Services: `request_nomotion_update`, `amcl/get_state`.
    """

    def __init__(self, model: Nav2Model, setup: Setup) -> None:
        self.model, self._base = model, setup.base
        super().__init__("amcl", **setup.node_options())
        self._pose = self.create_publisher(PoseWithCovarianceStamped, "amcl_pose", LATCHED)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self.create_subscription(PoseWithCovarianceStamped, "initialpose", self._initial, 10)
        self.create_service(Empty, "request_nomotion_update", self._update_requested)
        _serve_state(self)

    def publish(self) -> None:
        """Publish what AMCL has said since the last tick."""
        poses, transforms = self.model.amcl.poses, self.model.amcl.transforms
        while poses:
            estimate = poses.popleft()
            stamp = to_time(self._base + estimate.stamp)
            message = PoseWithCovarianceStamped(
                header=Header(stamp=stamp, frame_id=estimate.frame_id)
            )
            fill_pose(message.pose.pose, estimate.pose)
            for index, variance in zip((0, 7, 35), estimate.variances, strict=True):
                message.pose.covariance[index] = variance
            self._pose.publish(message)
        while transforms:
            latest = transforms.popleft()
            stamped = to_transform("map", "odom", self._base + latest.stamp, latest.transform)
            self._tf.publish(TFMessage(transforms=[stamped]))

    def _initial(self, message: PoseWithCovarianceStamped) -> None:
        rotation, covariance = message.pose.pose.orientation, message.pose.covariance
        length = math.hypot(rotation.x, rotation.y, rotation.z, rotation.w)
        variances = (float(covariance[0]), float(covariance[7]), float(covariance[35]))
        valid = abs(length**2 - 1.0) < 1e-2 and all(map(math.isfinite, covariance))
        pose, frame = to_pose(message.pose.pose), message.header.frame_id
        if not valid or not self.model.amcl.initial_pose(pose, frame, variances):
            self.get_logger().warning(f"initial pose refused: frame '{frame}', {pose}")

    def _update_requested(self, _request: Empty.Request, response: Empty.Response) -> object:
        self.model.amcl.request_nomotion_update()
        return response


class NavigatorNode(Node):
    """Nav2: the actions `navigate_to_pose` and `navigate_through_poses`, and the keep-out filter.

    Publishes `plan`. Hears `goal_pose`, `costmap_filter_info` and the mask that this names.
    Service: `bt_navigator/get_state`.
    """

    def __init__(self, model: Nav2Model, setup: Setup) -> None:
        self.model, self._stamp, self._options = model, setup.stamp, setup.options
        super().__init__("bt_navigator", **setup.node_options())
        self._servers: dict[str, ActionServer] = {}
        self._handles: dict[int, tuple[ActionServer, ServerGoalHandle]] = {}
        self._accepted: deque[Goal] = deque()
        self._fed: dict[int, int] = {}
        self._fed_at = -math.inf
        self._plan = self.create_publisher(PathMessage, "plan", 1)
        self._shown: object = None
        self._mask_subscription: Any = None
        self.create_subscription(PoseStamped, "goal_pose", self._goal_pose, 10)
        self.create_subscription(
            CostmapFilterInfo, self._options.filter_info_topic, self._filter_info, LATCHED
        )
        _serve_state(self)
        model.on_end = self._ended
        self.publish()

    def publish(self) -> None:
        """Publish feedback and plan after a tick; make or remove the servers."""
        if self.model.available != bool(self._servers):
            self._change_servers()
        path = self.model.controller.path
        if path is not self._shown and path is not None:
            self._shown = path
            self._publish_plan(path.points, path.yaw)
        # The behaviour tree's loop runs on the wall clock, however fast the simulation is.
        if time.monotonic() - self._fed_at < self._options.feedback_period:
            return
        for number, (_server, handle) in self._handles.items():
            goal = self.model.goals[number]
            if goal.feedback is not None and goal.feedback_count > self._fed.get(number, 0):
                self._fed[number] = goal.feedback_count
                self._fed_at = time.monotonic()
                handle.publish_feedback(self._feedback(goal.action, goal.feedback))

    def destroy_servers(self) -> None:
        """Remove the action servers with all their goals."""
        for server in self._servers.values():
            server.destroy()
        self._servers.clear()
        self._handles.clear()
        self._accepted.clear()

    def _change_servers(self) -> None:
        if not self.model.available:
            self.destroy_servers()
            return
        for name, kind in ACTIONS.items():
            self._servers[name] = ActionServer(
                self,
                kind,
                name,
                execute_callback=_no_execution,
                goal_callback=partial(self._goal, name),
                handle_accepted_callback=partial(self._handle, name),
                cancel_callback=self._cancel,
            )

    def _goal(self, name: str, request: Any) -> GoalResponse:
        stamped = [request.pose] if name == TO_POSE else list(request.poses)
        frames = {pose.header.frame_id.removeprefix("/") for pose in stamped} or {"map"}
        goal = self.model.send_goal(
            [to_pose(pose.pose) for pose in stamped],
            # The model takes one frame for all poses; a mixture is as good as an unknown one.
            frame_id=frames.pop() if len(frames) == 1 else "",
            behavior_tree=request.behavior_tree,
            action=name,
        )
        if not goal.accepted:
            return GoalResponse.REJECT
        self._accepted.append(goal)
        return GoalResponse.ACCEPT

    def _handle(self, name: str, handle: ServerGoalHandle) -> None:
        """Keep the handle of a goal accepted just now. Nothing runs for it: the model does."""
        goal = self._accepted.popleft()
        self._handles[goal.number] = (self._servers[name], handle)
        # `handle.execute()` would do this and also run a callback that has to last until the end.
        handle._update_state(rclpy_implementation.GoalEvent.EXECUTE)
        if goal.done:
            self._ended(goal)

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        for number, (_server, known) in self._handles.items():
            if known == handle and self.model.cancel(self.model.goals[number]):
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _ended(self, goal: Goal) -> None:
        """Tell the client how a goal ended."""
        if goal.number not in self._handles or goal.result is None:
            return
        server, handle = self._handles.pop(goal.number)
        end = {
            Status.SUCCEEDED: handle.succeed,
            Status.CANCELED: handle.canceled,
            Status.ABORTED: handle.abort,
        }
        if goal.status is Status.CANCELED and handle.status != GoalStatus.STATUS_CANCELING:
            return
        end[goal.status]()
        result = ACTIONS[goal.action].Result(
            error_code=goal.result.error_code, error_msg=goal.result.error_msg
        )
        server.notify_execute(handle, lambda _handle: result)

    def _feedback(self, name: str, feedback: Feedback) -> Any:
        message = ACTIONS[name].Feedback()
        message.current_pose.header = Header(stamp=to_time(self._stamp()), frame_id="map")
        fill_pose(message.current_pose.pose, feedback.current_pose)
        message.navigation_time = to_duration(feedback.navigation_time)
        message.estimated_time_remaining = to_duration(feedback.estimated_time_remaining)
        message.number_of_recoveries = feedback.number_of_recoveries
        message.distance_remaining = feedback.distance_remaining
        if name == THROUGH_POSES:
            message.number_of_poses_remaining = feedback.number_of_poses_remaining
        return message

    def _publish_plan(self, points: np.ndarray, yaw: float) -> None:
        message = PathMessage(header=Header(stamp=to_time(self._stamp()), frame_id="map"))
        for x, y in points.tolist():
            pose = PoseStamped(header=message.header)
            fill_pose(pose.pose, Pose(x, y, yaw))
            message.poses.append(pose)
        self._plan.publish(message)

    def _goal_pose(self, message: PoseStamped) -> None:
        """Take a goal as rviz sends it: Nav2 sends it to itself, and nobody waits for the end."""
        if self.model.available:
            frame = message.header.frame_id
            self.model.send_goal(to_pose(message.pose), frame_id=frame)

    def _filter_info(self, message: CostmapFilterInfo) -> None:
        if message.type != 0:
            self.get_logger().error(f"filter type {message.type} is not keep-out: ignored")
            return
        if message.base != 0.0 or message.multiplier != 1.0:
            self.get_logger().error("a keep-out filter wants base 0 and multiplier 1")
        if self._mask_subscription is not None:
            self.destroy_subscription(self._mask_subscription)
        self._mask_subscription = self.create_subscription(
            OccupancyGrid, message.filter_mask_topic, self._mask, LATCHED
        )

    def _mask(self, message: OccupancyGrid) -> None:
        if message.header.frame_id.removeprefix("/") != "map":
            self.get_logger().error(f"no transform from map to '{message.header.frame_id}'")
            return
        self.model.set_keepout(to_grid(message))


def _no_execution(_handle: ServerGoalHandle) -> None:
    """Stand in for the callback that rclpy asks for; results come from `NavigatorNode._ended`."""


def _serve_state(node: Node) -> None:
    """Answer as an active lifecycle node: clients wait for this before they send goals."""

    def state(_request: GetState.Request, response: GetState.Response) -> GetState.Response:
        response.current_state = State(id=State.PRIMARY_STATE_ACTIVE, label="active")
        return response

    node.create_service(GetState, "~/get_state", state)


class DirectorNode(Node):
    """Moves time and takes commands to disturb the world: `nav2_double/inject`, JSON in a String.

    `{"obstacle": [x, y, radius, seconds]}`, `{"jump": [x, y, yaw, seconds]}`, `{"freeze": seconds}`,
    `{"teleport": [x, y, yaw]}`, `{"keepout": null}`. Publishes /clock when time is simulated.
    """

    def __init__(self, model: Nav2Model, setup: Setup) -> None:
        self.model, options = model, setup.options
        super().__init__("nav2_double", namespace=options.namespace, context=setup.context)
        self.create_subscription(String, "nav2_double/inject", self._inject, 10)
        self.clock = self.create_publisher(ClockMessage, "/clock", 10) if options.speed else None

    def _inject(self, message: String) -> None:
        try:
            for kind, value in json.loads(message.data).items():
                inject(self.model, kind, value)
        except (ValueError, TypeError, AttributeError) as error:
            self.get_logger().error(f"cannot inject {message.data!r}: {error}")


def inject(model: Nav2Model, kind: str, value: Any) -> None:
    """Do one thing to the world; see `DirectorNode`."""
    match kind:
        case "obstacle":
            model.add_obstacle(*value)
        case "jump":
            model.jump(Pose(*value[:3]), *value[3:])
        case "freeze":
            model.freeze(float(value))
        case "teleport":
            model.robot.true_pose = Pose(*value)
        case "keepout":
            model.set_keepout(None)
        case _:
            raise ValueError(f"unknown: {kind}")


class Nav2Double:
    """All nodes around one model. Add `nodes` to an executor, or use `running()`.

    All callbacks run in the executor's thread; other threads use `call` to reach the model.
    """

    def __init__(
        self,
        grid: Grid,
        start: Pose,
        parameters: Parameters | None = None,
        faults: Faults | None = None,
        options: Options | None = None,
        *,
        obstacles: Sequence[Obstacle] = (),
        context: Any = None,
    ) -> None:
        self.options = options or Options()
        self.model = Nav2Model(grid, start, parameters, faults, obstacles)
        simulated = bool(self.options.speed)
        self._base = self.options.clock_start if simulated else time.time()
        self._began = time.monotonic()
        self._speed = self.options.speed or 1.0
        self._calls: deque[tuple[Callable[[Nav2Model], Any], threading.Event, list[Any]]] = deque()
        setup = Setup(self.options, self._base, self.stamp, context)
        self.director = DirectorNode(self.model, setup)
        self.robot = RobotNode(self.model, setup)
        self.amcl = AmclNode(self.model, setup)
        self.navigator = NavigatorNode(self.model, setup)
        self.nodes: tuple[Node, ...] = (self.director, self.robot, self.amcl, self.navigator)
        tick = self.model.parameters.tick
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        # This one timer is real; all else happens in the ticks that it makes.
        self.director.create_timer(max(tick / self._speed, 0.002), self._advance, clock=steady)

    def stamp(self) -> float:
        """Return the time now in the clock of the nodes, in seconds."""
        return self._base + self.model.time

    def call(self, function: Callable[[Nav2Model], Any], timeout: float = 10.0) -> Any:
        """Run a function of the model in the executor's thread, between two ticks."""
        done, result = threading.Event(), []
        self._calls.append((function, done, result))
        if not done.wait(timeout):
            raise TimeoutError("the executor of the double does not turn")
        return result[0]

    @contextlib.contextmanager
    def running(self) -> Iterator[Nav2Double]:
        """Spin the nodes in a thread; destroy them at the end."""
        context = self.director.context
        executor = SingleThreadedExecutor(context=context)
        for node in self.nodes:
            executor.add_node(node)
        ended = threading.Event()
        given = executor, ended
        thread = threading.Thread(target=_spin, args=given, name="nav2_double", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            # An executor that is shut down while it waits takes away what it waits for.
            ended.set()
            thread.join(timeout=5.0)
            executor.shutdown(timeout_sec=5.0)
            self.destroy()

    def destroy(self) -> None:
        """Destroy the nodes."""
        self.navigator.destroy_servers()
        for node in self.nodes:
            node.destroy_node()

    def _advance(self) -> None:
        while self._calls:
            function, done, result = self._calls.popleft()
            try:
                result.append(function(self.model))
            finally:
                done.set()
        tick = self.model.parameters.tick
        due = (time.monotonic() - self._began) * self._speed - self.model.time
        if self.options.speed and due > 20 * tick:
            # The machine cannot keep up: simulated time goes slower, without a jump.
            self._began += (due - tick) / self._speed
            due = tick
        while due >= tick - 1e-9:
            due -= tick
            self.model.step(tick)
            if self.director.clock is not None:
                self.director.clock.publish(ClockMessage(clock=to_time(self.stamp())))
            self.robot.publish()
            self.amcl.publish()
            self.navigator.publish()


def _spin(executor: SingleThreadedExecutor, ended: threading.Event) -> None:
    with contextlib.suppress(ExternalShutdownException):
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.1)


# --- a process of its own ------------------------------------------------------------------------


def read_grid(description: Mapping[str, Any], folder: FilePath) -> Grid:
    """Return a grid: `{room: [w, h]}`, `{text: …, resolution: …}` or `{map: file.yaml}`."""
    if "room" in description:
        return Grid.room(*description["room"], resolution=description.get("resolution", 0.1))
    if "text" in description:
        origin = tuple(description.get("origin", (0.0, 0.0)))
        return Grid.from_text(description["text"], description.get("resolution", 0.1), origin)
    return load_map(folder / description["map"])


def load_map(file: FilePath) -> Grid:
    """Return the grid of a map file of map_server (trinary mode)."""
    from PIL import Image  # noqa: PLC0415  (only for maps from files)

    header = yaml.safe_load(file.read_text("utf-8"))
    with Image.open(file.parent / header["image"]) as image:
        grey = np.asarray(image.convert("L"), dtype=float)
    darkness = grey / 255.0 if header.get("negate", 0) else 1.0 - grey / 255.0
    data = np.full(grey.shape, -1, dtype=np.int8)
    data[darkness > header.get("occupied_thresh", 0.65)] = 100
    data[darkness < header.get("free_thresh", 0.25)] = 0
    x, y, _yaw = header["origin"]
    return Grid(np.ascontiguousarray(data[::-1]), float(header["resolution"]), float(x), float(y))


def from_config(config: Mapping[str, Any], folder: FilePath, context: Any = None) -> Nav2Double:
    """Return the double that a configuration describes (README.md lists the keys)."""
    parameters = dict(config.get("parameters", {}))
    if parameters.get("initial_pose") is not None:
        parameters["initial_pose"] = Pose(*parameters["initial_pose"])
    if "behavior_trees" in parameters:
        parameters["behavior_trees"] = tuple(parameters["behavior_trees"])
    return Nav2Double(
        read_grid(config["grid"], folder),
        Pose(*config["start"]),
        Parameters(**parameters),
        read_faults(config.get("faults", {})),
        Options(**config.get("options", {})),
        obstacles=[Obstacle(*disc) for disc in config.get("obstacles", ())],
        context=context,
    )


def read_faults(description: Mapping[str, Any]) -> Faults:
    """Return faults from plain data; a kind is a probability, or a mapping of Fault's fields."""
    default = Faults()
    values: dict[str, Any] = {}
    for item in fields(Faults):
        if item.name not in description:
            continue
        value, before = description[item.name], getattr(default, item.name)
        if isinstance(before, Fault):
            given = value if isinstance(value, Mapping) else {"probability": value}
            spans = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
            value = Fault(**spans)
        elif isinstance(before, Pose):
            value = Pose(*value)
        elif item.name == "server_absent":
            value = tuple((float(begin), float(end)) for begin, end in value)
        values[item.name] = value
    unknown = set(description) - set(values)
    if unknown:
        raise ValueError(f"unknown faults: {', '.join(sorted(unknown))}")
    return Faults(**values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the double until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=FilePath, required=True, help="YAML or JSON")
    args, ros = parser.parse_known_args(arguments)
    config = yaml.safe_load(args.config.read_text("utf-8"))
    rclpy.init(args=ros, signal_handler_options=rclpy.SignalHandlerOptions.NO)
    double = from_config(config, args.config.resolve().parent)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with double.running():
        print("ready", flush=True)
        stop.wait()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
