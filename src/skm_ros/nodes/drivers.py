"""How a bridge makes its robot move: by velocities, or by goals of Nav2."""

from __future__ import annotations

import array
import math
import time
from collections.abc import Collection, Sequence
from typing import Any, Final

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.action import ActionClient
from skm.msg import Leg as LegMessage

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.nodes.action_goals import ActionGoals
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.robot_messages import fill_pose, fill_velocity
from skm_sim.maps.building import Building
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.drive import Driving
from skm_sim.robots.legs import Leg, LegPlanner, Route
from skm_sim.robots.navigation import Navigation, Result
from skm_sim.robots.path_follower import Point
from skm_sim.robots.pose import REST, Velocity
from skm_sim.robots.walls import Pose

# Drives a robot by velocities: `geometry_msgs/Twist` or `TwistStamped`, once a period.


STAMPED: Final = "geometry_msgs/msg/TwistStamped"
SHUTDOWN_GRACE: Final = 1.0
"""Seconds for which zeros are sent after a stop; then the robot is left to others."""


class VelocityDriver:
    """Sends what `Drive` asks for, and zeros when the robot is to stop.

    Velocities are of the kind that the robot listens for, where that can be seen; `stamped` is for
    robots that are not there yet, or that listen for both.
    """

    def __init__(self, node: SkmNode, drive: Driving, topic: str, *, stamped: bool) -> None:
        self._node, self._drive, self._topic = node, drive, topic
        self._publisher: Any = None
        self._publish_as(stamped=stamped)
        self._always = stamped
        self._drove_at = -1e9

    def _publish_as(self, *, stamped: bool) -> None:
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
        self._stamped = TwistStamped() if stamped else None
        if self._stamped is not None:
            self._stamped.header.frame_id = self._node.frame("base_link")
        self._twist = Twist() if self._stamped is None else self._stamped.twist
        kind = Twist if self._stamped is None else TwistStamped
        self._publisher = self._node.create_publisher(kind, self._topic, qos.COMMAND)
        self._kind = f"geometry_msgs/msg/{kind.__name__}"

    def drive(self, now: float) -> None:
        """Send the velocity for the next period; none to a robot that does not obey, for a while."""
        self._drove_at = now
        command = self._drive.velocity(now)
        if not self._drive.motion.obeys(self._drive.tracker, command, now):
            self._drive.halt()
            command = REST
        self._send(command)

    def halt(self, now: float, *, last: bool = False) -> None:
        """Send a zero, if the robot was driven a moment ago or this is the `last` that it will hear."""
        self._drive.halt()
        self._drive.motion.rest()
        if last or now - self._drove_at < SHUTDOWN_GRACE:
            self._send(REST)

    def take(self, leg: LegMessage) -> None:
        """Take the way ahead: velocities go by the actions from cell to cell."""

    def problem(self) -> str:
        """Return why a robot would not obey, or would not obey only this node; else nothing."""
        topic = self._publisher.topic_name
        kinds = {end.topic_type for end in self._node.get_subscriptions_info_by_topic(topic)}
        if not self._always and (STAMPED in kinds) != (self._stamped is not None) and kinds:
            # As Nav2's own servers do since its parameter enable_stamped_cmd_vel is true by default.
            self._publish_as(stamped=STAMPED in kinds)
            self._node.get_logger().info(f"{topic}: {self._kind}, since the robot listens for that")
        others = sorted(kinds - {self._kind})
        if others and self._kind not in kinds:
            return f"{topic} is listened to for {others[0]}, not {self._kind}: set stamped false"
        own = self._node.get_fully_qualified_name()
        names = {
            f"{end.node_namespace.rstrip('/')}/{end.node_name}"
            for end in self._node.get_publishers_info_by_topic(topic)
        }
        if rivals := sorted(names - {own}):
            return (
                f"{topic} is also commanded by {', '.join(rivals)}: the robot obeys the last command;"
                " let one node choose, such as twist_mux"
            )
        return ""

    def _send(self, velocity: Velocity) -> None:
        fill_velocity(self._twist, velocity)
        if self._stamped is None:
            self._publisher.publish(self._twist)
            return
        self._stamped.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(self._stamped)


# Drives a robot by goals of Nav2, where nav2_msgs is installed: a goal for every leg of the mission.
#
# What is sent, when it is tried again and when it is given up is decided in `skm_sim.robots.navigation`;
# here are the messages. NavigateToPose and NavigateThroughPoses differ between the releases of ROS 2:
# what is installed is used, and of its fields only those that all have.


MISSING: Final = (
    "drive nav2 needs the package nav2_msgs, which comes with Nav2 and is on no registry; use drive"
    " velocities."
)
ENDS: Final = {
    GoalStatus.STATUS_ABORTED: "Nav2 has aborted the goal",
    GoalStatus.STATUS_CANCELED: "the goal was cancelled, and not by skm",
}


