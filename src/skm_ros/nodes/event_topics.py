"""Events over ROS: propositions that the robot does not control, each set on a topic of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from std_msgs.msg import Bool

from skm_machine.event_script import EventScript
from skm_ros import qos
from skm_ros.nodes.skm_node import Setting

if TYPE_CHECKING:
    from skm_ros.nodes.skm_node import SkmNode

SETTING: Final = Setting(
    "events",
    "",
    "propositions that the robot does not control, as names with commas; each is set on the topic "
    "event/NAME (std_msgs/Bool)",
    fixed=True,
)
NOTHING: Final[frozenset[str]] = frozenset()


class EventTopics:
    """What is heard on `event/NAME`: an event is true until it is said to be false.

    One that was true between two states counts for the next of them: none is missed.
    """

    def __init__(self, node: SkmNode) -> None:
        self.names = EventScript(node.setting("events")).names
        self._true: set[str] = set()
        self._since: set[str] = set()
        for name in self.names:
            heard = partial(self._on_event, name)
            node.create_subscription(Bool, f"event/{name}", heard, qos.COMMAND)

    def _on_event(self, name: str, message: Bool) -> None:
        if message.data:
            self._true.add(name)
            self._since.add(name)
        else:
            self._true.discard(name)

    def take(self) -> frozenset[str]:
        """Return the events that are true, or were since this was last asked."""
        if not (self._true or self._since):
            return NOTHING
        found = frozenset(self._true | self._since)
        self._since.clear()
        return found
