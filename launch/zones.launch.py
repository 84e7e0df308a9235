"""Start the robot among zones in real time: `ros2 launch skm zones.launch.py mission:="F blue"`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `zones` of config/graph.yaml."""
    return launch_system("zones")
