"""What a running system is to do, from the client's side: missions that wait, or are paused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from skm.srv import EditQueue
from std_srvs.srv import Trigger

from skm_machine.errors import SkmError
from skm_ros.client.ros_client import RosClient

Request = EditQueue.Request
EDITS: Final = {
    "list": Request.LIST,
    "remove": Request.REMOVE,
    "move": Request.MOVE,
    "clear": Request.CLEAR,
}


@dataclass(frozen=True)
class Queued:
    """A mission that waits, or the one under way."""

    number: int
    mission: str
    priority: int
    under_way: bool
    goal_id: str


@dataclass(frozen=True)
class Queue:
    """All that a machine is to do."""

    missions: tuple[Queued, ...]
    paused: bool
    reason: str
    """Why it is paused."""
    resume: str
    """What becomes of missions when nodes are restarted: `ask`, `always` or `never`."""

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "missions": [vars(mission) for mission in self.missions],
            "paused": self.paused,
            "reason": self.reason,
            "resume": self.resume,
        }


class QueueRefusedError(SkmError):
    """What was asked for cannot be done with the queue as it is."""


def read_queue(message: Any) -> Queue:  # noqa: ANN401 - made by rosidl
    """Return the queue that a MissionQueue message says."""
    missions = (
        Queued(one.number, one.mission, one.priority, one.under_way, bytes(one.goal_id.uuid).hex())
        for one in message.missions
    )
    return Queue(tuple(missions), message.paused, message.reason, message.resume)


def edit_queue(
    client: RosClient, what: str, number: int = 0, place: int = 0, *, timeout: float
) -> Queue:
    """Look at the queue, or change it; return how it is then."""
    if not (0 <= number < 2**32 and 0 <= place < 2**32):
        raise SkmError("numbers and places of missions begin at 1")
    request = Request(what=EDITS[what], number=number, place=place)
    answer = client.call(EditQueue, "edit_queue", request, timeout)
    if not answer.success:
        raise QueueRefusedError(answer.message)
    return read_queue(answer.queue)


def queued(client: RosClient, timeout: float) -> Queue:
    """Return what the machine is to do."""
    return edit_queue(client, "list", timeout=timeout)


def pause_mission(client: RosClient, timeout: float) -> str:
    """Let the robot rest until `resume_mission`; return what the machine says."""
    return _trigger(client, "pause_mission", timeout)


def resume_mission(client: RosClient, timeout: float) -> str:
    """Go on with what is paused; return what the machine says."""
    return _trigger(client, "resume_mission", timeout)


def _trigger(client: RosClient, service: str, timeout: float) -> str:
    answer = client.call(Trigger, service, Trigger.Request(), timeout)
    if not answer.success:
        raise QueueRefusedError(answer.message)
    return str(answer.message)
