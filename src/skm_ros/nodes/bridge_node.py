"""The bridge: takes the simulator's place in front of a robot, and drives it through a map.

Relative to its namespace (/skm):
    publishes   observation (skm/Observation) and labels (skm/Labels) of every state, same stamp and step
                cmd_vel (geometry_msgs/Twist or TwistStamped), to the robot
                robot_status (skm/RobotStatus), latched: what keeps the robot, and which cells are
                blocked markers (visualization_msgs/MarkerArray), if `render` asks
                keepout_mask (nav_msgs/OccupancyGrid) and /costmap_filter_info, if `drive` is nav2
                /tf, map_frame to base_frame, where tf2_msgs is installed and nobody else does
                /diagnostics (diagnostic_msgs/DiagnosticArray)
    subscribes  action (skm/Action) and leg (skm/Leg); odom (nav_msgs/Odometry), amcl_pose
                (PoseWithCovarianceStamped) or /tf; scan (sensor_msgs/LaserScan); the dead-man topic
                (std_msgs/Bool), if one is named
    offers      reset (skm/Reset; a new episode where the robot is), stop and resume (std_srvs/Trigger)
    calls       navigate_to_pose and navigate_through_poses (nav2_msgs), if `drive` is nav2; the actions
                that the domain's actions.yaml names, if it has one

Names of the robot's topics are parameters. A state is a cell of the map and the labels of the pose;
which are entered, and what velocities or goals go out, is decided in `skm_sim.robots`. The robot is
stopped when no fresh action, no pose or no scan has come, when its pose cannot be right, when it does
not move as commanded, by service, by a dead-man switch, and in front of what is not on the map. Without
pose or scan nothing is shown, and the mission ends or waits for `skm resume` after `resume_after`
seconds. While a pose cannot be right, no new state is entered. Ages are of a steady clock.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import LaserScan
from skm.msg import Action, Labels, Leg, Observation, RobotStatus
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
from skm_ros.nodes.action_servers import ActionServers, fill_way
from skm_ros.nodes.drivers import Nav2Driver, VelocityDriver
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.pose_sources import READINGS, OdometrySource, TransformSource
from skm_ros.nodes.robot_side import SETTINGS as ROBOT_SETTINGS
from skm_ros.nodes.robot_side import RobotSide
from skm_ros.nodes.signal_topics import SignalTopics
from skm_ros.nodes.sim_node import ActionTiming
from skm_ros.nodes.skm_node import OK, WARN, Setting, SkmNode
from skm_ros.robot_messages import scan_value
from skm_sim.maps.spec import ACTIONS
from skm_sim.robots.action_skills import ActionSkills, SkilledDrive
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.command_gate import CommandGate
from skm_sim.robots.drive import Drive, DriveConfig, Driving, Entered, GoalDrive
from skm_sim.robots.embodiment import make_drive_context
from skm_sim.robots.path_follower import project
from skm_sim.robots.pose import Limits, Velocity
from skm_sim.robots.signals import read_sensed_facts
from skm_sim.robots.walls import Pose
from skm_sim.scene import way_shapes

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
        "objects", "", "file with the objects' positions, for a domain without a map", fixed=True
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
    Setting(
        "map_frame",
        "map",
        "frame of the map: of poses that are taken, of goals and of markers",
        fixed=True,
    ),
    Setting("base_frame", "base_link", "tf: frame of the robot", fixed=True),
    Setting(
        "pose_trust",
        0.3,
        "part by which a reading of the pose counts",
        low=0.01,
        high=1.0,
    ),
    Setting(
        "pose_delay",
        0.02,
        "seconds that a reading is old when it arrives",
        low=0.0,
        high=1.0,
    ),
    Setting(
        "pose_spread",
        0.5,
        "standard deviation, in metres, above which a localiser's pose is none",
        low=0.001,
        high=1000.0,
    ),
    Setting(
        "pose_timeout",
        0.0,
        "seconds without a reading after which the robot is stopped; 0: as short as can be",
        low=0.0,
        high=10.0,
    ),
    # What stands in its way
    Setting(
        "scan",
        "scan",
        "topic of the laser (sensor_msgs/LaserScan); empty or none: none",
        fixed=True,
    ),
    Setting(
        "scan_timeout", 0.5, "seconds without a scan after which it is stopped", low=0.02, high=10.0
    ),
    Setting(
        "scan_x",
        0.0,
        "metres ahead of base_link at which the laser is",
        low=-5.0,
        high=5.0,
    ),
    Setting("scan_y", 0.0, "metres to the left of it", low=-5.0, high=5.0),
    Setting("scan_yaw", 0.0, "heading of the laser on the robot", low=-3.2, high=3.2),
    Setting(
        "scan_margin",
        0.1,
        "metres to keep from what is not on the map",
        low=0.0,
        high=5.0,
    ),
    # How it drives
    Setting(
        "blocked_after",
        3.0,
        "seconds before what is not on the map after which its cells count as blocked, and another way"
        " is looked for",
        low=0.1,
        high=3600.0,
    ),
    Setting(
        "blocked_for",
        60.0,
        "seconds for which cells stay blocked that are not seen so again",
        low=1.0,
        high=86400.0,
    ),
    Setting("drive", "velocities", "velocities, or goals of Nav2", choices=DRIVES, fixed=True),
    Setting("cmd_vel", "cmd_vel", "topic of the velocities", fixed=True),
    Setting(
        "stamped",
        False,
        "whether velocities are TwistStamped and not Twist; false: as the robot listens for them",
        fixed=True,
    ),
    Setting("navigate", "navigate_to_pose", "name of Nav2's action NavigateToPose", fixed=True),
    Setting(
        "navigate_through",
        "navigate_through_poses",
        "name of Nav2's action NavigateThroughPoses",
        fixed=True,
    ),
    Setting(
        "filter_info",
        "/costmap_filter_info",
        "topic on which Nav2's keep-out filter hears of its mask: what the mission avoids",
        fixed=True,
    ),
    Setting(
        "goal_tolerance",
        0.25,
        "Nav2's xy_goal_tolerance: metres from a goal at which it has arrived",
        low=0.0,
        high=5.0,
    ),
    Setting(
        "goal_patience",
        30.0,
        "seconds for which the robot may stand while Nav2 has a goal, recoveries included",
        low=1.0,
        high=3600.0,
    ),
    Setting("speed", 0.4, "most metres per second", low=0.01, high=10.0),
    Setting("turn", 1.5, "most radians per second", low=0.01, high=20.0),
    Setting("acceleration", 0.8, "most metres per second²", low=0.01, high=50.0),
    Setting("turn_acceleration", 6.0, "most radians per second²", low=0.01, high=200.0),
    Setting(
        "radius",
        0.0,
        "of the robot, in metres; 0: as in the domain",
        low=0.0,
        high=10.0,
    ),
    Setting(
        "axle",
        0.0,
        "metres from the wheels' axle ahead to base_link",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    Setting(
        "lookahead_distance",
        0.15,
        "metres ahead on the path to aim at",
        low=0.01,
        high=5.0,
        former="sight",
    ),
    Setting(
        "horizon",
        0.5,
        "metres ahead at which a cell counts as reached",
        low=0.0,
        high=5.0,
    ),
    Setting(
        "exact",
        False,
        "whether a cell counts only when the robot is there, as it has to in a team; horizon is 0 then",
        fixed=True,
    ),
    Setting("margin", 0.1, "metres to keep from constraints", low=0.0, high=2.0),
    Setting(
        "render",
        "none",
        "what to publish for people: markers for RViz and pictures (or all), or nothing",
        choices=("none", "image", "markers", "all"),
        fixed=True,
    ),
    Setting(
        "publish_tf",
        "auto",
        "whether to publish the robot's pose on /tf, map_frame to base_frame; auto: if nobody else"
        " publishes there",
        choices=("auto", "on", "off"),
        fixed=True,
    ),
    *ROBOT_SETTINGS,
)


POSE, SCAN, LOST, OBSTACLE, REFUSAL, FACTS = (
    "pose", "scan", "localisation", "obstacle", "motion", "facts",
)  # fmt: skip
"""Causes of stops that the bridge sees for itself."""
GUARD_SECONDS: Final = 0.01
INSISTENCE: Final = 0.1
"""Seconds after a stop in which every look of the guard sends a zero: a single one may get lost."""
NEVER: Final = -1e9
NAV2_PERIOD: Final = 0.2
"""Least seconds between two looks at a robot that Nav2 drives: it looks after the robot itself."""
NAV2_SILENCE: Final = 1.0
"""Seconds without an action, or a pose, after which a goal of Nav2 is cancelled: it would take Nav2
longer to begin anew than a machine, or a localiser, may be held up."""
STATUS_SECONDS: Final = 1.0
SEEN_AGAIN: Final = 1.0
"""Seconds before what is in the way although some cells are blocked already: more of it is seen from
here."""
BESIDE: Final = 0.05
"""Metres more than the robot needs beside what is not on the map: its path strays by centimetres."""
RATE_READINGS: Final = 20
"""So many readings of the pose say how often they come."""


class Transforms:
    """Publishes the robot's pose on /tf, for viewers."""

    def __init__(self, node: SkmNode, kind: Any) -> None:  # noqa: ANN401 - TFMessage
        self._publisher = node.create_publisher(kind, "/tf", qos.FRAMES)
        # One message, filled anew each time: this runs at the rate of control.
        self._transform = TransformStamped(child_frame_id=node.setting("base_frame"))
        self._transform.header.frame_id = node.setting("map_frame")
        self._message = kind(transforms=[self._transform])
        self._node, self._always = node, node.setting("publish_tf") == "on"

    def publish(self, pose: Pose, stamp: Time) -> None:
        """Publish a pose, unless somebody else publishes transforms: a frame has one parent."""
        if not self._always and self._node.count_publishers("/tf") > 1:
            return
        x, y, heading = pose
        moved, turned = self._transform.transform.translation, self._transform.transform.rotation
        moved.x, moved.y = x, y
        turned.z, turned.w = math.sin(heading / 2), math.cos(heading / 2)
        self._transform.header.stamp = stamp
        self._publisher.publish(self._message)


