"""Start the office in real time: `ros2 launch skm office.launch.py mission:="F mail"`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `office` of config/graph.yaml."""
    return launch_system("office")
