"""How skm sets up the middleware, where the user has not: before rclpy starts, by the environment.

By default nodes and clients are found on this machine only, and talk by UDP on its loopback
(`config/dds_local.xml`). `ROS_AUTOMATIC_DISCOVERY_RANGE` (SUBNET, for instance) opens them; profiles of
the user's own (`FASTDDS_DEFAULT_PROFILES_FILE`) go before those of skm. Other middlewares than Fast DDS
take none of this but the range.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Final

from skm_ros.graph import find_config

RANGE: Final = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILES: Final = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
TRANSPORTS: Final = "FASTDDS_BUILTIN_TRANSPORTS"
USE_PROFILES: Final = "RMW_FASTRTPS_USE_QOS_FROM_XML"
NAMES: Final = (RANGE, *PROFILES, TRANSPORTS, USE_PROFILES)
"""What is set up here."""
LOCAL: Final = "dds_local.xml"
OPEN: Final = "dds_open.xml"
OWN_PROFILES: Final = (LOCAL, OPEN)
IMPLEMENTATION: Final = "RMW_IMPLEMENTATION"


def set_up_listening(environ: MutableMapping[str, str]) -> None:
    """The same for a process that takes all that is said and drives nothing, such as the recorder.

    It acknowledges what has come ten times a second, not message by message, which costs the
    publisher as much as itself. Profiles of the user's own stay.
    """
    set_up_middleware(environ)
    for name in PROFILES:
        for profiles in OWN_PROFILES:
            if environ.get(name) == str(find_config(profiles)):
                environ[name] = str(find_config(profiles.replace(".xml", "_listening.xml")))


def set_up_middleware(environ: MutableMapping[str, str]) -> None:
    """Say what the middleware is to do, where that has not been said."""
    others = "fastrtps" not in environ.get(IMPLEMENTATION, "rmw_fastrtps_cpp")
    if others or any(name in environ for name in PROFILES):
        environ.setdefault(RANGE, "LOCALHOST")
        return
    profiles = OPEN if RANGE in environ else LOCAL
    environ.update(dict.fromkeys(PROFILES, str(find_config(profiles))))
    environ.setdefault(USE_PROFILES, "1")
    environ.setdefault(TRANSPORTS, "UDPv4")
    # The profiles keep to this machine; ROS's own LOCALHOST would bring shared memory back.
    environ.setdefault(RANGE, "SYSTEM_DEFAULT")
