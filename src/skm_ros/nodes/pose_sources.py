"""Where a robot is, from the messages that it has: odometry alone, with a localiser, or tf."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from skm_machine.errors import SkmError
from skm_ros.conversions import ConversionError
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.robot_messages import amcl_spread, amcl_value, odometry_value, transform_value
from skm_sim.robots.pose import REST, Velocity, between, combined, inverse
from skm_sim.robots.walls import Pose

Listener: TypeAlias = Callable[[Pose, Velocity, float, Any], None]
"""Takes pose, velocity, time of arrival and the stamp."""

READINGS: Final = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Matches publishers of either kind; an old reading is of no use."""
STATIC: Final = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
LOCALISED: Final = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
"""A localiser's pose, live."""
LATCHED_POSE: Final = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""The same, of before this node was there: AMCL says where it is only when the robot has moved."""
KEPT_SECONDS: Final = 3.0
"""Of odometry that is kept, to know where it was when a pose was found that comes later."""
MOST_KEPT: Final = 1000
MOST_FRAMES: Final = 1000
MOST_LINKS: Final = 20


class Frames:
    """Whether messages are in the frame that they should be in; `problem` says which one is not.

    By REP 105 odometry is in the frame `odom`, which drifts against `map`: one is not the other.
    """

    def __init__(self, expected: Collection[str]) -> None:
        self._expected = tuple(expected)
        self.problem = ""

    def accept(self, what: str, frame: str, advice: str) -> bool:
        """Tell whether a message's frame is right; a message that names none is believed."""
        name = frame.lstrip("/")
        if not name or name in self._expected:
            self.problem = ""
            return True
        self.problem = f"{what} is in the frame '{name[:100]}', not '{self._expected[0]}': {advice}"
        return False


class OdometrySource:
    """Poses from odometry; with a localiser's pose now and then, if a topic for it is given.

    The localiser says where the odometry's frame is on the map, and the odometry moves on from there.
    A localiser that is less certain than by `spread` metres has lost the robot: then it is unknown.
    """

    def __init__(
        self,
        node: SkmNode,
        listener: Listener,
        odom: str,
        pose: str = "",
        spread: float = math.inf,
        frames: Collection[str] = (),
    ) -> None:
        """`frames` are names of the map's frame; none: any will do."""
        self._node, self._listener, self.spread = node, listener, spread
        self._names = odom, pose
        self._odometry: deque[tuple[float, Pose]] = deque(maxlen=MOST_KEPT)
        """Stamps, and where the robot was then by its odometry."""
        self._found: tuple[float, Pose] | None = None
        """What the localiser has said, and when it was so."""
        self._awaited = False
        """Whether odometry is still to come from when the localiser's last pose was so."""
        self._uncertain = ""
        self._frames = Frames(frames) if frames else None
        self._frame: Pose | None = None if pose else (0.0, 0.0, 0.0)
        self._heard: tuple[int, int] | None = None
        node.create_subscription(Odometry, odom, self._on_odometry, READINGS)
        if pose:
            node.create_subscription(PoseWithCovarianceStamped, pose, self._on_pose, LATCHED_POSE)
            # The second, since the node warns of publishers that do not fit the last one: all do.
            node.create_subscription(PoseWithCovarianceStamped, pose, self._on_pose, LOCALISED)

    @property
    def problem(self) -> str:
        """Why there is no pose, as far as that can be told; empty where there is one."""
        odom, pose = self._names
        if self._frames is not None and self._frames.problem:
            return self._frames.problem
        if not self._odometry:
            return f"nothing was heard on {odom} (nav_msgs/Odometry) yet"
        if self._uncertain:
            return self._uncertain
        if self._frame is None:
            return (
                f"nothing was heard on {pose} (PoseWithCovarianceStamped) yet: AMCL says where the robot"
                " is once it was given an initial pose, such as by RViz's 2D Pose Estimate"
            )
        return ""

    def _on_odometry(self, message: Odometry) -> None:
        try:
            place, velocity = odometry_value(message)
        except ConversionError as error:
            self._node.drop("unusable odometry", error)
            return
        advice = (
            "pose_source odom is for odometry in the map's frame; with a localiser use pose_source pose"
            " or tf, and where the odometry's frame is the map's, set map_frame to its name (REP 105)"
        )
        frames = None if self._names[1] else self._frames
        if frames is not None and not frames.accept(
            "the odometry", message.header.frame_id, advice
        ):
            self._node.drop("odometry in another frame")
            return
        stamp = _seconds(message.header.stamp)
        self._odometry.append((stamp, place))
        if self._found is not None and (self._frame is None or self._awaited):
            self._align()
        if self._frame is not None:
            pose = combined(self._frame, place)
            self._listener(pose, velocity, time.monotonic(), message.header.stamp)

    def _on_pose(self, message: PoseWithCovarianceStamped) -> None:
        stamp = message.header.stamp
        if (stamp.sec or stamp.nanosec) and (stamp.sec, stamp.nanosec) == self._heard:
            return  # by the other subscription
        self._heard = stamp.sec, stamp.nanosec
        try:
            found = amcl_value(message)
        except ConversionError as error:
            self._node.drop("unusable pose", error)
            return
        advice = "the localiser's pose must be in the map's frame; set map_frame to its name"
        if self._frames is not None and not self._frames.accept(
            "the localiser's pose", message.header.frame_id, advice
        ):
            self._node.drop("pose in another frame")
            self._frame = self._found = None
            return
        self._uncertain = ""
        if (spread := amcl_spread(message)) > self.spread:
            reason = f"± {spread:.2f} m, and pose_spread is {self.spread:g}"
            self._uncertain = f"the localiser is too uncertain: {reason}"
            self._node.drop("pose of a localiser that is too uncertain", reason)
            self._frame = self._found = None
            return
        self._found = _seconds(message.header.stamp), found
        if self._odometry:
            self._align()

    def _align(self) -> None:
        """Work out where the odometry's frame is, by where it was when the localiser's pose was so.

        A pose that is older than all odometry is one of before: the robot has not moved far since, or
        there would be another.
        """
        assert self._found is not None
        when, found = self._found
        then, late = self._odometry[-1][1], self._odometry[-1][0] - when
        # The robot may have turned since the last reading: the next is waited for, if there is a frame.
        self._awaited = bool(when) and -KEPT_SECONDS < late < 0
        if self._awaited and self._frame is not None:
            return
        if when and self._odometry[0][0] <= when and late < KEPT_SECONDS:
            then = self._odometry_at(when)
        elif when and when < self._odometry[0][0]:
            then = self._odometry[0][1]
        self._frame = combined(found, inverse(then))

    def _odometry_at(self, when: float) -> Pose:
        """Return where the robot was by its odometry; between two readings it may turn by much."""
        later: tuple[float, Pose] | None = None
        for kept in reversed(self._odometry):
            if kept[0] <= when:
                if later is None or later[0] <= kept[0]:
                    return kept[1]
                part = (when - kept[0]) / (later[0] - kept[0])
                return between(kept[1], later[1], part)
            later = kept
        return self._odometry[0][1]