def make_transforms(node: SkmNode) -> Transforms | None:
    """Return what publishes on /tf; None where that is not wanted, or tf2_msgs is not installed."""
    wanted = node.setting("publish_tf")
    if wanted == "off" or node.setting("pose_source") == "tf":
        return None
    try:
        from tf2_msgs.msg import TFMessage  # noqa: PLC0415 - on no registry
    except ImportError as error:
        if wanted == "on":
            raise SkmError(
                "publish_tf on needs the package tf2_msgs, which comes with ROS 2"
            ) from error
        return None
    return Transforms(node, TFMessage)


class BridgeNode(SkmNode):
    """Drives one robot; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("bridge", SETTINGS, **options)
        by_goals = self.setting("drive") == "nav2"
        self._period = 1 / self.setting("rate")
        if by_goals:
            self._period = max(self._period, NAV2_PERIOD)
        self._drive_context = make_drive_context(
            self.setting("domain"),
            self.setting("objects"),
            self.setting("axle"),
            self.setting("radius"),
            self._limits(),
            self._config(),
            goals=by_goals,
        )
        self._drive: Driving = self._drive_context.drive
        self._skills = self._make_skills()
        self._by_goals = by_goals
        # With velocities, two periods without an action brake the robot: one may be lost.
        timeout = max(NAV2_SILENCE, 2 * self._period) if by_goals else 2 * self._period
        self._gate = CommandGate(self._period, timeout)
        self._timing = ActionTiming()
        self._observation = Observation(period=self._period)
        self._observation.kind = observation_kind(self._drive_context.observation_space)
        # Random, not counted: actions for the node that ran before a restart must not fit this one.
        self._observation.session = secrets.randbits(63) + 1
        self._observation.episode = 1
        self._observation.header.frame_id = self.frame("base_link")
        self._labels = Labels(names=list(self._drive_context.propositions))
        self._labels.session, self._labels.header = (
            self._observation.session,
            self._observation.header,
        )
        self._values_of = label_values(self._drive_context.propositions)
        self._read_action = action_reader(self._drive_context.action_space)
        self._shown = False
        """Whether there is a state yet."""
        self._scanned_at = NEVER
        self._blind = True
        """Whether pose or scan are late."""
        self._place = (0.0, 0.0)
        """Where the robot last moved."""
        self._readings: deque[float] = deque(maxlen=RATE_READINGS)
        self._obstructed_since = self._blocked_at = NEVER
        building = self._drive_context.building
        self._blockages: Blockages | None = None
        if building is not None:
            # A way beside it must not lead so close that the robot would stop before it again.
            room = self._drive_context.radius + self.setting("scan_margin") + BESIDE
            self._blockages = Blockages(building.floor, room, self.setting("blocked_for"))
        self._leg: Leg | None = None
        self._status = RobotStatus()
        self._statuses = self.create_publisher(RobotStatus, "robot_status", qos.LATCHED)
        self._robot = RobotSide(self, self._gate, self._drive.localisation.confirm)
        self._driver = self._make_driver()
        self._connect()
        self.get_logger().info(f"driving a robot through {self.setting('domain')}")

    def _connect(self) -> None:
        """Make publishers, subscriptions, services and timers."""
        self._observations = self.create_publisher(Observation, "observation", qos.STATE)
        self._all_labels = self.create_publisher(Labels, "labels", qos.LABELS)
        self._markers = None
        if self.setting("render") in ("markers", "all"):
            self._markers = self.create_publisher(MarkerArray, "markers", qos.MARKERS)
            self._scene = marker_array(self._drive_context.scene, self.setting("map_frame"), Time())
        self._transforms = make_transforms(self)
        self.create_subscription(Action, "action", self._on_action, qos.COMMAND)
        self.create_subscription(Leg, "leg", self._on_leg, qos.LATCHED)
        self.create_service(Reset, "reset", self._on_reset)
        self._listen()
        # The steady clock: neither a stopped simulation nor a corrected wall clock may delay a
        # stop.
        self.create_timer(self._period, self._tick, clock=self.steady_clock)
        self.create_timer(GUARD_SECONDS, self._guard, clock=self.steady_clock)
        self.every(STATUS_SECONDS, self._say_status)
        self.add_post_set_parameters_callback(self._on_parameters)

    def _limits(self) -> Limits:
        get = self.setting
        return Limits(get("speed"), get("turn"), get("acceleration"), get("turn_acceleration"))

    def _config(self) -> DriveConfig:
        get = self.setting
        return DriveConfig(
            self._period,
            get("lookahead_distance"),
            get("pose_trust"),
            get("pose_delay"),
            get("scan_margin"),
            0.0 if get("exact") else get("horizon"),
            get("exact"),
            get("margin"),
            get("step_seconds"),
        )

    def _on_parameters(self, parameters: list[Parameter]) -> None:  # noqa: ARG002 - all are read anew
        self._drive.adjust(
            self._limits(), self._config(), self.setting("radius") or self._drive_context.radius
        )
        self._source.spread = self.setting("pose_spread")
        if self._blockages is not None:
            self._blockages.seconds = self.setting("blocked_for")
        if isinstance(self._driver, Nav2Driver):
            self._driver.adjust(self.setting("goal_tolerance"), self.setting("goal_patience"))

    def _make_skills(self) -> ActionSkills | None:
        """Return the declared actions of the domain, and have the drive show what they change."""
        building = self._drive_context.building
        if building is None or not building.actions:
            return None
        file = Path(self.setting("domain")) / ACTIONS
        sensed = read_sensed_facts(file)
        servers = ActionServers(self, building.actions)
        skills = ActionSkills(building.actions, servers, [spec.name for spec in sensed])
        servers.connect(skills.on_answer, skills.on_result)
        self._sensed = SignalTopics(self, sensed, skills.sense)
        cells, moves = building.floor.moves.shape
        self._drive = SkilledDrive(self._drive_context.drive, skills, cells, moves)
        return skills

    def _make_driver(self) -> VelocityDriver | Nav2Driver:
        if not self._by_goals:
            return VelocityDriver(
                self, self._drive, self.setting("cmd_vel"), stamped=self.setting("stamped")
            )
        assert self._drive_context.building is not None
        assert self._blockages is not None
        return Nav2Driver(
            self,
            self._drive,
            self._drive_context.building,
            self._blockages,
            names=(self.setting("navigate"), self.setting("navigate_through")),
            filter_info=self.setting("filter_info"),
            frame=self.setting("map_frame"),
            tolerance=self.setting("goal_tolerance"),
            patience=self.setting("goal_patience"),
        )

    def _listen(self) -> None:
        """Subscribe to what the robot says."""
        source, odom = self.setting("pose_source"), self.setting("odom")
        map_frame = self.setting("map_frame")
        self._source: OdometrySource | TransformSource
        if source == "tf":
            frames = map_frame, self.setting("base_frame")
            self._source = TransformSource(self, self._on_pose, frames, odom)
        else:
            pose = self.setting("pose") if source == "pose" else ""
            spread = self.setting("pose_spread")
            names = map_frame, self.frame(map_frame)
            self._source = OdometrySource(self, self._on_pose, odom, pose, spread, names)
        self._has_laser = self.setting("scan") not in ("", "none")
        if self._has_laser:
            self.create_subscription(LaserScan, self.setting("scan"), self._on_scan, READINGS)

    # What the robot says

    def _on_pose(self, pose: Pose, velocity: Velocity, now: float, stamp: Any) -> None:  # noqa: ANN401
        self._readings.append(now)
        if self._drive.read(pose, velocity, now):
            self.counts["poses far from the last one"] += 1
            self._watch_robot(now)  # at once: the robot may be anywhere
        # The state's stamp is that of its oldest reading, not the time of publishing.
        self._observation.header.stamp = stamp

    def _on_scan(self, message: LaserScan) -> None:
        try:
            distances, angles = scan_value(message)
        except ConversionError as error:
            self.drop("unusable scan", error)
            return
        now = time.monotonic()
        # Only scans that can be read count: a laser that sends garbage is as good as silent.
        self._scanned_at = now
        mount = self.setting("scan_x"), self.setting("scan_y"), self.setting("scan_yaw")
        self._drive.scan(distances, angles, now, mount, message.range_max)

    def _watch_robot(self, now: float) -> None:
        """Look whether anything keeps the robot from moving."""
        self._robot.watch(now)
        # Poses may come more rarely than actions are due (AMCL), hence a parameter of its own.
        patience = self.setting("pose_timeout") or self._gate.limit
        lost = now - self._drive.tracker.read_at > patience
        self._keep(POSE, lost, self._no_pose(patience) if lost else "")
        unseeing = self._has_laser
        if unseeing:
            unseeing = now - self._scanned_at > self.setting("scan_timeout")
            self._keep(SCAN, unseeing, "nothing is heard of the laser")
        self._blind = lost or unseeing
        if self._skills is not None:
            unknown = self._sensed.stops
            self._keep(FACTS, bool(unknown), unknown)
        wrong = self._drive.localisation.problem
        self._keep(LOST, bool(wrong), wrong)
        if not self._by_goals:  # Nav2 looks after what stands in its way itself
            self._watch_obstacles(now)
            refused = self._drive.motion.problem(now)
            self._keep(REFUSAL, bool(refused), refused)

    def _no_pose(self, patience: float) -> str:
        """Say why there is no pose, and what to do about readings that come too rarely."""
        reason = "nothing is heard of the robot's pose"
        if said := self._source.problem:
            return f"{reason}: {said}"
        if len(self._readings) == RATE_READINGS:
            usual = (self._readings[-1] - self._readings[0]) / (RATE_READINGS - 1)
            # Readings that come regularly, but too slowly for the timeout: that is a setting, not a
            # fault.
            if usual > 0.6 * patience and usual < 2:
                return (
                    f"{reason} for {patience:.2f} s: readings come every {usual:.2f} s; set pose_timeout"
                    f" to {3 * usual:.1f}, and a speed at which the robot may go on for so long"
                )
        return reason

    def _watch_obstacles(self, now: float) -> None:
        """Stop before what is not on the map; when it stays, tell the machine which cells are blocked.

        Then the stop is lifted, so that the robot can turn away; what is ahead still keeps it from
        there.
        """
        if not self._drive.obstructed(now):
            self._obstructed_since = NEVER
            self._keep(OBSTACLE, False, "")
            return
        if self._obstructed_since == NEVER:
            self._obstructed_since = now
        waited, patience = now - self._obstructed_since, self.setting("blocked_after")
        if self._blockages is not None and self._blockages.cells(now):
            # It has been waited for already at the first part of it.
            patience = min(patience, SEEN_AGAIN)
        if self._blockages is None or waited < patience:
            self._keep(OBSTACLE, True, "something stands in the way")
            return
        self._keep(OBSTACLE, False, "")
        if self._drive.tracker.known and now - self._blocked_at > SEEN_AGAIN:
            self._blocked_at = now
            place = self._drive.tracker.at(now)[:2]
            if self._blockages.block_around(self._drive.obstacles.unknown, place, now):
                self.counts["ways found blocked"] += 1
                self.get_logger().warning(self._blockages.reason)
                self._say_status()

    def _keep(self, cause: str, happens: bool, reason: str) -> None:
        """Keep the robot from moving for as long as something happens."""
        if not happens:
            reason = self._gate.reason(cause)
            if self._gate.resume(cause):
                self.get_logger().info(f"no longer stopped for this: {reason}")
                self._say_status()
            return
        if self._gate.keeps(cause):
            # The same stop with another reason: the reason is shown, but the robot is not stopped anew.
            if self._gate.reason(cause) != reason:
                self._gate.stop(cause, reason)
                self._say_status()
            return
        if self._gate.in_control:
            self._robot.begin_stop(time.monotonic())
            self._driver.halt(time.monotonic())
        self._gate.stop(cause, reason)
        self.counts[f"stops: {cause}"] += 1
        self.get_logger().warning(f"stopped: {reason}")
        self._say_status()

    def _say_status(self) -> None:
        """Publish what the machine has to know beyond states: now and then, and when it changes."""
        status, now = self._status, time.monotonic()
        # Others have to hear of a change at once; distances alone can wait for the next period.
        before = self._status_key()
        status.stopped = self._gate.stopped
        if self._blockages is not None:
            status.blocked = self._states_of(sorted(self._blockages.cells(now)))
            status.blocked_by = self._blockages.reason
        if isinstance(self._driver, Nav2Driver):
            navigation = self._driver.navigation
            status.failure = navigation.failure
            status.distance_remaining = navigation.distance_remaining
            status.number_of_recoveries = navigation.all_recoveries
            status.blocked_by = status.blocked_by or navigation.trouble
        else:
            status.distance_remaining = self._distance(now)
            status.blocked_by = status.blocked_by or self._drive.trouble
        if self._skills is not None:
            moves = (
                0
                if self._drive_context.building is None
                else self._drive_context.building.floor.moves.shape[1]
            )
            status.skill = self._skills.under_way
            status.unavailable = [moves + index for index in self._skills.given_up(now)]
            navigating = isinstance(self._driver, Nav2Driver) and status.failure
            status.failure = self._skills.failure or (status.failure if navigating else "")
        if self._status_key() != before or self._gate.in_control:
            status.header.stamp = self.get_clock().now().to_msg()
            self._statuses.publish(status)

    def _status_key(self) -> tuple[object, ...]:
        """Return what of the status others have to hear at once."""
        status = self._status
        changing = list(status.blocked), list(status.unavailable), status.failure, status.skill
        return status.stopped, *changing

    def _states_of(self, cells: list[int]) -> list[int]:
        """Return the domain's states in some cells: one for each set of facts that may hold."""
        building = self._drive_context.building
        worlds = 1 if building is None else 1 << len(building.facts)
        count = 0 if building is None else building.floor.num_cells
        return [world * count + cell for world in range(worlds) for cell in cells]

    def _distance(self, now: float) -> float:
        """Return the metres that are left of the leg, by its cells; 0 where there is none."""
        building = self._drive_context.building
        if self._leg is None or building is None or not self._drive.tracker.known:
            return 0.0
        points = building.floor.centres[list(self._leg.cells)]
        place = self._drive.tracker.at(now)[:2]
        return project(place, [tuple(point) for point in points.tolist()]).left

    def _on_leg(self, leg: Leg) -> None:
        if leg.session != self._observation.session or leg.episode != self._observation.episode:
            return  # of a mission before this node was there
        building = self._drive_context.building
        if building is None or any(not 0 <= cell < len(building.world.moves) for cell in leg.cells):
            self.drop("leg through cells that the map does not have")
            return
        # States of a domain with actions are cells times facts; drivers know cells only.
        fill_way(leg, building.floor.num_cells, building.facts)
        self._leg = leg if leg.cells else None
        if self._markers is not None:
            way = way_shapes(building.floor.centres[list(leg.cells)]) if leg.cells else []
            scene = [*self._drive_context.scene, *way]
            self._scene = marker_array(scene, self.setting("map_frame"), Time())
        sets = (names.split(",") for names in leg.avoid)
        avoid = frozenset(frozenset(filter(None, names)) for names in sets)
        drive = self._drive_context.drive
        if isinstance(drive, GoalDrive):
            drive.sure.avoid = avoid
        elif isinstance(drive, Drive) and drive.walk.sure is not None:
            drive.walk.sure.avoid = avoid if leg.cells else None
        self._driver.take(leg)

    def _guard(self) -> None:
        """Look more often than once a period whether the robot must be stopped."""
        now = time.monotonic()
        if self._gate.in_control:
            self._watch_robot(now)
            self._go(now)
        # Zeros go on for a moment after a stop: the message that stops a robot must not be the one
        # that is lost.
        elif now - self._robot.stop_began < INSISTENCE:
            self._driver.halt(now)

    def _go(self, now: float) -> bool:
        """Tell whether the robot may move; stop it at once if it may no longer."""
        stopping = self._gate.in_control
        # An action is in force, and fresh enough: the robot may move.
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
        # How far it went after a stop began, and when it came to rest, are in the diagnostics.
        self._robot.note_place(self._place, now, braking=not go)
        if self._blind:
            return  # nobody knows the state: the machine hears nothing, and gives up in the end
        if self._transforms is not None:
            self._transforms.publish(self._drive.tracker.at(now), self._observation.header.stamp)
        if go:
            self._timing.due(self._observation.step)
            if self._by_goals and self._skills is not None and self._skills.wanted:
                self._driver.halt(now)  # an action is carried out where the robot stands
            else:
                self._driver.drive(now)
        # Before the states are read: what an action has changed shows in the same period.
        self._act(now, go=go)
        entered = self._drive.states(now, resting=not go)
        for state in entered:
            self._show(state)
        # No new state: the present one is sent again, so that the machine hears that the bridge
        # lives.
        if not entered:
            self._publish(now)

    def _act(self, now: float, *, go: bool) -> None:
        """Look after the declared action that is asked for."""
        if self._skills is None:
            return
        before = self._skills.under_way, self._skills.failure
        stopped = bool(self._gate.stopped)
        self._skills.step(now, go=go, stopped=stopped, stands=self._drive.stands)
        if before != (self._skills.under_way, self._skills.failure):
            self._say_status()

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
        # An action may be late by a state or two, which came while it was on its way; not by more.
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
        # A late action keeps the robot going, but it was chosen for another state: it does not
        # change the target.
        if action.step == shown.step:
            self._drive.take(taken, now)
        elif self._skills is not None:
            self._skills.keep(now)

    def _on_reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        if request.options.strip() or request.seed >= 0:
            response.message = "a robot cannot be put elsewhere: reset takes no seed and no options"
            self.counts["resets refused"] += 1
            return response
        if not self._drive.located:
            wrong = self._drive.localisation.problem
            response.message = wrong or "nothing has been heard of the robot yet"
            self.counts["resets refused"] += 1
            return response
        # States have new numbers from here on: what was shown, and commanded, before is void.
        self._gate.forget()
        self._timing.stopped()
        self._driver.halt(time.monotonic())
        self._shown, self._leg = False, None
        self._observation.episode += 1
        self._observation.step = 0
        self._show(self._drive.begin(time.monotonic()))
        response.success = True
        response.session, response.episode = self._observation.session, self._observation.episode
        return response

    # Health

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        values: dict[str, object] = {
            "episode": self._observation.episode,
            "step": self._observation.step,
            **self._timing.report(),
            **self._robot.report(),
        }
        if self._blockages is not None and (blocked := self._blockages.cells(time.monotonic())):
            values["blocked cells"] = len(blocked)
            values["blocked by"] = self._blockages.reason
        if self._skills is not None:
            values.update(self._skills.counts)
        if isinstance(self._driver, Nav2Driver):
            values.update(self._driver.navigation.counts)
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
        if self._skills is not None:
            self._skills.forget()
        self._driver.halt(time.monotonic(), last=True)


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(BridgeNode)


if __name__ == "__main__":
    sys.exit(main())
