"""Start Moving Targets in real time: `ros2 launch skm moving_targets.launch.py mission:="F blue"`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `moving_targets` of config/graph.yaml."""
    return launch_system("moving_targets")
