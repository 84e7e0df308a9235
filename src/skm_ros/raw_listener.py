"""Messages taken as bytes in a thread of their own, for whoever only keeps them.

An executor looks at every entity of its node for each message, which costs more than to write it down.
Here nothing is waited for but the subscriptions, and all that has come is taken at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

WAIT_NANOSECONDS: Final = 100_000_000
"""How long it waits at most before it looks whether there is a new topic, or its end."""
TOGETHER_SECONDS: Final = 0.003
"""How long it lets what belongs together come in: an observation, its labels, the markers."""

Take: TypeAlias = Callable[[bytes, dict[str, int]], None]
"""Takes a message as bytes, with what the middleware says of it: `source_timestamp` and more."""


class _Elsewhere(CallbackGroup):  # type: ignore[misc]
    """Subscriptions that no executor serves."""

    def can_execute(self, _: Any) -> bool:  # noqa: ANN401 - an entity of rclpy
        return False

    def beginning_execution(self, _: Any) -> bool:  # noqa: ANN401
        return False

    def ending_execution(self, _: Any) -> None:  # noqa: ANN401
        return None


class RawListener:
    """Gives each message of its topics to whoever asked for it; `close` ends the thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = _Elsewhere()
        self._listeners: list[tuple[Subscription, Take]] = []
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def subscribe(self, name: str, kind: type, profile: QoSProfile, take: Take) -> None:
        """Listen to a topic; `take` is called in the listener's thread."""
        subscription = Node.create_subscription(
            self._node,
            kind,
            name,
            take,
            profile,
            callback_group=self._group,
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )
        self._listeners = [*self._listeners, (subscription, take)]
        if len(self._listeners) == 1:
            self._thread.start()

    def close(self) -> None:
        """Take what has come until now, and end the thread."""
        self._closed = True
        if self._listeners:
            self._thread.join()

    def _run(self) -> None:
        while not self._closed and self._node.context.ok():
            listeners = self._listeners
            try:
                self._wait(listeners)
            except _rclpy.RCLError:
                return  # the context has ended while it was waited for
            time.sleep(TOGETHER_SECONDS)
            for subscription, take in listeners:
                self._drain(subscription, take)

    def _wait(self, listeners: list[tuple[Subscription, Take]]) -> None:
        waiting = _rclpy.WaitSet(len(listeners), 0, 0, 0, 0, 0, self._node.context.handle)
        waiting.clear_entities()
        for subscription, _ in listeners:
            waiting.add_subscription(subscription.handle)
        waiting.wait(WAIT_NANOSECONDS)

    @staticmethod
    def _drain(subscription: Subscription, take: Take) -> None:
        while (found := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            take(*found)
