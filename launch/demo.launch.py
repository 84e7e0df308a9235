"""Start the demo: `ros2 launch skm demo.launch.py mission:="F(coffee & X F office)" seed:=7`."""

from launch import LaunchDescription

from skm_ros.launch_system import launch_system


def generate_launch_description() -> LaunchDescription:
    """Return the system `demo` of config/graph.yaml."""
    return launch_system("demo")
