"""All that is published in a node's namespace, as bytes: for those who pass it on as it is.

The topics that every system has are subscribed to at once; what else there is, when it is seen.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

from rclpy.node import Node
from rclpy.qos import QoSProfile

from skm_machine.errors import SkmError
from skm_primitives.recording.definitions import RecordingError, schema_text, short_name
from skm_ros import qos
from skm_ros.raw_listener import Batch, RawListener

DEPTH: Final = 5000
"""Messages that wait for this process to take them: the middleware has them, nothing is lost."""
LEFT_OUT: Final = re.compile(r"/_action/|/parameter_events$|/rosout$|/transition_event$")
TOPICS: Final = (
    ("mission_log", "skm/MissionLog", qos.LOG),
    ("primitives_info", "skm/PrimitivesInfo", qos.LATCHED),
    ("machine_state", "skm/MachineState", qos.LATCHED),
    ("labels", "skm/Labels", qos.STATE),
    ("observation", "skm/Observation", qos.STATE),
    ("action", "skm/Action", qos.COMMAND),
    ("markers", "visualization_msgs/MarkerArray", qos.MARKERS),
    (qos.DIAGNOSTICS_TOPIC, "diagnostic_msgs/DiagnosticArray", qos.DIAGNOSTICS),
)
FOLLOWING: Final = re.compile(
    r"/(observation|markers|machine_state|decision|primitives_info|diagnostics)$"
)
"""What is said together with labels, an action or an entry of the log, or does not matter so soon."""


class RawTopics:
    """Subscriptions to bytes; what they bring is given on in a thread of its own.

    `listen` is given a topic's name and type, and returns what `take` is to know it by; `take` is given
    that, a message, and when it was sent in nanoseconds since 1970; `done` is called when all that has
    come at once is taken. `note` is told what people want to know.
    """

    def __init__(
        self,
        node: Node,
        listen: Callable[[str, str], Any],
        take: Callable[[Any, bytes, int], None],
        note: Callable[[str], Any],
        done: Callable[[], None] = lambda: None,
    ) -> None:
        self._node, self._listen, self._note = node, listen, note
        self._take_one, self._done = take, done
        self._known: set[str] = set()
        self._listener = RawListener(node, self._take)
        for name, kind, profile in TOPICS:
            self._subscribe(node.resolve_topic_name(name), kind, profile)

    def look(self) -> None:
        """Look what else is published in the namespace."""
        space = self._node.get_namespace().rstrip("/") + "/"
        for name, kinds in self._node.get_topic_names_and_types():
            if name.startswith(space) and name not in self._known and not LEFT_OUT.search(name):
                offered = self._node.get_publishers_info_by_topic(name)
                if offered:
                    self._subscribe(name, short_name(kinds[0]), offered[0].qos_profile)

    def _subscribe(self, name: str, kind: str, profile: QoSProfile) -> None:
        self._known.add(name)
        package, _, short = kind.partition("/")
        try:
            schema_text(kind)
            message_class = getattr(importlib.import_module(f"{package}.msg"), short)
        except (ImportError, AttributeError, RecordingError) as error:
            self._note(f"{name} is left out: {error}")
            return
        asked = QoSProfile(
            depth=DEPTH, reliability=profile.reliability, durability=profile.durability
        )
        key, leads = (name, self._listen(name, kind)), not FOLLOWING.search(name)
        self._listener.subscribe(name, message_class, asked, key, leads=leads)

    def _take(self, batch: Batch) -> None:
        for (name, topic), data, sent in batch:
            try:
                self._take_one(topic, data, sent)
            except SkmError as error:
                self._note(f"{name}: {error}")
            except Exception as error:
                self._note(f"{name}: a message that broke its reader: {repr(error)[:200]}")
        self._done()

    def close(self) -> None:
        """Take no more messages."""
        self._listener.close()
