"""Stock messages of robots ⇄ core values: poses, velocities and scans, checked as they are read."""

from __future__ import annotations

import array
import math
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import PoseWithCovarianceStamped, Transform, Twist, TwistStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan

from skm_ros.conversions import ConversionError
from skm_sim.arrays import FloatArray
from skm_sim.robots.pose import Velocity
from skm_sim.robots.walls import Pose

MOST_RAYS = 100_000


def heading_of(x: float, y: float, z: float, w: float) -> float:
    """Return the heading (yaw) of a quaternion that need not be of length 1."""
    return math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)


def pose_value(message: PoseMessage) -> Pose:
    """Return a pose on the floor."""
    q, position = message.orientation, message.position
    return _checked_pose(position.x, position.y, (q.x, q.y, q.z, q.w))


def transform_value(message: Transform) -> Pose:
    """Return a transform as the pose of the child in its parent's frame."""
    q, shift = message.rotation, message.translation
    return _checked_pose(shift.x, shift.y, (q.x, q.y, q.z, q.w))


def _checked_pose(x: float, y: float, turn: tuple[float, float, float, float]) -> Pose:
    if not all(map(math.isfinite, (x, y, *turn))):
        raise ConversionError("a pose holds a value that is not a finite number")
    if not any(turn):
        raise ConversionError("a pose has an orientation of length 0")
    return x, y, heading_of(*turn)


def fill_pose(message: PoseMessage, pose: Pose) -> None:
    """Put a pose on the floor into a message."""
    message.position.x, message.position.y, heading = map(float, pose)
    message.orientation.z, message.orientation.w = math.sin(heading / 2), math.cos(heading / 2)


def odometry_value(message: Odometry) -> tuple[Pose, Velocity]:
    """Return pose and velocity of a robot."""
    return pose_value(message.pose.pose), velocity_value(message.twist.twist)


def amcl_value(message: PoseWithCovarianceStamped) -> Pose:
    """Return the pose that a localiser has found."""
    return pose_value(message.pose.pose)


def amcl_spread(message: PoseWithCovarianceStamped) -> float:
    """Return how uncertain that is: the standard deviation in metres along x or y, the greater."""
    most = max(message.pose.covariance[0], message.pose.covariance[7])
    return math.sqrt(most) if 0 <= most < math.inf else math.inf


def velocity_value(message: Twist) -> Velocity:
    """Return a velocity on the floor."""
    speed, turn = message.linear.x, message.angular.z
    if not (math.isfinite(speed) and math.isfinite(turn)):
        raise ConversionError("a velocity is not a finite number")
    return Velocity(speed, turn)


def fill_velocity(message: Twist, velocity: Velocity) -> None:
    """Put a velocity on the floor into a message."""
    message.linear.x, message.angular.z = float(velocity.speed), float(velocity.turn)


def twist_of(message: Twist | TwistStamped) -> Twist:
    """Return the velocity in a command of either kind."""
    return message.twist if isinstance(message, TwistStamped) else message


def scan_value(message: LaserScan) -> tuple[FloatArray, FloatArray]:
    """Return distances and angles of a scan; what is out of the laser's range is infinitely far."""
    count = len(message.ranges)
    if not 0 < count <= MOST_RAYS:
        raise ConversionError(f"a scan has {count} rays")
    limits = message.angle_min, message.angle_increment, message.range_min, message.range_max
    if not all(map(math.isfinite, limits)):
        raise ConversionError("a scan's angles or ranges are not finite numbers")
    distances = np.frombuffer(message.ranges, np.float32).astype(np.float64)
    with np.errstate(invalid="ignore"):
        telling = distances >= message.range_min  # infinite: nothing is there
        usable = telling & (distances <= message.range_max)
    if not telling.any():
        raise ConversionError("a scan tells nothing: none of its rays holds a distance")
    angles = message.angle_min + message.angle_increment * np.arange(count)
    return np.where(usable, distances, np.inf), angles


def scan_message(distances: FloatArray, angles: FloatArray, limit: float) -> Any:  # noqa: ANN401
    """Return a scan with rays at equal angles."""
    scan = LaserScan(range_min=0.0, range_max=limit)
    scan.angle_min, scan.angle_max = float(angles[0]), float(angles[-1])
    scan.angle_increment = float(angles[1] - angles[0])
    scan.ranges = array.array("f", distances.astype(np.float32).tobytes())
    return scan
