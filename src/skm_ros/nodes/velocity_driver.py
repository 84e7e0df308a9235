"""Drives a robot by velocities: `geometry_msgs/Twist` or `TwistStamped`, once a period."""

from __future__ import annotations

from typing import Final

from geometry_msgs.msg import Twist, TwistStamped

from skm_ros import qos
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.robot_messages import fill_velocity
from skm_sim.driving.robot_drive import Driving
from skm_sim.driving.velocities import REST, Velocity

LAST_WORDS: Final = 1.0
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
        if last or now - self._drove_at < LAST_WORDS:
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
