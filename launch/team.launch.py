"""Start a team: `ros2 launch skm team.launch.py robots:=3 mission:="F r1.lab & F store"`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `team` of config/graph.yaml."""
    return launch_system("team")
