"""Events over ROS: propositions that the robot does not control, set by a service or on topics.

The service `set_event` answers once the mission has taken the change into one of its states, with that
state, or says why it will not: what was answered so is never lost. A sensor says on the topic
`event/NAME` whether its condition holds, latched or again and again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from rclpy.task import Future
from skm.srv import SetEvent
from std_msgs.msg import Bool

from skm_machine.errors import did_you_mean
from skm_machine.events import EventScript
from skm_ros import qos
from skm_ros.event_inbox import Effect, EventInbox
from skm_ros.nodes.signal_topics import SignalTopics, events_in
from skm_ros.nodes.skm_node import Setting, SkmNode

SETTING: Final = Setting(
    "events",
    "",
    "propositions that the robot does not control, as names with commas; the service set_event sets "
    "each, and the topic event/NAME (std_msgs/Bool) for sensors",
    fixed=True,
)
MOST_STAMPS: Final = 1000


class MissionEvents(EventInbox):
    """The events of a node's parameter, with their service and topics."""

    def __init__(self, node: SkmNode, on_change: Callable[[], object]) -> None:
        """`on_change` is called when other events are true than before, of which no mission tells."""
        self._on_change = on_change
        by_hand = EventScript(node.setting("events")).names
        self.signals = SignalTopics(node, events_in(node.setting("labels")), self.note)
        super().__init__(tuple(dict.fromkeys((*by_hand, *self.signals.names))))
        node.create_service(
            SetEvent,
            "set_event",
            self._on_set,
            qos_profile=qos.REQUESTS,
            callback_group=node.low_priority,
        )
        for name in by_hand:
            _Sensor(node, name, self)

    def note(self, name: str, value: bool) -> None:
        """Take a change that nobody waits for; between missions everyone is told at once."""
        before = self.true
        super().note(name, value)
        if self.true != before:
            self._on_change()

    async def _on_set(
        self, request: SetEvent.Request, response: SetEvent.Response
    ) -> SetEvent.Response:
        name = request.name
        if name not in self.names:
            response.message = self._unknown(name)
            return response
        effect: Future = Future()
        self.ask(name, request.value, effect.set_result)
        found: Any = await effect
        if isinstance(found, Effect):
            response.success = True
            response.session, response.episode, response.step = found.key
            response.mission_steps = found.mission_steps
        else:
            response.message = found
        return response

    def _unknown(self, name: str) -> str:
        quoted = f"'{name[:100]}' is not an event of this machine"
        if not self.names:
            return f"{quoted}: its parameter `events` names none"
        return f"{quoted}{did_you_mean(name[:100], self.names)}"


class _Sensor:
    """The topic of one event, `event/NAME`.

    A subscription that asks for latched messages does not hear publishers that do not latch, and one
    that does not ask gets none of before its time. So there are two, and what comes by both counts once.
    """

    def __init__(self, node: SkmNode, name: str, inbox: EventInbox) -> None:
        self._note = partial(inbox.note, name)
        self._newest = 0
        """When the newest message was sent that came live."""
        self._early: deque[int] = deque(maxlen=MOST_STAMPS)
        """When those were sent that came latched, before they came live, if they did."""
        topic = f"event/{name}"
        node.create_subscription(
            Bool,
            topic,
            self._on_latched,
            qos.LATCHED_EVENT,
            with_info=True,
            callback_group=node.low_priority,
        )
        # The second, since the node warns of publishers that do not fit the last one: all do.
        node.create_subscription(Bool, topic, self._on_live, qos.EVENT, with_info=True)

    def _on_live(self, message: Bool, info: dict[str, int]) -> None:
        sent = info["source_timestamp"]
        self._newest = max(self._newest, sent)
        if sent not in self._early:
            self._note(message.data)

    def _on_latched(self, message: Bool, info: dict[str, int]) -> None:
        sent = info["source_timestamp"]
        if sent > self._newest:  # else it came live, or is older than what did
            self._early.append(sent)
            self._note(message.data)
