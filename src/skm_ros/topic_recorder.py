"""What a system says, written to files: one for each mission, with a little of before and after.

Any node can record: the recorder node does, and `skm mission --record`. Messages are taken as
bytes and written as they are.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import (
    ENDED,
    OUTCOMES,
    STOP,
    ExistingRecordingError,
    Message,
    codec_of,
    word,
)
from skm_primitives.recording.episode_recorder import KIND as LOG
from skm_primitives.recording.episode_recorder import entry_head, run_metadata
from skm_primitives.recording.files import RunWriter, compact, goal_id, require_mcap
from skm_primitives.recording.pictures import PACKED, PIXELS, packed
from skm_ros.raw_topics import RawTopics

# The parameters of the nodes that run missions, asked for as they appear in a namespace.


NODES: Final = ("sim", "bridge", "primitives", "machine")
"""Whose parameters say how a mission is run."""
MOST_NAMES: Final = 200
"""Parameters of one node that are asked for."""
MOST_TEXT: Final = 2000


class ParameterReader:
    """`values` has `NODE.PARAMETER`; `on_change` is called when there are more of them."""

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        self._node = node
        self._on_change = on_change
        self._asked: dict[str, list[Any]] = {}
        self._answered: set[str] = set()
        self.values: dict[str, str] = {}

    @property
    def waits(self) -> bool:
        """Whether a node that is there has not answered yet."""
        return not self._answered.issuperset(self._asked)

    def look(self) -> None:
        """Ask nodes that were not there before; forget those that are gone, to ask them again."""
        space = self._node.get_namespace()
        there = {
            name
            for name, where in self._node.get_node_names_and_namespaces()
            if where == space and name in NODES
        }
        for name in set(self._asked) - there:
            self._forget(name)
        for name in there - set(self._asked):
            prefix = f"{space.rstrip('/')}/{name}"
            self._asked[name] = [
                self._node.create_client(ListParameters, f"{prefix}/list_parameters"),
                self._node.create_client(GetParameters, f"{prefix}/get_parameters"),
                False,
            ]
        for name, (lister, getter, sent) in self._asked.items():
            if not sent and lister.service_is_ready() and getter.service_is_ready():
                self._asked[name][2] = True
                answer = lister.call_async(ListParameters.Request())
                answer.add_done_callback(lambda future, name=name: self._listed(name, future))

    def _forget(self, name: str) -> None:
        lister, getter, _ = self._asked.pop(name)
        self._answered.discard(name)
        self._node.destroy_client(lister)
        self._node.destroy_client(getter)

    def _listed(self, name: str, future: Future) -> None:
        answer = future.result()
        if answer is None or name not in self._asked:
            return
        names = list(answer.result.names)[:MOST_NAMES]
        values = self._asked[name][1].call_async(GetParameters.Request(names=names))
        values.add_done_callback(lambda future: self._got(name, names, future))

    def _got(self, name: str, names: list[str], future: Future) -> None:
        answer = future.result()
        if answer is None:
            return
        for parameter, value in zip(names, answer.values, strict=False):
            plain = parameter_value_to_python(value)
            self.values[f"{name}.{parameter}"] = str(plain)[:MOST_TEXT]
        self._answered.add(name)
        self._on_change()


KEPT: Final = 64
KEPT_BYTES: Final = 4_000_000
"""Of each topic the latest messages are kept, up to so many bytes: a mission's file begins with them."""
LOOK_SECONDS: Final = 1.0
AFTER_SECONDS: Final = 0.6
"""How long a file goes on after its mission's end: an action that comes then is evidence, too. Files end
at the next look after it, so that players show less than a second more than the mission."""
END_SECONDS: Final = 0.2
"""Between two looks for files whose time has come."""
MOST_AFTER_SECONDS: Final = 10.0
"""How much longer, at most, where the mission's last messages or the parameters have not come yet."""
MOST_WAITING: Final = 64_000_000
"""Bytes that wait for a full disk; then the file ends where it is."""
STATES: Final = "skm/MachineState"
RAW: Final = "/raw"
"""Follows the topic's name for pictures that are not packed."""
ASKED: Final = (
    *("mission", "format", "horizon", "planner", "repeat", "max_steps", "max_seconds"),
    *("shield", "step_seconds", "domain", "digest"),
)
"""Fields of MissionLog that are metadata, too."""


