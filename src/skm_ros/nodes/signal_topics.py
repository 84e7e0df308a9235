"""The topics of labels that a file describes.

Any message of any package, found when somebody publishes.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from rclpy.qos import QoSProfile

from skm_machine.errors import SkmError
from skm_ros.nodes.skm_node import Setting, SkmNode
from skm_sim.robots.signals import Signal, SignalSpec, read_events

SETTING: Final = Setting(
    "labels",
    "",
    "file of labels from other nodes' topics, which are events of the missions (docs/how-to/robots.md)",
    fixed=True,
)
WATCH_SECONDS: Final = 0.2
DEPTH: Final = 10


def message_type(name: str) -> Any:  # noqa: ANN401
    """Return the class of a message type such as std_msgs/msg/Bool, of any package that is installed."""
    package, _, kind = name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), kind)
    except (ImportError, AttributeError) as error:
        raise SkmError(
            f"the message type {name} cannot be found: is {package} installed?"
        ) from error


def events_in(file: str) -> tuple[SignalSpec, ...]:
    """Return the labels of a file that are events: no action of the file changes them."""
    return read_events(Path(file)) if file else ()


class SignalTopics:
    """Listens to the topics of a file; `note` is called whenever a label may have changed."""

    def __init__(
        self, node: SkmNode, specs: Sequence[SignalSpec], note: Callable[[str, bool], None]
    ) -> None:
        self._node, self._note = node, note
        now = time.monotonic()
        self._signals = {spec.name: Signal(spec, now) for spec in specs}
        self._reported: dict[str, bool] = {}
        self._deaf = set(self._signals)
        """Labels whose topic has no publisher yet, so that nobody knows how to listen."""
        for spec in specs:
            if spec.type:
                message_type(spec.type)  # what cannot be found is said at the start
        if specs:
            node.every(WATCH_SECONDS, self._watch)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(self._signals)

    @property
    def stops(self) -> str:
        """Why the robot must not move, for want of a message; empty if it may."""
        now = time.monotonic()
        return "; ".join(filter(None, (signal.stops(now) for signal in self._signals.values())))

    def _watch(self) -> None:
        """Look for publishers of topics that nobody listens to yet, and for labels that went stale."""
        for name in sorted(self._deaf):
            self._listen(self._signals[name])
        now = time.monotonic()
        for name, signal in self._signals.items():
            self._tell(name, signal.holds(now))

    def _tell(self, name: str, holds: bool) -> None:
        if self._reported.get(name, False) != holds:
            self._reported[name] = holds
            self._note(name, holds)

    def _listen(self, signal: Signal) -> None:
        """Subscribe as a topic's publisher offers it: type, latched or not, reliable or not."""
        spec = signal.spec
        topic = self._node.resolve_topic_name(spec.topic)
        ends = self._node.get_publishers_info_by_topic(topic)
        if not ends:
            return
        self._deaf.discard(spec.name)
        offered = ends[0].qos_profile
        profile = QoSProfile(
            depth=DEPTH, reliability=offered.reliability, durability=offered.durability
        )
        try:
            kind = message_type(spec.type or ends[0].topic_type)
        except SkmError as error:
            self._node.drop(f"label {spec.name}", error)
            return
        hear = partial(self._on_message, signal)
        self._node.create_subscription(
            kind, spec.topic, hear, profile, callback_group=self._node.low_priority
        )

    def _on_message(self, signal: Signal, message: Any) -> None:  # noqa: ANN401
        now = time.monotonic()
        try:
            signal.hear(message, now)
        except SkmError as error:
            self._node.drop(f"message for the label {signal.spec.name}", error)
            return
        self._tell(signal.spec.name, signal.holds(now))