def _seconds(stamp: Any) -> float:  # noqa: ANN401 - builtin_interfaces/Time
    return float(stamp.sec + stamp.nanosec * 1e-9)


class TransformSource:
    """Poses from tf: the way from the map's frame to the robot's; velocities from odometry."""

    def __init__(
        self, node: SkmNode, listener: Listener, frames: tuple[str, str], odom: str
    ) -> None:
        try:
            from tf2_msgs.msg import TFMessage  # noqa: PLC0415 - on no registry
        except ImportError as error:
            raise SkmError(
                "pose_source tf needs the package tf2_msgs, which comes with a ROS 2 installation"
                " and is on no registry; use pose_source odom or pose."
            ) from error
        self._node, self._listener = node, listener
        self._map, self._base = frames
        self._parents: dict[str, tuple[str, Pose]] = {}
        self._velocity = REST
        self.spread = math.inf
        node.create_subscription(TFMessage, "/tf", self._on_transforms, READINGS)
        node.create_subscription(TFMessage, "/tf_static", self._on_static, STATIC)
        if odom:
            node.create_subscription(Odometry, odom, self._on_odometry, READINGS)

    @property
    def problem(self) -> str:
        """Why there is no pose, as far as that can be told; empty where there is one."""
        if self._links():
            return ""
        known = ", ".join(sorted(self._parents)[:10]) or "none"
        return f"tf has no way from {self._map} to {self._base}; frames on tf: {known}"

    def _on_odometry(self, message: Odometry) -> None:
        try:
            _, self._velocity = odometry_value(message)
        except ConversionError as error:
            self._node.drop("unusable odometry", error)

    def _on_transforms(self, message: Any) -> None:  # noqa: ANN401 - a TFMessage
        stamps = self._keep(message)
        links = self._links()
        # The map's own link is the localiser's: it tells nothing of whether odometry is alive.
        moving = links[:-1] if len(links) > 1 else links
        stamp = next((stamps[child] for child in moving if child in stamps), None)
        if stamp is not None:
            pose = (0.0, 0.0, 0.0)
            for child in links:
                pose = combined(self._parents[child][1], pose)
            self._listener(pose, self._velocity, time.monotonic(), stamp)

    def _on_static(self, message: Any) -> None:  # noqa: ANN401
        self._keep(message)

    def _keep(self, message: Any) -> dict[str, Any]:  # noqa: ANN401
        """Keep the transforms of a message; return the stamps of those that can be used, by child."""
        stamps = {}
        for transform in message.transforms:
            child = transform.child_frame_id.lstrip("/")
            if child not in self._parents and len(self._parents) >= MOST_FRAMES:
                self._node.drop("transform of one frame too many")
                continue
            try:
                pose = transform_value(transform.transform)
            except ConversionError as error:
                self._node.drop("unusable transform", error)
                continue
            self._parents[child] = transform.header.frame_id.lstrip("/"), pose
            stamps[child] = transform.header.stamp
        return stamps

    def _links(self) -> list[str]:
        """Return the frames from the robot's up to the one below the map's; none without a way."""
        frame, links = self._base, list[str]()
        while frame != self._map:
            if frame not in self._parents or len(links) >= MOST_LINKS:
                return []
            links.append(frame)
            frame = self._parents[frame][0]
        return links
