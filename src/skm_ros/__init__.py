"""The ROS 2 side of skm, and the only package that imports rclpy: nodes, client, launch.

`SkmClient` runs missions from a program of one's own. Importing this package imports no ROS yet, so
that commands can say what is missing.
"""

from typing import TYPE_CHECKING

from skm_machine.lazy_exports import lazy_exports
from skm_machine.version import __version__

if TYPE_CHECKING:
    from skm_ros.client.skm_client import MissionResult, MissionStatus, SkmClient

__getattr__ = lazy_exports(
    __name__, {"client.skm_client": ("MissionResult", "MissionStatus", "SkmClient")}
)

__all__ = ["MissionResult", "MissionStatus", "SkmClient", "__version__"]


def __dir__() -> list[str]:
    return __all__
