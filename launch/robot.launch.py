"""Start a robot on a map: `ros2 launch skm robot.launch.py domain:=hall mission:="F kitchen"`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `robot` of config/graph.yaml."""
    return launch_system("robot")
