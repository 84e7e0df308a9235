"""The ROS 2 side of skm, and the only package that imports rclpy: nodes, client, launch, benchmarks.

Importing this package imports no ROS yet, so that commands can say what is missing.
"""

from skm_machine.version import __version__

__all__ = ["__version__"]
