"""What `skm place` asks the machine for: which places are out of service, and to change that."""

from __future__ import annotations

from typing import Any

from skm.srv import SetPlace

from skm_ros.client.ros_client import RosClient


def set_place(client: RosClient, name: str, closed: bool, note: str, timeout: float) -> Any:  # noqa: ANN401
    """Close a place or open it, or only ask (an empty name); return the service's answer."""
    request = SetPlace.Request(name=name, closed=closed, note=note)
    return client.call(SetPlace, "set_place", request, timeout)
