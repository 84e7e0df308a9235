"""Events of a running system, from the client's side: set one and hear where it took effect."""

from __future__ import annotations

import time
from typing import Any, Final

from skm.srv import SetEvent

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.ros_client import RosClient

AGAIN_SECONDS: Final = 2.0
"""A request without an answer is sent again: to set an event to what it is changes nothing, and an
answer may be lost while two nodes still get to know each other."""


def set_event(client: RosClient, name: str, value: bool, timeout: float) -> dict[str, Any]:
    """Set an event; return the machine's answer, which comes when the mission has taken it."""
    node = client.node
    service = node.create_client(SetEvent, "set_event", qos_profile=qos.REQUESTS)
    deadline = time.monotonic() + timeout
    try:
        if not client.spin_until(service.service_is_ready, timeout):
            raise SkmError(f"there is no service {service.srv_name}; {client.how_to_start()}")
        asked = []
        while (left := deadline - time.monotonic()) > 0:
            asked.append(service.call_async(SetEvent.Request(name=name, value=value)))
            until = min(left, AGAIN_SECONDS)
            if client.spin_until(lambda: any(answer.done() for answer in asked), until):
                break
        answers = [answer.result() for answer in asked if answer.done()]
    finally:
        node.destroy_client(service)
    if not answers:
        raise SkmError(
            f"no answer in {timeout:g} s: the mission has not come to a new state, and takes the "
            "event when it does. Does the world stand still? `skm status` tells."
        )
    answer = answers[0]
    return {
        "event": name,
        "value": value,
        "effective": answer.success,
        "reason": answer.message,
        "session": answer.session,
        "episode": answer.episode,
        "step": answer.step,
        "mission_steps": answer.mission_steps,
    }
