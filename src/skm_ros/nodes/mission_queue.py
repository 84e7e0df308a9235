"""The missions that a machine node is to do: which waits, in which order, and whether all are paused.

Relative to the node's namespace (/skm):
    offers      edit_queue (skm/EditQueue); pause_mission, resume_mission (std_srvs/Trigger)
    publishes   mission_queue (skm/MissionQueue), latched

Missions come by the action `execute_mission`, whose goals say when (`QUEUE`, `ADD`, `REPLACE`). Each
that waits is a goal that was accepted and is not executed yet: its client cancels it, or waits for its
result, as for any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rclpy.action.server import ServerGoalHandle
from skm.msg import MissionQueue as QueueMessage
from skm.msg import QueuedMission
from skm.srv import EditQueue
from std_srvs.srv import Trigger

from skm_machine.errors import MOST_TEXT
from skm_ros import qos
from skm_ros.nodes.skm_node import Setting, SkmNode

SETTING: Final = Setting(
    "resume",
    "never",
    "what becomes of missions when this node or its peers are restarted: always (they go on), ask (they"
    " go on with resume_mission), or never (they end)",
    choices=("ask", "always", "never"),
)
MOST_WAITING: Final = 1000
BY_HAND: Final = "paused: `skm resume` goes on"


@dataclass
class Entry:
    """A mission with its number."""

    number: int
    handle: ServerGoalHandle
    priority: int

    def message(self, *, under_way: bool) -> QueuedMission:
        """Return what is said of it."""
        return QueuedMission(
            number=self.number,
            goal_id=self.handle.goal_id,
            mission=self.handle.request.mission[:MOST_TEXT],
            priority=self.priority,
            under_way=under_way,
        )


class MissionQueue:
    """`add` a goal, take the `next` one; `on_change` is called when one could begin, or go on.

    `keep` writes down what is to outlive the node; `on_removed` ends a goal that is taken out.
    """

    def __init__(
        self,
        node: SkmNode,
        *,
        keep: Callable[[], None],
        on_removed: Callable[[ServerGoalHandle, str], None],
        on_change: Callable[[], None],
    ) -> None:
        self._node, self._keep = node, keep
        self._on_removed, self._on_change = on_removed, on_change
        self.waiting: list[Entry] = []
        """In their order: by priority, then as they came."""
        self.current: Entry | None = None
        """The mission under way."""
        self.joining: Entry | None = None
        """The mission that is about to join it, while that is planned."""
        self.paused = ""
        """Why nothing goes on; empty if it does."""
        self.last_number = 0
        self._publisher = node.create_publisher(QueueMessage, "mission_queue", qos.LATCHED)
        for kind, name, callback in (
            (EditQueue, "edit_queue", self._on_edit),
            (Trigger, "pause_mission", self._on_pause),
            (Trigger, "resume_mission", self._on_resume),
        ):
            node.create_service(kind, name, callback, callback_group=node.low_priority)

    @property
    def full(self) -> bool:
        """Whether no more missions are taken."""
        return len(self.waiting) >= MOST_WAITING

    def entry(self, handle: ServerGoalHandle) -> Entry:
        """Return a goal with a number of its own."""
        self.last_number += 1
        return Entry(self.last_number, handle, int(handle.request.priority))

    def begin(self, entry: Entry | None) -> None:
        """Take note of the mission that is under way now, if one is."""
        self.current = entry
        self.publish()

    def join(self, entry: Entry | None) -> None:
        """Take note of the mission that is to join the one under way, if one is."""
        self.joining = entry
        self.publish()

    def add(self, entry: Entry) -> None:
        """Put a mission in, behind those of its priority."""
        higher = [one for one in self.waiting if one.priority >= entry.priority]
        self.waiting.insert(len(higher), entry)
        self.publish()

    def next(self) -> Entry | None:
        """Take the next mission out, unless all are paused."""
        if self.paused or not self.waiting:
            return None
        return self.waiting.pop(0)

    def discard(self, handle: ServerGoalHandle) -> bool:
        """Take a goal out, if it waits; tell whether it did."""
        found = [one for one in self.waiting if one.handle.goal_id == handle.goal_id]
        for one in found:
            self.waiting.remove(one)
        self.publish()
        return bool(found)

    def pause(self, reason: str) -> None:
        """Let nothing go on until `resume`."""
        self.paused = reason
        self.publish()
        self._on_change()

    def resume(self) -> None:
        """Let things go on."""
        self.paused = ""
        self.publish()
        self._on_change()

    def message(self) -> QueueMessage:
        """Return all of it."""
        found = QueueMessage(paused=bool(self.paused), reason=self.paused)
        found.resume = self._node.setting("resume")
        found.header.stamp = self._node.get_clock().now().to_msg()
        if self.current is not None:
            found.missions.append(self.current.message(under_way=True))
        waiting = self.waiting if self.joining is None else [self.joining, *self.waiting]
        found.missions.extend(one.message(under_way=False) for one in waiting)
        return found

    def publish(self) -> None:
        """Tell everyone, and keep what is to outlive the node."""
        self._publisher.publish(self.message())
        self._keep()

    # Services

    def _on_pause(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        response.success = True
        response.message = "it was paused already" if self.paused else "paused"
        if not self.paused:
            self.pause(BY_HAND)
        return response

    def _on_resume(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        response.success = bool(self.paused)
        response.message = "it goes on" if self.paused else "nothing is paused"
        if self.paused:
            self.resume()
        return response

    def _on_edit(
        self, request: EditQueue.Request, response: EditQueue.Response
    ) -> EditQueue.Response:
        response.message = self._edit(request, response)
        response.success = not response.message
        if response.success and request.what != EditQueue.Request.LIST:
            response.message = "done"
        response.queue = self.message()
        return response

    def _edit(self, request: EditQueue.Request, response: EditQueue.Response) -> str:  # noqa: ARG002
        """Do what is asked for; return what is wrong with it, else nothing."""
        what, number = request.what, request.number
        if what == EditQueue.Request.LIST:
            return ""
        if what == EditQueue.Request.CLEAR:
            while self.waiting:
                self._on_removed(self.waiting.pop().handle, "it was taken out of the queue")
            self.publish()
            return ""
        if what not in (EditQueue.Request.REMOVE, EditQueue.Request.MOVE):
            return f"{what} is nothing that can be done with a queue: see EditQueue"
        under_way = [one for one in (self.current, self.joining) if one is not None]
        found = [one for one in (*under_way, *self.waiting) if one.number == number]
        if not found:
            numbers = ", ".join(str(one.number) for one in (*under_way, *self.waiting)) or "none"
            return f"there is no mission number {number}; there is: {numbers}"
        if what == EditQueue.Request.REMOVE:
            if found[0] in self.waiting:
                self.waiting.remove(found[0])
            self._on_removed(found[0].handle, "it was taken out of the queue")
            self.publish()
            return ""
        return self._move(found[0], int(request.place))

    def _move(self, entry: Entry, place: int) -> str:
        if entry not in self.waiting:
            return f"mission number {entry.number} is under way"
        if not 1 <= place <= len(self.waiting):
            return f"there is no place {place}: {len(self.waiting)} missions wait"
        entry.priority = self.waiting[place - 1].priority
        self.waiting.remove(entry)
        self.waiting.insert(place - 1, entry)
        self.publish()
        return ""