@dataclass
class _Topic:
    name: str
    kind: str
    recent: deque[tuple[bytes, int, int]] = field(default_factory=lambda: deque(maxlen=KEPT))

    def keep(self, message: tuple[bytes, int, int]) -> None:
        """Keep a message, and let older ones go that are too many."""
        self.recent.append(message)
        if len(message[0]) > KEPT_BYTES // KEPT:
            size = sum(len(data) for data, *_ in self.recent)
            while size > KEPT_BYTES and len(self.recent) > 1:
                size -= len(self.recent.popleft()[0])


@dataclass
class _Run:
    """The file of one mission."""

    goal: str
    writer: RunWriter
    ended: Message | None = None
    ended_at: float = 0.0
    labels_end: bool = False
    stop_end: bool = False
    trouble: str = ""
    """Why it cannot be written at present."""

    @property
    def is_whole(self) -> bool:
        """Whether the mission's last labels and its stop have been written."""
        never_began = self.ended is not None and self.ended.state < 0
        return never_began or (self.labels_end and self.stop_end)


class TopicRecorder:
    """Records the system in a node's namespace to a folder; `close` ends what is under way.

    `note` gets messages to show; `wants` says of a mission, by its id in hexadecimal digits,
    whether it is to be recorded.
    """

    def __init__(
        self,
        node: Node,
        folder: Path,
        note: Callable[[str], Any] = lambda _: None,
        wants: Callable[[str], bool] = lambda _: True,
    ) -> None:
        require_mcap()
        self._node, self._folder, self._note, self._wants = node, folder, note, wants
        self._topics: dict[str, _Topic] = {}
        self._runs: list[_Run] = []
        self._done: set[str] = set()
        self._early: set[str] = set()
        self._compacting: list[threading.Thread] = []
        self._started = time.time_ns()
        self._lock = threading.RLock()
        """Messages come in a thread of their own, all else in the node's."""
        self._parameters = ParameterReader(node, self._on_parameters)
        self.files: list[Path] = []
        self.messages = 0
        """How many messages have been written so far, to all files."""
        self._subscriptions = RawTopics(node, self._listen, self._take, note, self._flush)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(LOOK_SECONDS, self.look, clock=steady)
        node.create_timer(END_SECONDS, self._end_old, clock=steady)

    @property
    def open_files(self) -> int:
        """How many files are being written."""
        return len(self._runs)

    @property
    def heard(self) -> tuple[str, ...]:
        """Topics that have said something so far, without their namespace."""
        with self._lock:
            return tuple(
                sorted(name.rsplit("/", 1)[1] for name, one in self._topics.items() if one.recent)
            )

    def hears(self, *names: str) -> bool:
        """Tell whether somebody publishes these topics, so that nothing of a new mission is missed."""
        resolve, count = self._node.resolve_topic_name, self._node.count_publishers
        return all(count(resolve(name)) for name in names)

    @property
    def unfinished(self) -> bool:
        """Whether the end of a mission is still to come."""
        with self._lock:
            return any(run.ended is None or not run.is_whole for run in self._runs)

    # Topics

    def look(self) -> None:
        """Look what else is published in the namespace."""
        self._subscriptions.look()
        self._parameters.look()

    def _listen(self, name: str, kind: str) -> _Topic:
        topic = _Topic(name, kind)
        with self._lock:
            self._topics[name] = topic
            for run in self._runs:
                _add_channel(run, topic)
        return topic

    def _take(self, topic: _Topic, data: bytes, sent: int) -> None:
        with self._lock:
            message = data, time.time_ns(), sent
            topic.keep(message)
            entry = self._read(data) if topic.kind == LOG else None
            if entry is not None:
                self._begin_if_new(entry, sent)
            elif self._early and topic.kind == STATES:
                self._begin_early(codec_of(topic.kind).decode(data))
            for run in self._runs:
                self._write(run, topic, message)
            if entry is not None:
                self._end_if_over(entry)

    def _read(self, data: bytes) -> Message | None:
        """Read an entry of the log that begins or ends a mission's file, and no other."""
        goal, kind = entry_head(data)
        going_on = kind != ENDED and any(run.goal == goal for run in self._runs)
        return None if going_on else codec_of(LOG).decode(data)

    def _flush(self) -> None:
        """Put what has come at once into the files; on a full disk it waits, and is tried again."""
        with self._lock:
            for run in list(self._runs):
                try:
                    run.writer.flush()
                    run.trouble = ""
                except SkmError as error:
                    if run.trouble != str(error):
                        self._note(f"{error}; recording goes on when it can be written")
                    run.trouble = str(error)
                    if run.writer.waiting > MOST_WAITING:
                        self._finish(run)

    def _write(self, run: _Run, topic: _Topic, message: tuple[bytes, int, int]) -> None:
        data, received, sent = message
        name, file = topic.name, packed(data) if topic.kind == PIXELS else None
        if topic.kind == PIXELS and file is None:  # a depth image, say: it is kept as it is
            name += RAW
            run.writer.channel(name, PIXELS)
        run.writer.add(name, data if file is None else file, received, sent)
        self.messages += 1
        if run.ended is not None and topic.kind in ("skm/Labels", "skm/Action"):
            self._note_end(run, topic, data)

    # Missions

    def _begin_if_new(self, entry: Message, sent: int) -> None:
        goal = goal_id(entry)
        known = goal in self._done or any(run.goal == goal for run in self._runs)
        if known or entry.kind == ENDED or not self._wants(goal):
            self._early.discard(goal)
        elif sent < self._started:
            self._early.add(goal)  # of before: open a file only if it is still under way
        elif goal not in self._early:
            self._begin(entry)

    def _begin_early(self, state: Message) -> None:
        goal = goal_id(state)
        if goal in self._early and state.phase >= 3:
            self._early.discard(goal)
            log = self._topics[self._node.resolve_topic_name("mission_log")]
            entries = [codec_of(log.kind).decode(data) for data, *_ in log.recent]
            first = next(entry for entry in entries if goal_id(entry) == goal)
            self._begin(first, taking=False)

    def _begin(self, entry: Message, *, taking: bool = True) -> None:
        """Open a file; `taking`: the latest entry of the log is about to be written to it."""
        goal = goal_id(entry)
        run = _Run(goal, _new_file(self._folder, str(entry.mission)))
        run.writer.metadata(
            "skm.run",
            run_metadata(
                "ros",
                self._node.get_namespace(),
                ros_distro=os.environ.get("ROS_DISTRO", "jazzy"),
            ),
        )
        if self._parameters.values:
            run.writer.metadata("skm.parameters", self._parameters.values)
        run.writer.metadata("skm.mission", self._about(entry))
        for topic in self._topics.values():
            _add_channel(run, topic)
        latest = [
            (message, topic)
            for topic in self._topics.values()
            if topic.kind != LOG
            for message in list(topic.recent)[: -1 if not taking and topic.kind == STATES else None]
        ]
        log = self._topics[self._node.resolve_topic_name("mission_log")]
        decoded = [(message, codec_of(log.kind).decode(message[0])) for message in log.recent]
        earlier = decoded[:-1] if taking else decoded
        own = [(message, log) for message, value in earlier if goal_id(value) == goal]
        # What was said before the mission comes into the file as it is opened, and has the time of
        # that: latched messages may be hours old, and players begin with the first one. When each
        # was sent is kept, and is what `skm verify` goes by.
        entries = [message for message, value in decoded if goal_id(value) == goal]
        opened = min((received for _, received, _ in entries), default=time.time_ns())
        for (data, received, sent), topic in sorted(latest + own, key=lambda pair: pair[0][1]):
            self._write(run, topic, (data, max(received, opened), sent))
        self._runs.append(run)
        self.files.append(run.writer.path)
        self._note(f"recording {run.writer.path}")

    def _about(self, entry: Message) -> dict[str, object]:
        infos = self._topics[self._node.resolve_topic_name("primitives_info")]
        found = [codec_of(infos.kind).decode(data) for data, *_ in list(infos.recent)[-1:]]
        return {
            **{name: getattr(entry, name) for name in ASKED},
            "events": ",".join(entry.events),
            "checkpoint": found[0].checkpoint if found else "",
            "goal_id": goal_id(entry),
        }

    def _on_parameters(self) -> None:
        with self._lock:
            for run in self._runs:
                run.writer.metadata("skm.parameters", self._parameters.values)
        self._flush()

    def _end_if_over(self, entry: Message) -> None:
        if entry.kind != ENDED:
            return
        for run in self._runs:
            if run.goal == goal_id(entry) and run.ended is None:
                run.ended, run.ended_at = entry, time.monotonic()
                run.writer.metadata(
                    "skm.outcome",
                    {
                        "outcome": word(OUTCOMES, entry.outcome),
                        "reason": entry.reason,
                        "steps": entry.mission_steps,
                        "accepted": entry.accepted,
                        "seconds": entry.seconds,
                    },
                )
                for topic in self._topics.values():
                    if topic.kind in ("skm/Labels", "skm/Action"):
                        for data, *_ in topic.recent:
                            self._note_end(run, topic, data)

    def _note_end(self, run: _Run, topic: _Topic, data: bytes) -> None:
        """Take note of the labels of the last state of a mission, and of its stop."""
        ended, value = run.ended, codec_of(topic.kind).decode(data)
        assert ended is not None
        there = (value.session, value.episode) == (ended.session, ended.episode)
        if there and topic.kind == "skm/Labels":
            run.labels_end = run.labels_end or value.step >= ended.step
        elif there:
            run.stop_end = run.stop_end or (value.step >= ended.step and value.kind == STOP)

    def _end_old(self) -> None:
        now = time.monotonic()
        with self._lock:
            for run in list(self._runs):
                since = now - run.ended_at
                whole = run.is_whole and not self._parameters.waits
                late = since > MOST_AFTER_SECONDS
                if run.ended is not None and since > AFTER_SECONDS and (whole or late):
                    self._finish(run)

    def _finish(self, run: _Run) -> None:
        self._runs.remove(run)
        self._done.add(run.goal)
        try:
            run.writer.close(compacting=False)
        except SkmError as error:
            self._note(f"{error}: the file is left without its end")
            return
        thread = threading.Thread(target=self._compact, args=(run.writer.path,), daemon=True)
        self._compacting = [one for one in self._compacting if one.is_alive()] + [thread]
        thread.start()

    def _compact(self, path: Path) -> None:
        try:
            compact(path)
        except SkmError as error:
            self._note(f"{path} is left as it was written: {error}")

    def close(self, timeout: float = 5.0) -> None:
        """End all files; those that are not compacted in time are left as they were written."""
        self._subscriptions.close()
        for run in list(self._runs):
            self._finish(run)
        deadline = time.monotonic() + timeout
        for thread in self._compacting:
            thread.join(max(0.0, deadline - time.monotonic()))


def _add_channel(run: _Run, topic: _Topic) -> None:
    run.writer.channel(topic.name, PACKED if topic.kind == PIXELS else topic.kind)


def _new_file(folder: Path, mission: str) -> RunWriter:
    """Begin a new file, whose name says when, and what: never one that is there."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", mission).strip("-")[:40].strip("-")
    when = time.strftime("%Y%m%d-%H%M%S")
    name, number = f"{when}_{words or 'mission'}", 1
    path = folder / f"{name}.mcap"
    while True:
        try:
            return RunWriter(path)
        except ExistingRecordingError:  # of this second, maybe by another recorder
            number += 1
            path = folder / f"{name}_{number}.mcap"
