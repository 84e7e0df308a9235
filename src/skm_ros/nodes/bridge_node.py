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
labels of the pose; which are entered, and what velocities go out, is decided in `skm_sim.driving`. The
robot is stopped when no fresh action, no pose or no scan has come, by service, by a dead-man switch, and
in front of what is not on the map. Without pose or scan there is no state, and none is shown: the
machine ends the mission after `resume_after` seconds. Ages are of a steady clock.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from builtin_interfaces.msg import Time
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
from skm_ros.nodes.action_timing import ActionTiming
from skm_ros.nodes.bridge_settings import SETTINGS
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.pose_sources import READINGS, OdometrySource, TransformSource
from skm_ros.nodes.robot_side import RobotSide
from skm_ros.nodes.skm_node import OK, WARN, SkmNode
from skm_ros.nodes.velocity_driver import VelocityDriver
from skm_ros.robot_messages import scan_value
from skm_sim.command_gate import CommandGate
from skm_sim.driving.drive import Drive
from skm_sim.driving.robot_drive import Entered, Manner
from skm_sim.driving.stage import Stage, make_stage
from skm_sim.driving.velocities import Limits, Velocity
from skm_sim.robots.walls import Pose

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

    def _make_stage(self) -> Stage:
        get = self.setting
        return make_stage(
            get("domain"),
            get("objects"),
            get("axle"),
            get("radius"),
            Limits(get("speed"), get("turn"), get("acceleration"), get("turn_acceleration")),
            Manner(
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
            from skm_ros.nodes.nav2_driver import Nav2Driver  # noqa: PLC0415 - nav2_msgs

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
