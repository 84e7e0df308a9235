"""The parameters of the bridge: another robot is other values, not other code."""

from __future__ import annotations

from typing import Final

from skm_ros.nodes.robot_side import SETTINGS as ROBOT_SETTINGS
from skm_ros.nodes.skm_node import Setting

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
        "objects", "", "file that says where things are, for a domain that is on no map", fixed=True
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
    Setting("map_frame", "map", "tf: frame of the map", fixed=True),
    Setting("base_frame", "base_link", "tf: frame of the robot", fixed=True),
    Setting(
        "pose_trust",
        0.3,
        "part by which a reading of the pose counts",
        low=0.01,
        high=1.0,
        fixed=True,
    ),
    Setting(
        "pose_delay",
        0.02,
        "seconds that a reading is old when it arrives",
        low=0.0,
        high=1.0,
        fixed=True,
    ),
    Setting(
        "pose_spread",
        0.5,
        "standard deviation, in metres, above which a localiser's pose is none",
        low=0.001,
        high=1000.0,
        fixed=True,
    ),
    Setting(
        "pose_timeout",
        0.0,
        "seconds without a reading after which the robot is stopped; 0: as short as can be",
        low=0.0,
        high=10.0,
    ),
    # What stands in its way
    Setting("scan", "scan", "topic of the laser (sensor_msgs/LaserScan); empty: none", fixed=True),
    Setting(
        "scan_timeout", 0.5, "seconds without a scan after which it is stopped", low=0.02, high=10.0
    ),
    Setting(
        "scan_x",
        0.0,
        "metres ahead of base_link at which the laser is",
        low=-5.0,
        high=5.0,
        fixed=True,
    ),
    Setting("scan_y", 0.0, "metres to the left of it", low=-5.0, high=5.0, fixed=True),
    Setting("scan_yaw", 0.0, "heading of the laser on the robot", low=-3.2, high=3.2, fixed=True),
    Setting(
        "scan_margin",
        0.1,
        "metres to keep from what is not on the map",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    # How it drives
    Setting("drive", "velocities", "velocities, or goals of Nav2", choices=DRIVES, fixed=True),
    Setting("cmd_vel", "cmd_vel", "topic of the velocities", fixed=True),
    Setting("stamped", False, "whether velocities are TwistStamped and not Twist", fixed=True),
    Setting("navigate", "navigate_to_pose", "name of Nav2's action", fixed=True),
    Setting("speed", 0.4, "most metres per second", low=0.01, high=10.0, fixed=True),
    Setting("turn", 1.5, "most radians per second", low=0.01, high=20.0, fixed=True),
    Setting("acceleration", 0.8, "most metres per second²", low=0.01, high=50.0, fixed=True),
    Setting("turn_acceleration", 6.0, "most radians per second²", low=0.01, high=200.0, fixed=True),
    Setting(
        "radius",
        0.0,
        "of the robot, in metres; 0: as in the domain",
        low=0.0,
        high=10.0,
        fixed=True,
    ),
    Setting(
        "axle",
        0.0,
        "metres from the wheels' axle ahead to base_link",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    Setting("sight", 0.15, "metres ahead on the path to aim at", low=0.01, high=5.0, fixed=True),
    Setting(
        "horizon",
        0.5,
        "metres ahead at which a cell counts as reached",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    Setting("margin", 0.1, "metres to keep from constraints", low=0.0, high=2.0, fixed=True),
    Setting(
        "render",
        "none",
        "what to publish for people: markers for RViz and pictures (or all), or nothing",
        choices=("none", "image", "markers", "all"),
        fixed=True,
    ),
    *ROBOT_SETTINGS,
)
