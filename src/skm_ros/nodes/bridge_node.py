"""The bridge: takes the simulator's place in front of a robot, and drives it through a map.

Relative to its namespace (/skm):
    publishes   observation (skm/Observation) and labels (skm/Labels) of every state, same stamp and step
                cmd_vel (geometry_msgs/Twist or TwistStamped), to the robot
                markers (visualization_msgs/MarkerArray), if `render` asks
                /diagnostics (diagnostic_msgs/DiagnosticArray)
    subscribes  action (skm/Action); odom (nav_msgs/Odometry), amcl_pose (PoseWithCovarianceStamped) or
                /tf; scan (sensor_msgs/LaserScan); the dead-man topic (std_msgs/Bool), if one is named
    offers      reset (skm/Reset; a new episode where the robot is), stop and resume (std_srvs/Trigger)
    calls       navigate_to_pose (nav2_msgs/NavigateToPose), if `drive` is nav2

Names of the robot's topics are parameters: see `bridge_settings`. A state is a cell of the map and the
labels of the pose; which are entered, and what velocities go out, is decided in `skm_sim.robots`. The
robot is stopped when no fresh action, no pose or no scan has come, by service, by a dead-man switch, and
in front of what is not on the map. Without pose or scan there is no state, and none is shown: the
machine ends the mission after `resume_after` seconds. Ages are of a steady clock.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from rclpy.action import ActionClient
from rclpy.task import Future
from sensor_msgs.msg import LaserScan
from skm.msg import Action, Labels, Observation
from skm.srv import Reset
from visualization_msgs.msg import MarkerArray

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.conversions import (
    ConversionError,
    action_reader,
    fill_observation,
    label_values,
    observation_kind,
)
from skm_ros.markers import marker_array, move_robot
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.pose_sources import READINGS, OdometrySource, TransformSource
from skm_ros.nodes.robot_side import SETTINGS as ROBOT_SETTINGS
from skm_ros.nodes.robot_side import RobotSide
from skm_ros.nodes.sim_node import ActionTiming
from skm_ros.nodes.skm_node import OK, WARN, Setting, SkmNode
from skm_ros.robot_messages import fill_pose, fill_velocity, scan_value
from skm_sim.robots.command_gate import CommandGate
from skm_sim.robots.drive import Drive, DriveConfig, Driving, Entered
from skm_sim.robots.embodiment import DriveContext, make_drive_context
from skm_sim.robots.path_follower import Point
from skm_sim.robots.pose import REST, Limits, Velocity
from skm_sim.robots.walls import Pose

# The parameters of the bridge: another robot is other values, not other code.


SOURCES: Final = ("odom", "pose", "tf")
DRIVES: Final = ("velocities", "nav2")

SETTINGS: Final = (
    Setting(
        "domain",
        "",
        "domain on a map, as `skm map` made it: its folder; or one whose robot can be played",
        fixed=True,
    ),
    Setting(
        "objects", "", "file that says where things are, for a domain that is on no map", fixed=True
    ),
    Setting(
        "step_seconds",
        0.4,
        "seconds that a step of the domain's own robot takes this one, for such a domain",
        low=0.02,
        high=10.0,
        fixed=True,
    ),
    Setting("rate", 20.0, "velocities per second", low=1.0, high=200.0, fixed=True),
    # Where the robot is
    Setting(
        "pose_source",
        "odom",
        "where the robot's pose in the map comes from: odom, if that is in the map frame; pose, a"
        " localiser's, with odom in between; tf",
        choices=SOURCES,
        fixed=True,
    ),
    Setting("odom", "odom", "topic of the odometry (nav_msgs/Odometry)", fixed=True),
    Setting("pose", "amcl_pose", "topic of the localiser (PoseWithCovarianceStamped)", fixed=True),
    Setting("map_frame", "map", "tf: frame of the map", fixed=True),
    Setting("base_frame", "base_link", "tf: frame of the robot", fixed=True),
    Setting(
        "pose_trust",
        0.3,
        "part by which a reading of the pose counts",
        low=0.01,
        high=1.0,
        fixed=True,
    ),
    Setting(
        "pose_delay",
        0.02,
        "seconds that a reading is old when it arrives",
        low=0.0,
        high=1.0,
        fixed=True,
    ),
    Setting(
        "pose_spread",
        0.5,
        "standard deviation, in metres, above which a localiser's pose is none",
        low=0.001,
        high=1000.0,
        fixed=True,
    ),
    Setting(
        "pose_timeout",
        0.0,
        "seconds without a reading after which the robot is stopped; 0: as short as can be",
        low=0.0,
        high=10.0,
    ),
    # What stands in its way
    Setting("scan", "scan", "topic of the laser (sensor_msgs/LaserScan); empty: none", fixed=True),
    Setting(
        "scan_timeout", 0.5, "seconds without a scan after which it is stopped", low=0.02, high=10.0
    ),
    Setting(
        "scan_x",
        0.0,
        "metres ahead of base_link at which the laser is",
        low=-5.0,
        high=5.0,
        fixed=True,
    ),
    Setting("scan_y", 0.0, "metres to the left of it", low=-5.0, high=5.0, fixed=True),
    Setting("scan_yaw", 0.0, "heading of the laser on the robot", low=-3.2, high=3.2, fixed=True),
    Setting(
        "scan_margin",
        0.1,
        "metres to keep from what is not on the map",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    # How it drives
    Setting("drive", "velocities", "velocities, or goals of Nav2", choices=DRIVES, fixed=True),
    Setting("cmd_vel", "cmd_vel", "topic of the velocities", fixed=True),
    Setting("stamped", False, "whether velocities are TwistStamped and not Twist", fixed=True),
    Setting("navigate", "navigate_to_pose", "name of Nav2's action", fixed=True),
    Setting("speed", 0.4, "most metres per second", low=0.01, high=10.0, fixed=True),
    Setting("turn", 1.5, "most radians per second", low=0.01, high=20.0, fixed=True),
    Setting("acceleration", 0.8, "most metres per second²", low=0.01, high=50.0, fixed=True),
    Setting("turn_acceleration", 6.0, "most radians per second²", low=0.01, high=200.0, fixed=True),
    Setting(
        "radius",
        0.0,
        "of the robot, in metres; 0: as in the domain",
        low=0.0,
        high=10.0,
        fixed=True,
    ),
    Setting(
        "axle",
        0.0,
        "metres from the wheels' axle ahead to base_link",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    Setting("sight", 0.15, "metres ahead on the path to aim at", low=0.01, high=5.0, fixed=True),
    Setting(
        "horizon",
        0.5,
        "metres ahead at which a cell counts as reached",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    Setting("margin", 0.1, "metres to keep from constraints", low=0.0, high=2.0, fixed=True),
    Setting(
        "render",
        "none",
        "what to publish for people: markers for RViz and pictures (or all), or nothing",
        choices=("none", "image", "markers", "all"),
        fixed=True,
    ),
    *ROBOT_SETTINGS,
)


# Drives a robot by velocities: `geometry_msgs/Twist` or `TwistStamped`, once a period.


SHUTDOWN_GRACE: Final = 1.0
"""Seconds for which zeros are sent after a stop; then the robot is left to others."""


class VelocityDriver:
    """Sends what `Drive` asks for, and zeros when the robot is to stop."""

    def __init__(self, node: SkmNode, drive: Driving, topic: str, *, stamped: bool) -> None:
        self._node, self._drive = node, drive
        self._stamped = TwistStamped() if stamped else None
        if self._stamped is not None:
            self._stamped.header.frame_id = node.frame("base_link")
        self._twist = Twist() if self._stamped is None else self._stamped.twist
        kind = Twist if self._stamped is None else TwistStamped
        self._publisher = node.create_publisher(kind, topic, qos.COMMAND)
        self._kind = f"geometry_msgs/msg/{kind.__name__}"
        self._drove_at = -1e9

    def drive(self, now: float) -> None:
        """Send the velocity for the next period."""
        self._drove_at = now
        self._send(self._drive.velocity(now))

    def halt(self, now: float, *, last: bool = False) -> None:
        """Send a zero, if the robot was driven a moment ago or this is the `last` that it will hear."""
        self._drive.halt()
        if last or now - self._drove_at < SHUTDOWN_GRACE:
            self._send(REST)

    def problem(self) -> str:
        """Return why a robot would not obey: it listens for commands of the other kind; else nothing."""
        topic = self._publisher.topic_name
        kinds = {end.topic_type for end in self._node.get_subscriptions_info_by_topic(topic)}
        others = sorted(kinds - {self._kind})
        if not others:
            return ""
        setting = "false" if self._stamped is not None else "true"
        return f"{topic} is listened to for {others[0]}, not {self._kind}: set stamped {setting}"

    def _send(self, velocity: Velocity) -> None:
        fill_velocity(self._twist, velocity)
        if self._stamped is None:
            self._publisher.publish(self._twist)
            return
        self._stamped.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(self._stamped)


# Drives a robot by goals of Nav2 (`nav2_msgs/action/NavigateToPose`), where that package is
# installed.
#
# Nav2 goes to each goal in its own way; a goal is the end of the known path, and a new one takes
# the place of the one before. A stop cancels the goal. NavigateToPose differs between the
# releases of ROS 2: what is installed is used, and of its fields only `pose`.


MISSING = (
    "drive nav2 needs the package nav2_msgs, which comes with Nav2 and is on no registry; use drive"
    " velocities."
)


class Nav2Driver:
    """Sends the end of the path as a goal when it changes, and cancels it when the robot is to stop."""

    def __init__(self, node: SkmNode, drive: Drive, action: str, frame: str) -> None:
        try:
            from nav2_msgs.action import NavigateToPose  # noqa: PLC0415 - on no registry
        except ImportError as error:
            raise SkmError(MISSING) from error
        self._node, self._drive, self._frame = node, drive, frame
        self._kind: Any = NavigateToPose
        self._client = ActionClient(node, NavigateToPose, action)
        self._target: Point | None = None
        self._handle: Any = None

    def drive(self, now: float) -> None:  # noqa: ARG002 - as other drivers
        """Send the end of the path, if it is another one than before."""
        path = self._drive.walk.path
        if len(path) < 2 or path[-1] == self._target or not self._client.server_is_ready():
            return
        self._target = path[-1]
        (ax, ay), (bx, by) = path[-2:]
        pose = PoseStamped()
        pose.header.frame_id = self._frame
        pose.header.stamp = self._node.get_clock().now().to_msg()
        fill_pose(pose.pose, (bx, by, math.atan2(by - ay, bx - ax)))
        sent = self._client.send_goal_async(self._kind.Goal(pose=pose))
        target = self._target
        sent.add_done_callback(lambda future: self._on_answer(future, target))

    def _on_answer(self, future: Future, target: Point) -> None:
        """Keep the goal that Nav2 has taken, to cancel it; at once, if nobody wants it any more."""
        handle: Any = future.result()
        if handle is None or not handle.accepted:
            self._node.drop("goal that Nav2 has refused")
            if self._target == target:
                self._target = None
            return
        if self._target != target:
            if self._target is None:
                handle.cancel_goal_async()
            return
        self._handle = handle

    def halt(self, now: float, *, last: bool = False) -> None:  # noqa: ARG002
        """Cancel the goal, if there is one."""
        self._drive.halt()
        self._target = None
        if self._handle is not None:
            self._handle.cancel_goal_async()
            self._handle = None

    def problem(self) -> str:
        """Return why nobody obeys: there is no Nav2; else nothing."""
        return "" if self._client.server_is_ready() else "Nav2 is not there: no action server"


POSE, SCAN, OBSTACLE = "pose", "scan", "obstacle"
"""Causes of stops that the bridge sees for itself."""
GUARD_SECONDS: Final = 0.01
INSISTENCE: Final = 0.1
"""Seconds after a stop in which every look of the guard sends a zero: a single one may get lost."""
NEVER: Final = -1e9


class BridgeNode(SkmNode):
    """Drives one robot; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("bridge", SETTINGS, **options)
        self._period = 1 / self.setting("rate")
        self._stage = self._make_stage()
        self._drive = self._stage.drive
        self._gate = CommandGate(self._period, 2 * self._period)
        self._timing = ActionTiming()
        self._observation = Observation(period=self._period)
        self._observation.kind = observation_kind(self._stage.observation_space)
        self._observation.session = secrets.randbits(63) + 1
        self._observation.episode = 1
        self._observation.header.frame_id = self.frame("base_link")
        self._labels = Labels(names=list(self._stage.places.names))
        self._labels.session, self._labels.header = (
            self._observation.session,
            self._observation.header,
        )
        self._values_of = label_values(self._stage.places.names)
        self._read_action = action_reader(self._stage.action_space)
        self._shown = False
        """Whether there is a state yet."""
        self._scanned_at = NEVER
        self._blind = True
        """Whether pose or scan are late."""
        self._place = (0.0, 0.0)
        """Where the robot last moved."""
        self._robot = RobotSide(self, self._gate)
        self._driver = self._make_driver()
        self._observations = self.create_publisher(Observation, "observation", qos.STATE)
        self._all_labels = self.create_publisher(Labels, "labels", qos.STATE)
        self._markers = None
        if self.setting("render") in ("markers", "all"):
            self._markers = self.create_publisher(MarkerArray, "markers", qos.MARKERS)
            self._scene = marker_array(self._stage.scene, self.frame("map"), Time())
        self.create_subscription(Action, "action", self._on_action, qos.COMMAND)
        self.create_service(Reset, "reset", self._on_reset)
        self._listen()
        self.create_timer(self._period, self._tick, clock=self.steady_clock)
        self.create_timer(GUARD_SECONDS, self._guard, clock=self.steady_clock)
        self.get_logger().info(f"driving a robot through {self.setting('domain')}")

    def _make_stage(self) -> DriveContext:
        get = self.setting
        return make_drive_context(
            get("domain"),
            get("objects"),
            get("axle"),
            get("radius"),
            Limits(get("speed"), get("turn"), get("acceleration"), get("turn_acceleration")),
            DriveConfig(
                self._period,
                get("sight"),
                get("pose_trust"),
                get("pose_delay"),
                get("scan_margin"),
                get("horizon"),
                get("margin"),
                get("step_seconds"),
            ),
        )

    def _make_driver(self) -> Any:  # noqa: ANN401
        if self.setting("drive") == "nav2":
            if not isinstance(self._drive, Drive):
                raise SkmError("drive nav2 goes from cell to cell: it needs a domain on a map")

            return Nav2Driver(
                self, self._drive, self.setting("navigate"), self.setting("map_frame")
            )
        return VelocityDriver(
            self, self._drive, self.setting("cmd_vel"), stamped=self.setting("stamped")
        )

    def _listen(self) -> None:
        """Subscribe to what the robot says."""
        source, odom = self.setting("pose_source"), self.setting("odom")
        if source == "tf":
            frames = self.setting("map_frame"), self.setting("base_frame")
            self._source: object = TransformSource(self, self._on_pose, frames, odom)
        else:
            pose = self.setting("pose") if source == "pose" else ""
            spread = self.setting("pose_spread")
            self._source = OdometrySource(self, self._on_pose, odom, pose, spread)
        if self.setting("scan"):
            self.create_subscription(LaserScan, self.setting("scan"), self._on_scan, READINGS)

    # What the robot says

    def _on_pose(self, pose: Pose, velocity: Velocity, now: float, stamp: Any) -> None:  # noqa: ANN401
        if self._drive.tracker.read(pose, velocity, now):
            self.counts["poses far from the last one"] += 1
        self._observation.header.stamp = stamp

    def _on_scan(self, message: LaserScan) -> None:
        try:
            distances, angles = scan_value(message)
        except ConversionError as error:
            self.drop("unusable scan", error)
            return
        now = time.monotonic()
        self._scanned_at = now
        mount = self.setting("scan_x"), self.setting("scan_y"), self.setting("scan_yaw")
        self._drive.scan(distances, angles, now, mount)

    def _watch_robot(self, now: float) -> None:
        """Look whether anything keeps the robot from moving."""
        self._robot.watch(now)
        patience = self.setting("pose_timeout") or self._gate.limit
        lost = now - self._drive.tracker.read_at > patience
        self._keep(POSE, lost, "nothing is heard of the robot's pose")
        unseeing = bool(self.setting("scan"))
        if unseeing:
            unseeing = now - self._scanned_at > self.setting("scan_timeout")
            self._keep(SCAN, unseeing, "nothing is heard of the laser")
        self._blind = lost or unseeing
        self._keep(OBSTACLE, self._drive.obstacles.blocked, "something stands in the way")

    def _keep(self, cause: str, happens: bool, reason: str) -> None:
        """Keep the robot from moving for as long as something happens."""
        if not happens:
            self._gate.resume(cause)
        elif reason not in self._gate.stopped:
            if self._gate.in_control:
                self._robot.begin_stop(time.monotonic())
                self._driver.halt(time.monotonic())
            self._gate.stop(cause, reason)
            self.counts[f"stops: {reason}"] += 1

    def _guard(self) -> None:
        """Look more often than once a period whether the robot must be stopped."""
        now = time.monotonic()
        if self._gate.in_control:
            self._watch_robot(now)
            self._go(now)
        elif now - self._robot.stop_began < INSISTENCE:
            self._driver.halt(now)

    def _go(self, now: float) -> bool:
        """Tell whether the robot may move; stop it at once if it may no longer."""
        stopping = self._gate.in_control
        if self.active and self._robot.due(now) is not None:
            return True
        if stopping:
            self.counts["stops for want of an action"] += 1
            self._robot.begin_stop(now)
            self._timing.stopped()
        self._driver.halt(now)
        return False

    # Once a period

    def _tick(self) -> None:
        """Show the states that were entered, and drive on, or stop."""
        now = time.monotonic()
        self._watch_robot(now)
        go = self._go(now)
        if self._drive.tracker.known and not self._drive.stands:
            self._place = self._drive.tracker.at(now)[:2]
        self._robot.note_place(self._place, now, braking=not go)
        if self._blind:
            return  # nobody knows the state: the machine hears nothing, and gives up in the end
        if go:
            self._timing.due(self._observation.step)
            self._driver.drive(now)
        entered = self._drive.states(now, resting=not go)
        for state in entered:
            self._show(state)
        if not entered:
            self._publish(now)

    def _show(self, state: Entered) -> None:
        """Publish a new state."""
        if self._shown:
            self._observation.step += 1
        self._shown = True
        self._labels.episode, self._labels.step = self._observation.episode, self._observation.step
        fill_observation(self._observation, state.value)
        self._labels.values = self._values_of(state.labels)
        self.counts["steps"] += 1
        now = time.monotonic()
        self._timing.published(self._observation.step, now)
        self._publish(now)
        if self._markers is not None:
            place, stamp = self._drive.tracker.at(now)[:2], self._observation.header.stamp
            move_robot(self._scene, place, stamp)
            self._markers.publish(self._scene)

    def _publish(self, now: float) -> None:
        """Publish the state, new or not: a sign of life, with what keeps the robot from moving."""
        self._observation.stopped = self._gate.stopped
        self._all_labels.publish(self._labels)
        self._observations.publish(self._observation)
        self._gate.show(self._observation.step, now)

    # What the machine says

    def _on_action(self, action: Action) -> None:
        shown, now = self._observation, time.monotonic()
        if action.session != shown.session or action.episode != shown.episode:
            self.drop("action of another session or episode")
            return
        if action.kind == Action.STOP:
            if self._gate.in_control:
                self._robot.begin_stop(now)
            self._gate.let_go()
            self._timing.stopped()
            self._driver.halt(now)
            return
        problem = self._gate.problem(action.step, shown.step, now)
        if not self.active:
            problem = "action while the node is not active"
        if problem:
            self.drop(problem)
            return
        try:
            taken = self._read_action(action)
        except SkmError as error:
            self.drop("unusable action", error)
            return
        self._gate.take(taken, now)
        self._timing.arrived(action.step, now)
        if action.step == shown.step:
            self._drive.take(taken, now)

    def _on_reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        if request.options.strip() or request.seed >= 0:
            response.message = "a robot cannot be put elsewhere: reset takes no seed and no options"
            self.counts["resets refused"] += 1
            return response
        if not self._drive.tracker.known:
            response.message = "nothing has been heard of the robot yet"
            self.counts["resets refused"] += 1
            return response
        self._gate.forget()
        self._timing.stopped()
        self._driver.halt(time.monotonic())
        self._shown = False
        self._observation.episode += 1
        self._observation.step = 0
        self._show(self._drive.begin(time.monotonic()))
        response.success = True
        response.session, response.episode = self._observation.session, self._observation.episode
        return response

    # Health

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        values = {
            "episode": self._observation.episode,
            "step": self._observation.step,
            **self._timing.report(),
            **self._robot.report(),
        }
        if self._gate.stopped:
            return WARN, f"stopped: {self._gate.stopped}", values
        if problem := self._driver.problem():
            return WARN, problem, values
        if not self.active:
            return OK, "not active", values
        return OK, "driving" if self._gate.in_control else "waiting for an action", values

    def close(self) -> None:
        """Bring the robot to rest: a zero velocity is the last command."""
        self._gate.let_go()
        self._driver.halt(time.monotonic(), last=True)


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(BridgeNode)


if __name__ == "__main__":
    sys.exit(main())
