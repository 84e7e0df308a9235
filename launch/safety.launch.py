"""Start the point robot in real time: `ros2 launch skm safety.launch.py mission:="F button"`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `safety` of config/graph.yaml."""
    return launch_system("safety")
