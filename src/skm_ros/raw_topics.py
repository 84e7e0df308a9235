"""All that is published in a node's namespace, as bytes, to be passed on unchanged.

The topics that every system has are subscribed to at once; what else there is, when it is seen.
"""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import RecordingError, schema_text, short_name
from skm_ros import qos

# Messages taken as bytes in a thread of their own, for code that only keeps them.
#
# An executor looks at every entity of its node for each message, which costs more than to write
# it down. Here nothing is waited for but the subscriptions, and all that has come is taken at
# once: what costs is the waking, not the message. Five topics at 50 Hz, side by side on a busy
# machine: 70 and 81 µs of CPU a message; raw subscriptions served by skm's executor 92 and 90, by
# EventsExecutor 84 and 89, by rclpy's own 233 and 246.


WAIT_NANOSECONDS: Final = 100_000_000
"""How long it waits at most before it looks whether there is a new topic, or its end."""
TOGETHER_SECONDS: Final = (0.003, 0.005)
"""How long it lets what belongs together come in: an observation, its labels, the markers; then what
they are answered with. To look once more costs less than to wait."""
BUSY_SECONDS: Final = 0.5
"""A topic that has said something so lately is asked whenever the thread wakes, another one only when
it has something."""
ALL_SECONDS: Final = 0.1
"""How often all topics are waited for while those that lead are heard: what follows them at once need
not be waited for, and each that is costs time whenever the thread wakes."""

MOST_AT_ONCE: Final = 64
"""Messages that are given at once: what is taken and not yet given is in no one's hands."""

Batch: TypeAlias = list[tuple[Any, bytes, int]]
"""Messages that have come at once: of which topic, as bytes, and when they were sent."""


class _Elsewhere(CallbackGroup):  # type: ignore[misc]
    """Subscriptions that no executor serves."""

    def can_execute(self, _: Any) -> bool:  # noqa: ANN401 - an entity of rclpy
        return False

    def beginning_execution(self, _: Any) -> bool:  # noqa: ANN401
        return False

    def ending_execution(self, _: Any) -> None:  # noqa: ANN401
        return None


@dataclass(eq=False)
class _Topic:
    key: Any
    subscription: Subscription
    leads: bool
    last: float = -BUSY_SECONDS


class RawListener:
    """Gives the messages of its topics to `take`, in a thread of its own; `close` ends it."""

    def __init__(self, node: Node, take: Callable[[Batch], None]) -> None:
        self._node, self._take = node, take
        self._group = _Elsewhere()
        self._topics: list[_Topic] = []
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def subscribe(
        self,
        name: str,
        kind: type,
        profile: QoSProfile,
        key: Any,  # noqa: ANN401
        *,
        leads: bool = True,
    ) -> None:
        """Listen to a topic; `key` names it in batches. What does not lead comes with what does."""
        subscription = Node.create_subscription(
            self._node,
            kind,
            name,
            lambda _: None,
            profile,
            callback_group=self._group,
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )
        self._topics = [*self._topics, _Topic(key, subscription, leads)]
        if not self._thread.is_alive():
            self._thread.start()

    def unsubscribe(self, key: Any) -> None:  # noqa: ANN401
        """Listen to a topic no more; the thread lets go of it when it looks for new ones."""
        self._topics = [topic for topic in self._topics if topic.key != key]

    def close(self) -> None:
        """Take what has come until now, and end the thread."""
        self._closed = True
        if self._topics:
            self._thread.join()

    def _run(self) -> None:
        topics: list[_Topic] = []
        all_at = 0.0
        try:
            while not self._closed and self._node.context.ok():
                if topics is not self._topics:
                    before, topics, all_at = topics, self._topics, 0.0
                    for gone in (topic for topic in before if topic not in topics):
                        self._node.destroy_subscription(gone.subscription)
                    leading = [topic for topic in topics if topic.leads]
                    by_handle = {topic.subscription.handle.pointer: topic for topic in topics}
                    waiting = _rclpy.WaitSet(len(topics), 0, 0, 0, 0, 0, self._node.context.handle)
                now = time.monotonic()
                lead = now - all_at < ALL_SECONDS
                all_at = all_at if lead else now
                waiting.clear_entities()
                for topic in leading if lead else topics:
                    waiting.add_subscription(topic.subscription.handle)
                waiting.wait(WAIT_NANOSECONDS)
                ready = waiting.get_ready_entities("subscription")
                found = [by_handle[handle] for handle in ready]
                for seconds in TOGETHER_SECONDS if found else ():
                    time.sleep(seconds)
                    self._drain(topics, found)
                all_at = all_at if found else 0.0
            if self._node.context.ok():
                self._drain(self._topics, self._topics)
        except _rclpy.RCLError:
            return  # the context has ended while it was waited for

    def _drain(self, topics: list[_Topic], ready: list[_Topic]) -> None:
        now, batch = time.monotonic(), []
        for topic in topics:
            if topic not in ready and now - topic.last > BUSY_SECONDS:
                continue
            take_one, kind = topic.subscription.handle.take_message, topic.subscription.msg_type
            while (found := take_one(kind, True)) is not None:
                topic.last = now
                batch.append((topic.key, found[0], found[1]["source_timestamp"]))
                if len(batch) == MOST_AT_ONCE:
                    self._take(batch)
                    batch = []
        if batch:
            self._take(batch)


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


def _weakest(offered: list[QoSProfile]) -> QoSProfile:
    """Return what every publisher of a topic can serve: no more than the one that offers least."""
    reliable = all(one.reliability == ReliabilityPolicy.RELIABLE for one in offered)
    latched = all(one.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in offered)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _misses(asked: QoSProfile, offered: list[QoSProfile]) -> bool:
    """Tell whether a subscription asks for more than a publisher offers that has come since."""
    least = _weakest(offered)
    pairs = (
        (asked.reliability, least.reliability, ReliabilityPolicy.RELIABLE),
        (asked.durability, least.durability, DurabilityPolicy.TRANSIENT_LOCAL),
    )
    return any(wanted == most and given != most for wanted, given, most in pairs)


class RawTopics:
    """Subscriptions to bytes; what they bring is given on in a thread of its own.

    `listen` is given a topic's name and type, and returns what `take` is to know it by; `take` is given
    that, a message, and when it was sent in nanoseconds since 1970; `done` is called when all that has
    come at once is taken. `note` is called with messages to show.
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
        self._known: dict[str, QoSProfile] = {}
        """What each topic is subscribed to with."""
        self._fixed: set[str] = set()
        self._keys: dict[str, Any] = {}
        self._listener = RawListener(node, self._take)
        for name, kind, profile in TOPICS:
            self._subscribe(node.resolve_topic_name(name), kind, profile)
        self._fixed.update(self._known)

    def look(self) -> None:
        """Look what else is published in the namespace."""
        space = self._node.get_namespace().rstrip("/") + "/"
        for name, kinds in self._node.get_topic_names_and_types():
            if not name.startswith(space) or name in self._fixed or LEFT_OUT.search(name):
                continue
            offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(name)]
            if offered and (name not in self._known or _misses(self._known[name], offered)):
                self._subscribe(name, short_name(kinds[0]), _weakest(offered))

    def _subscribe(self, name: str, kind: str, profile: QoSProfile) -> None:
        if name in self._keys:
            self._listener.unsubscribe(self._keys[name])
        self._known[name] = profile
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
        topic = self._keys[name][1] if name in self._keys else self._listen(name, kind)
        self._keys[name] = key = (name, topic)
        leads = not FOLLOWING.search(name)
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
