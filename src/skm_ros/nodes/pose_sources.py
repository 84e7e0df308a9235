"""Where a robot is, from the messages that it has: odometry alone, with a localiser, or tf."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from skm_machine.errors import SkmError
from skm_ros.conversions import ConversionError
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.robot_messages import amcl_spread, amcl_value, odometry_value, transform_value
from skm_sim.robots.pose import REST, Velocity, combined, inverse
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
"""AMCL's pose: reliable, and offered to late joiners, which need not ask for it."""
MOST_FRAMES: Final = 1000
MOST_LINKS: Final = 20


class OdometrySource:
    """Poses from odometry; with a localiser's pose now and then, if a topic for it is given.

    The localiser says where the odometry's frame is on the map, and the odometry moves on from there.
    A localiser that is less certain than by `spread` metres has lost the robot: then nobody knows.
    """

    def __init__(
        self,
        node: SkmNode,
        listener: Listener,
        odom: str,
        pose: str = "",
        spread: float = math.inf,
    ) -> None:
        self._node, self._listener, self._spread = node, listener, spread
        self._odometry: Pose | None = None
        self._frame: Pose | None = None if pose else (0.0, 0.0, 0.0)
        node.create_subscription(Odometry, odom, self._on_odometry, READINGS)
        if pose:
            node.create_subscription(PoseWithCovarianceStamped, pose, self._on_pose, LOCALISED)

    def _on_odometry(self, message: Odometry) -> None:
        try:
            self._odometry, velocity = odometry_value(message)
        except ConversionError as error:
            self._node.drop("unusable odometry", error)
            return
        if self._frame is not None:
            pose = combined(self._frame, self._odometry)
            self._listener(pose, velocity, time.monotonic(), message.header.stamp)

    def _on_pose(self, message: PoseWithCovarianceStamped) -> None:
        try:
            found = amcl_value(message)
        except ConversionError as error:
            self._node.drop("unusable pose", error)
            return
        if (spread := amcl_spread(message)) > self._spread:
            reason = f"± {spread:.2f} m, and pose_spread is {self._spread:g}"
            self._node.drop("pose of a localiser that is too uncertain", reason)
            self._frame = None
            return
        if self._odometry is not None:
            self._frame = combined(found, inverse(self._odometry))


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
        node.create_subscription(TFMessage, "/tf", self._on_transforms, READINGS)
        node.create_subscription(TFMessage, "/tf_static", self._on_static, STATIC)
        if odom:
            node.create_subscription(Odometry, odom, self._on_odometry, READINGS)

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
