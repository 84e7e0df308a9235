"""Drives a robot by goals of Nav2 (`nav2_msgs/action/NavigateToPose`), where that package is installed.

Nav2 goes to each goal in its own way; a goal is the end of the known path, and a
new one takes the place of the one before. A stop cancels the goal. NavigateToPose differs between the
releases of ROS 2: what is installed is used, and of its fields only `pose`.
"""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionClient
from rclpy.task import Future

from skm_machine.errors import SkmError
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.robot_messages import fill_pose
from skm_sim.driving.drive import Drive
from skm_sim.driving.path_following import Point

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
