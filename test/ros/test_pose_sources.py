"""Where a robot is, from a localiser with odometry in between, and from tf."""

import math
import sys
import types

import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry

from skm_ros.nodes.pose_sources import OdometrySource, TransformSource
from skm_ros.robot_messages import fill_pose


class Listener:
    """Stands in for a node: keeps callbacks by topic, and what was heard and dropped."""

    def __init__(self):
        self.callbacks, self.poses, self.drops = {}, [], []

    def create_subscription(self, kind, topic, callback, profile):
        self.callbacks[topic] = callback

    def drop(self, kind, reason=""):
        self.drops.append(kind)

    def heard(self, pose, velocity, now, stamp):
        self.poses.append((pose, velocity))


def odometry(x, y, heading, speed=0.0):
    message = Odometry()
    fill_pose(message.pose.pose, (x, y, heading))
    message.twist.twist.linear.x = speed
    return message


def localised(x, y, heading, spread=0.05):
    message = PoseWithCovarianceStamped()
    message.pose.covariance[0] = message.pose.covariance[7] = spread**2
    fill_pose(message.pose.pose, (x, y, heading))
    return message


def test_odometry_goes_on_from_where_the_localiser_says():
    node = Listener()
    OdometrySource(node, node.heard, "odom", "amcl_pose")
    node.callbacks["odom"](odometry(1.0, 0.0, 0.0))
    assert node.poses == [], "nobody knows yet where odometry began"
    node.callbacks["amcl_pose"](localised(5.0, 5.0, math.pi / 2))
    node.callbacks["odom"](odometry(2.0, 0.0, 0.1, speed=0.3))
    ((pose, velocity),) = node.poses
    assert pose == pytest.approx((5.0, 6.0, math.pi / 2 + 0.1))
    assert velocity.speed == 0.3
    node.callbacks["amcl_pose"](localised(math.nan, 5.0, 0.0))
    node.callbacks["odom"](odometry(math.inf, 0.0, 0.0))
    assert node.drops == ["unusable pose", "unusable odometry"]
    assert len(node.poses) == 1


def test_a_localiser_that_is_lost_leaves_nobody_knowing_where_the_robot_is():
    node = Listener()
    OdometrySource(node, node.heard, "odom", "amcl_pose", 0.5)
    node.callbacks["odom"](odometry(0.0, 0.0, 0.0))
    node.callbacks["amcl_pose"](localised(1.0, 1.0, 0.0))
    node.callbacks["odom"](odometry(0.1, 0.0, 0.0))
    assert len(node.poses) == 1
    for spread in (2.0, math.nan, math.inf):
        node.callbacks["amcl_pose"](localised(1.0, 1.0, 0.0, spread))
        node.callbacks["odom"](odometry(0.2, 0.0, 0.0))
        assert len(node.poses) == 1, "the bridge stops the robot: no pose comes"
    assert set(node.drops) == {"pose of a localiser that is too uncertain"}
    node.callbacks["amcl_pose"](localised(3.0, 1.0, 0.0))
    node.callbacks["odom"](odometry(0.2, 0.0, 0.0))
    assert node.poses[-1][0] == pytest.approx((3.0, 1.0, 0.0))


def at(message, seconds):
    message.header.stamp.sec = int(seconds)
    message.header.stamp.nanosec = round((seconds - int(seconds)) * 1e9)
    return message


@pytest.mark.parametrize("lead", [0.0, 0.05, 0.3])
def test_a_robot_that_turns_is_found_where_it_was_between_two_readings(lead):
    """The nearest reading would be out by a tenth of a radian.

    Odometry at 10 Hz of a robot that turns by 2 rad/s; the localiser's pose comes `lead` s before, or
    after, the readings around it.
    """
    node = Listener()
    OdometrySource(node, node.heard, "odom", "amcl_pose")
    found = at(localised(5.0, 5.0, 1.0 + 2 * 0.45), 100.45)
    node.callbacks["amcl_pose"](at(localised(5.0, 5.0, 1.0), 100.0))
    said = False
    for number in range(20):
        stamp = 100 + number / 10
        if not said and stamp > 100.4 + lead:
            node.callbacks["amcl_pose"](found)
            said = True
        node.callbacks["odom"](at(odometry(1.0, 0.0, 2 * number / 10), stamp))
        assert node.poses[-1][0] == pytest.approx(
            (5.0, 5.0, math.remainder(1.0 + 2 * number / 10, math.tau)), abs=1e-6
        ), number
    assert said


def transform(parent, child, x, y, heading):
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    message.transform.translation.x, message.transform.translation.y = x, y
    message.transform.rotation.z = math.sin(heading / 2)
    message.transform.rotation.w = math.cos(heading / 2)
    return message


@pytest.fixture
def tf(monkeypatch):
    """A source on tf; of tf2_msgs, which is on no registry, only the name of its message is needed."""
    package, messages = types.ModuleType("tf2_msgs"), types.ModuleType("tf2_msgs.msg")
    messages.TFMessage = type("TFMessage", (), {})
    monkeypatch.setitem(sys.modules, "tf2_msgs", package)
    monkeypatch.setitem(sys.modules, "tf2_msgs.msg", messages)
    node = Listener()
    TransformSource(node, node.heard, ("map", "base_link"), "odom")

    def say(topic, *transforms):
        node.callbacks[topic](types.SimpleNamespace(transforms=list(transforms)))

    return node, say


def test_a_pose_is_put_together_from_all_frames_on_the_way(tf):
    node, say = tf
    say("/tf", transform("odom", "base_footprint", 1.0, 0.0, 0.0))
    say("/tf_static", transform("base_footprint", "base_link", 0.0, 0.0, 0.0))
    assert node.poses == [], "there is no way to the map yet"
    say("/tf", transform("/map", "/odom", 2.0, 3.0, math.pi / 2))
    say("/tf", transform("odom", "base_footprint", 2.0, 0.0, 0.2))
    node.callbacks["odom"](odometry(0.0, 0.0, 0.0, speed=0.4))
    say("/tf", transform("odom", "base_footprint", 2.0, 0.0, 0.2))
    pose, velocity = node.poses[-1]
    assert pose == pytest.approx((2.0, 5.0, math.pi / 2 + 0.2))
    assert velocity.speed == 0.4


def test_frames_in_a_circle_and_without_sense_are_no_pose(tf):
    node, say = tf
    say(
        "/tf",
        transform("a", "base_link", 1.0, 0.0, 0.0),
        transform("base_link", "a", 1.0, 0.0, 0.0),
    )
    say("/tf", transform("map", "base_link", math.nan, 0.0, 0.0))
    assert node.poses == []
    assert node.drops == ["unusable transform"]
    for number in range(1200):
        say("/tf", transform("map", f"frame{number}", 0.0, 0.0, 0.0))
    assert "transform of one frame too many" in node.drops
