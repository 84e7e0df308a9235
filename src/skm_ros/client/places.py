"""Places of a running system's map, from the client's side: out of service, or back in it."""

from __future__ import annotations

from typing import Any

from skm.srv import SetPlace

from skm_ros.client.ros_client import RosClient


def set_place(
    client: RosClient, name: str, *, closed: bool, note: str, timeout: float
) -> dict[str, Any]:
    """Close a place or open it; return the machine's answer. With an empty name nothing changes."""
    request = SetPlace.Request(name=name, closed=closed, note=note)
    answer = client.call(SetPlace, "set_place", request, timeout)
    return {
        "success": answer.success,
        "message": answer.message,
        "closed": dict(zip(answer.closed_places, answer.notes, strict=True)),
    }