class Nav2Driver:
    """Gives Nav2 the legs of a mission as goals: fits `Stack`."""

    def __init__(
        self,
        node: SkmNode,
        drive: Driving,
        building: Building,
        blockages: Blockages,
        *,
        names: tuple[str, str],
        filter_info: str,
        frame: str,
        tolerance: float,
        patience: float,
    ) -> None:
        """`names` are those of the actions NavigateToPose and NavigateThroughPoses.

        `filter_info` is the topic on which Nav2's keep-out filter hears of its mask.
        """
        try:
            from nav2_msgs.action import NavigateThroughPoses, NavigateToPose  # noqa: PLC0415
            from nav2_msgs.msg import CostmapFilterInfo  # noqa: PLC0415
        except ImportError as error:
            raise SkmError(MISSING) from error
        self._node, self._drive, self._frame = node, drive, frame
        self._kinds: tuple[Any, Any] = NavigateToPose, NavigateThroughPoses
        self._clients = [
            ActionClient(node, kind, name) for kind, name in zip(self._kinds, names, strict=True)
        ]
        self._building = building
        self._masks = node.create_publisher(OccupancyGrid, "keepout_mask", qos.LATCHED)
        self._filters = node.create_publisher(CostmapFilterInfo, filter_info, qos.LATCHED)
        about = CostmapFilterInfo(type=0, filter_mask_topic=self._masks.topic_name, multiplier=1.0)
        about.header.frame_id = frame
        self._filters.publish(about)
        self.navigation = Navigation(
            self, LegPlanner(building, tolerance), building.floor, blockages, patience
        )
        self._goals = ActionGoals(self.navigation.on_answer)

    # What the bridge asks for

    def adjust(self, tolerance: float, patience: float) -> None:
        """Take other parameters for goals from now on."""
        self.navigation.planner.tolerance = tolerance
        self.navigation.patience = patience

    def take(self, leg: LegMessage) -> None:
        """Take the way ahead; an empty one is to stay."""
        if len(set(leg.cells)) < 2:
            self.navigation.halt()
            return
        avoid = frozenset(frozenset(filter(None, names.split(","))) for names in leg.avoid)
        self.navigation.take(Leg(tuple(leg.cells), avoid, leg.target))

    def drive(self, now: float) -> None:
        """Send, or look after, the goal of the leg."""
        self.navigation.drive(self._drive.tracker.at(now), now)

    def halt(self, now: float, *, last: bool = False) -> None:  # noqa: ARG002
        """Cancel the goal, if there is one."""
        self._drive.halt()
        self.navigation.halt()

    def problem(self) -> str:
        """Return why commands are not followed: there is no Nav2, or it fails; else nothing."""
        if not self._clients[0].server_is_ready():
            return "Nav2 is not there: no action server"
        return self.navigation.failure or self.navigation.trouble

    # What is to be avoided

    @property
    def keeps_out(self) -> bool:
        """Whether Nav2 listens for the mask: then it plans around what is to be avoided by itself."""
        return bool(self._filters.get_subscription_count())

    def forbid(self, route: Route, avoid: Collection[frozenset[str]], place: Point) -> None:
        """Publish what is to be avoided as a keep-out mask, if it is another one than before."""
        if not self.keeps_out:
            return
        mask = self.navigation.planner.mask(route, avoid, place)
        occupancy = self._building.occupancy
        grid = OccupancyGrid()
        grid.header.frame_id = self._frame
        grid.header.stamp = self._node.get_clock().now().to_msg()
        grid.info.resolution = occupancy.resolution
        grid.info.height, grid.info.width = mask.shape
        frame = occupancy.frame
        fill_pose(grid.info.origin, (frame.x, frame.y, frame.yaw))
        grid.data = array.array("b", mask.tobytes())
        self._masks.publish(grid)

    # Goals

    @property
    def goes_through(self) -> bool:
        """Whether Nav2 takes several poses in one goal."""
        return bool(self._clients[1].server_is_ready())

    def send(self, number: int, poses: Sequence[Pose]) -> bool:
        """Send a goal to go to the last pose by the others; tell whether Nav2 is there."""
        several = len(poses) > 1
        client, kind = self._clients[several], self._kinds[several]
        if not client.server_is_ready():
            return False
        stamped = [self._pose(pose) for pose in poses]
        if several:
            goal = kind.Goal()
            if hasattr(goal.poses, "goals"):  # nav_msgs/Goals, since 2025
                goal.poses.goals = stamped
                goal.poses.header.frame_id = self._frame
            else:
                goal.poses = stamped
        else:
            goal = kind.Goal(pose=stamped[-1])
        return self._goals.send(
            number,
            client,
            goal,
            lambda answer, now: self._on_result(number, answer, now),
            lambda message: self._on_feedback(number, message),
        )

    def cancel(self, number: int) -> None:
        """Take a goal back: at once, or as soon as it is answered."""
        self._goals.cancel(number)

    def _pose(self, pose: Pose) -> PoseStamped:
        message = PoseStamped()
        message.header.frame_id = self._frame
        message.header.stamp = self._node.get_clock().now().to_msg()
        fill_pose(message.pose, pose)
        return message

    def _on_feedback(self, number: int, message: Any) -> None:  # noqa: ANN401
        feedback = message.feedback
        distance, recoveries = float(feedback.distance_remaining), feedback.number_of_recoveries
        if math.isfinite(distance):
            self.navigation.on_feedback(number, distance, int(recoveries), time.monotonic())

    def _on_result(self, number: int, answer: Any, now: float) -> None:  # noqa: ANN401
        self._node.counts[f"goals of Nav2 that ended with status {answer.status}"] += 1
        succeeded = answer.status == GoalStatus.STATUS_SUCCEEDED
        text = ENDS.get(answer.status, f"Nav2 has ended the goal with status {answer.status}")
        # Neither is there in Humble, and only the first in Iron and Jazzy.
        code, said = (
            getattr(answer.result, "error_code", 0),
            getattr(answer.result, "error_msg", ""),
        )
        if code:
            text = f"{text}, error {code}"
        if said:
            text = f"{text}: {said[:300]}"
        self.navigation.on_result(number, Result(succeeded, text), now)
