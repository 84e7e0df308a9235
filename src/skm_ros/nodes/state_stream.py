"""The states of the world as the machine hears them: checked, paired, in order, from one source.

An observation and the labels of the same state come as two messages. Each is checked as it arrives, and
what cannot be used is dropped there; the two halves are then put together by (session, episode, step). A
mission is judged on every label: where only the labels of a step can be used, they are handed on as soon
as a later state is whole. One source owns the stream, the first that is heard; another is refused for as
long as the owner shows itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from skm.msg import Labels, Observation

from skm_machine.logic.timed import NANOSECONDS
from skm_primitives.skills.values import RemoteSkills
from skm_ros.conversions import ConversionError, labels_reader, observation_reader

Key: TypeAlias = tuple[int, int, int]
"""Session, episode and step of a state."""
Drop: TypeAlias = Callable[[str, object], None]

UNPAIRED: Final = 64
"""Most observations, and most labels, that are kept until their other half comes."""
SILENT_SECONDS: Final = 1.5
"""A source shows a state at least twice a second, even one that waits: silence this long is its end."""
OWNER_SECONDS: Final = 1.0
"""How long a source must have been silent before another one can take its place."""
MOST_BYTES: Final = 1 << 24
"""The largest observation that is kept before anyone knows what observations look like."""


class WorldState:
    """A state of the world: what the mission is judged on, and what is decided on. Not to be changed."""

    __slots__ = (
        "ended",
        "key",
        "labels",
        "observation",
        "period",
        "stamp",
        "stopped",
        "time",
        "value",
    )

    def __init__(
        self,
        key: Key,
        labels: frozenset[str],
        value: Any,  # noqa: ANN401 - whatever the domain observes
        observation: Observation | None,
        stamp: int = 0,
    ) -> None:
        """`value` is what is observed; `observation` the message that it came in, to ask with.

        Both are None where that could not be used. `stamp` is that of the labels, in nanoseconds.
        """
        self.stamp = stamp
        self.key, self.labels, self.value, self.observation = key, labels, value, observation
        self.period = 0.0 if observation is None else observation.period
        """Seconds from a state to the next; 0 in lock-step."""
        self.stopped = "" if observation is None else observation.stopped
        """Why the robot is kept from moving; empty if it is not."""
        self.time = stamp if self.period > 0 else None
        """When it is so, where time goes by itself; None in lock-step."""
        self.ended = observation is not None and (observation.terminated or observation.truncated)
        """Whether the world goes no further."""


class StateStream:
    """Takes messages, gives states to a listener; `fit` says what they must look like."""

    def __init__(self, listener: Callable[[WorldState], None], drop: Drop) -> None:
        self._listener = listener
        self._drop = drop
        self.latest: WorldState | None = None
        self.replaced = 0
        """How many messages were never part of a state, since newer ones came in their place."""
        self.heard_at = -1e9
        self._owner = 0
        self._owner_at = -1e9
        self._read_observation: Callable[[Observation], Any] | None = None
        self._read_labels: Callable[[Labels], frozenset[str]] | None = None
        self._observations: dict[Key, tuple[Any, Observation]] = {}
        self._labels: dict[Key, tuple[frozenset[str], int]] = {}
        self._early: tuple[Observation | None, Labels | None] = (None, None)

    @property
    def fresh(self) -> WorldState | None:
        """The latest state, if it is the present one: in real time, not two periods old."""
        state = self.latest
        if state is None or not state.period:
            return state
        return state if time.monotonic() - self.heard_at <= 2 * state.period else None

    @property
    def period(self) -> float:
        """Seconds from a state to the next, as last heard; 0 in lock-step."""
        return 0.0 if self.latest is None else self.latest.period

    def is_silent(self, limit: float) -> bool:
        """Tell whether states have stopped coming; `limit` is the longest that a caller would wait."""
        if self.latest is None:
            return True
        usual = max(SILENT_SECONDS, 3 * self.latest.period)
        return time.monotonic() - self.heard_at > min(usual, limit)

    def fit(self, skills: RemoteSkills) -> None:
        """Expect what these skills were learned with; begin with what came before."""
        self._read_observation = observation_reader(skills.observation_space)
        self._read_labels = labels_reader(skills.propositions)
        self._forget()
        observation, labels = self._early
        self._early = (None, None)
        if labels is not None:
            self.on_labels(labels)
        if observation is not None:
            self.on_observation(observation)

    def on_observation(self, message: Observation) -> None:
        """Take one half of a state."""
        if self._read_observation is None:
            size = len(message.data) + len(message.image.data)
            self._early = (message if size < MOST_BYTES else None, self._early[1])
            return
        if not self._is_owner(message.session):
            self._drop("observation of another source", "")
            return
        try:
            value = self._read_observation(message)
        except ConversionError as error:
            self._drop("unusable observation", error)
            return
        key = (message.session, message.episode, message.step)
        labels = self._labels.pop(key, None)
        if labels is None:
            self._keep(self._observations, key, (value, message))
        else:
            self._hand_on(key, *labels, value, message)

    def on_labels(self, message: Labels) -> None:
        """Take the other half."""
        if self._read_labels is None:
            self._early = (self._early[0], message if len(message.names) < UNPAIRED else None)
            return
        if not self._is_owner(message.session):
            self._drop("labels of another source", "")
            return
        try:
            labels = self._read_labels(message)
        except ConversionError as error:
            self._drop("unusable labels", error)
            return
        key = (message.session, message.episode, message.step)
        stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        half = self._observations.pop(key, None)
        if half is None:
            self._keep(self._labels, key, (labels, stamp))
        else:
            self._hand_on(key, labels, stamp, *half)

    def _is_owner(self, session: int) -> bool:
        now = time.monotonic()
        if session != self._owner:
            if session == 0 or now - self._owner_at < OWNER_SECONDS:
                return False
            self._owner = session
            self._forget()
        self._owner_at = now
        return True

    @property
    def kept(self) -> int:
        """How many messages wait for their other half."""
        return len(self._observations) + len(self._labels)

    def _forget(self) -> None:
        self.latest = None
        self.replaced += self.kept
        self._observations.clear()
        self._labels.clear()

    def _keep(self, half: dict[Key, Any], key: Key, value: object) -> None:
        self.replaced += key in half
        half[key] = value
        if len(half) > UNPAIRED:
            del half[next(iter(half))]
            self._drop("half a state whose other half did not come", "")

    def _hand_on(
        self,
        key: Key,
        labels: frozenset[str],
        stamp: int,
        value: Any,  # noqa: ANN401
        message: Observation,
    ) -> None:
        """Hand a state on that is whole, after the labels of those before it that are not."""
        if self._labels and self.latest is not None:
            self._hand_on_labels(self.latest.key, key)
        self.heard_at = time.monotonic()
        self.latest = WorldState(key, labels, value, message, stamp)
        self._listener(self.latest)

    def _hand_on_labels(self, last: Key, present: Key) -> None:
        """Hand on the labels of the states between two, whose observations could not be used."""
        session, episode, step = present
        if last[:2] == (session, episode):
            for missed in range(last[2] + 1, min(step, last[2] + UNPAIRED)):
                alone = self._labels.pop((session, episode, missed), None)
                if alone is not None:
                    labels, stamp = alone
                    key = session, episode, missed
                    self._listener(WorldState(key, labels, None, None, stamp))
