"""Messages taken as bytes in a thread of their own, for whoever only keeps them.

An executor looks at every entity of its node for each message, which costs more than to write it down.
Here nothing is waited for but the subscriptions, and all that has come is taken at once: what costs is
the waking, not the message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

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
        if len(self._topics) == 1:
            self._thread.start()

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
                    topics, all_at = self._topics, 0.0
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
