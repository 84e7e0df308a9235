"""Where the simulated robot is, for tf: map → base_link on /tf with every state.

tf2_msgs comes with every installed ROS 2 but is not among the wheels of PyPI: without it there is no tf.
"""

from __future__ import annotations

import math
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped

from skm_ros import qos
from skm_ros.nodes.skm_node import SkmNode


def transform(
    pose: tuple[float, float, float], parent: str, child: str, stamp: Time
) -> TransformStamped:
    """Return a pose, x, y and heading, as a transform between two frames."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, stamp
    shift, turn = message.transform.translation, message.transform.rotation
    shift.x, shift.y = pose[:2]
    turn.z, turn.w = math.sin(pose[2] / 2), math.cos(pose[2] / 2)
    return message


class RobotFrame:
    """Publishes the robot's frame, where tf2_msgs is installed."""

    def __init__(self, node: SkmNode, parent: str, child: str) -> None:
        self._frames = parent, child
        self._publisher: Any = None
        try:
            from tf2_msgs.msg import TFMessage  # noqa: PLC0415
        except ImportError:
            return
        self._kind = TFMessage
        self._publisher = node.create_publisher(TFMessage, "/tf", qos.FRAMES)

    def publish(self, pose: tuple[float, float, float] | None, stamp: Time) -> None:
        """Tell where the robot is, if anybody can hear it."""
        if pose is not None and self._publisher is not None:
            self._publisher.publish(self._kind(transforms=[transform(pose, *self._frames, stamp)]))
