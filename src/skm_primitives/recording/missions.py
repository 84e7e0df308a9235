"""The missions in a recording, each put together state by state from the messages of several topics.

    (mission,) = recorded_missions(read_recording(path))
    for state in mission.states:
        print(state.step, sorted(state.labels), state.action)

Messages count by what they say (session, episode, step), not by their order: a world that waits repeats
its states, and topics overtake each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission, compile_mission
from skm_primitives.recording.cdr import Message, message_type
from skm_primitives.recording.files import Recorded, RunFile
from skm_primitives.recording.message_words import (
    BEGAN,
    CONTINUOUS,
    DISCRETE,
    ENDED,
    OUTCOMES,
    word,
)

Key: TypeAlias = tuple[int, int, int]
"""Session, episode and step of a state."""


@dataclass(frozen=True)
class RecordedAction:
    """What the robot was told."""

    key: Key
    """The state that it answers."""
    time: int
    kind: int
    """STOP, DISCRETE or CONTINUOUS."""
    value: Any
    """A number, an array, or None for a stop."""


@dataclass(frozen=True)
class RecordedState:
    """A state of the world during a mission."""

    step: int
    """Actions of the mission taken until then: 0 in the state in which it began."""
    key: Key
    time: int
    """When its labels were first sent, in nanoseconds since 1970."""
    labels: frozenset[str]
    """With the events that were true."""
    observation: Message | None
    action: RecordedAction | None
    """The first thing that it was answered with."""
    stamp: int = 0
    """The stamp of its labels: the world's time, in nanoseconds."""
    clock: int | None = None
    """The time by which bounds in seconds are judged, in nanoseconds; None: nothing says it."""
    versions: int = 1
    """How many different label sets were recorded for it: more than 1 makes no sense."""


@dataclass
class RecordedMission:
    """One mission of a recording. What was not recorded is missing here, too."""

    file: RunFile
    goal_id: str
    log: list[tuple[int, Message]] = field(default_factory=list)
    """The entries of its log in order, with the times at which they were sent."""
    machine_states: list[tuple[int, Message]] = field(default_factory=list)
    actions: list[RecordedAction] = field(default_factory=list)
    """All from its beginning to the end of the recording, or to the next mission; in order."""
    states: list[RecordedState] = field(default_factory=list)
    """In order of their steps; gaps are gaps."""
    names: tuple[str, ...] = ()
    """The propositions that the labels are about."""
    info: Message | None = None
    """The primitives in use: PrimitivesInfo."""
    _latest: int = 0

    @property
    def began(self) -> Message | None:
        """The log's first entry, if it was recorded."""
        return next((entry for _, entry in self.log if entry.kind == BEGAN), None)

    @property
    def ended(self) -> Message | None:
        """The log's last entry, if it was recorded."""
        return next((entry for _, entry in self.log if entry.kind == ENDED), None)

    @property
    def about(self) -> Message | None:
        """Any entry of the log: all of them say what was asked for."""
        return self.log[0][1] if self.log else None

    @property
    def text(self) -> str:
        """The mission's text."""
        if self.about is not None:
            return str(self.about.mission)
        return str(self.machine_states[0][1].mission) if self.machine_states else ""

    @property
    def domain(self) -> str:
        """The name of the domain; empty if nothing says it."""
        if self.about is not None:
            return str(self.about.domain)
        return "" if self.info is None else str(self.info.domain)

    @property
    def outcome(self) -> str:
        """How it ended, in words; `unknown` if the recording does not say."""
        return "unknown" if self.ended is None else word(OUTCOMES, self.ended.outcome)

    @property
    def ended_at(self) -> int | None:
        """When it ended, by the clock of `RecordedState.clock`; None where nothing says it."""
        last = self.states[-1] if self.states else None
        if self.ended is None or last is None or last.clock is None:
            return None
        said = stamp_of(self.ended.header)
        return said if self._real_time and last.clock <= said <= self._latest else last.clock

    @property
    def _real_time(self) -> bool:
        """Whether time went by itself, so that the stamps of states say when they were entered."""
        return any(s.observation is not None and s.observation.period > 0 for s in self.states[:2])

    def set_clocks(self, stamps: Sequence[int], latest: int) -> None:
        """Give every state its time: in real time its stamp, in lock-step its number of steps.

        A mission begins while its first state lasts, and its log says when: if it goes by the world's
        clock, as the logs of before did not. `stamps` are those with which that state was shown, and
        `latest` is the last one of all.
        """
        self._latest = latest + NANOSECONDS
        step = 0.0 if self.about is None else float(self.about.step_seconds)
        if self._real_time:
            began = stamps[0] if self.began is None else stamp_of(self.began.header)
            until = self.states[1].stamp if len(self.states) > 1 else self._latest
            if not stamps[0] - NANOSECONDS <= began <= until:
                began = stamps[0]
            times = [began, *(state.stamp for state in self.states[1:])]
        elif step > 0:
            times = [round(state.step * step * NANOSECONDS) for state in self.states]
        else:
            return
        self.states = [
            replace(state, clock=time) for state, time in zip(self.states, times, strict=True)
        ]

    @cached_property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that a mission can name: those of the labels, and the events."""
        events = () if self.about is None else tuple(self.about.events)
        return tuple(dict.fromkeys((*self.names, *events)))

    def compiled(self, text: str | None = None) -> Mission:
        """Return the mission, compiled as the machine did, or another one about the same labels."""
        about = self.about
        options: dict[str, Any] = {"propositions": self.propositions, "clock": True}
        if about is not None:
            options |= {"events": tuple(about.events)}
            if text is None:
                options |= {
                    "format": about.format or "auto",
                    "horizon": about.horizon or "auto",
                    "repeat": bool(about.repeat),
                }
        return compile_mission(self.text if text is None else text, **options)


def recorded_missions(file: RunFile) -> list[RecordedMission]:
    """Return the missions of a recording whose beginning or states it holds, in order.

    A mission that only the tail of the recording mentions, since it came next, is not among them.
    """
    log = _sent(file, "mission_log")
    by_goal: dict[str, RecordedMission] = {}
    for message in log:
        goal = goal_id(message.value)
        by_goal.setdefault(goal, RecordedMission(file, goal)).log.append(
            (message.publish_time, message.value)
        )
    for message in _sent(file, "machine_state"):
        state, goal = message.value, goal_id(message.value)
        if state.state >= 0 and (goal in by_goal or not log):
            by_goal.setdefault(goal, RecordedMission(file, goal)).machine_states.append(
                (message.publish_time, state)
            )
    wanted = file.metadata.get("skm.mission", {}).get("goal_id")
    missions = [m for m in by_goal.values() if wanted in (None, m.goal_id)]
    begins = sorted(m.log[0][0] for m in by_goal.values() if m.began is not None)
    world = _World(file)
    for mission in missions:
        mission.log.sort(key=lambda entry: entry[1].number)
        _fill(mission, world, begins)
    return missions


def goal_id(message: Message) -> str:
    """Return the id of a mission, as hexadecimal digits."""
    return bytes(message.goal_id.uuid).hex()


class _World:
    """What the recording says about states and actions, whatever the mission."""

    def __init__(self, file: RunFile) -> None:
        self.labels: dict[Key, list[tuple[int, int, frozenset[str]]]] = {}
        self.observations: dict[Key, Message] = {}
        self.names: tuple[str, ...] = ()
        for message in _sent(file, "labels"):
            value = message.value
            self.names = tuple(value.names)
            true = frozenset(
                n for n, holds in zip(value.names, value.values, strict=False) if holds
            )
            shown = message.publish_time, stamp_of(value.header), true
            self.labels.setdefault(_key(value), []).append(shown)
        for message in _sent(file, "observation"):
            self.observations[_key(message.value)] = message.value
        self.actions = [_action(message) for message in _sent(file, "action")]
        infos = list(file.messages("primitives_info"))
        self.infos = {str(message.value.digest): message.value for message in infos}


def _fill(mission: RecordedMission, world: _World, begins: Sequence[int]) -> None:
    mission.names = world.names
    about = mission.about
    if about is not None:
        mission.info = world.infos.get(str(about.digest))
    elif world.infos:
        mission.info = next(iter(world.infos.values()))
    first, last = _span(mission, world)
    if first is None:
        return
    start = mission.log[0][0] if mission.log else 0
    later = [begin for begin in begins if begin > start]
    until = min(later, default=1 << 63)
    mission.actions = [a for a in world.actions if start <= a.time < until and _same(a.key, first)]
    answers: dict[Key, RecordedAction] = {}
    for action in mission.actions:
        answers.setdefault(action.key, action)
    events = _events(mission)
    for key in sorted(world.labels):
        if _same(key, first) and first[2] <= key[2] <= last:
            shown = world.labels[key]
            step = key[2] - first[2]
            mission.states.append(
                RecordedState(
                    step,
                    key,
                    shown[0][0],
                    shown[0][2] | _true_at(events, step),
                    world.observations.get(key),
                    answers.get(key),
                    shown[0][1],
                    versions=len({labels for *_, labels in shown}),
                )
            )
    if mission.states:
        stamps = [stamp for _, stamp, _ in world.labels[mission.states[0].key]]
        same = [shown for key, shown in world.labels.items() if _same(key, first)]
        mission.set_clocks(stamps, max(stamp for shown in same for _, stamp, _ in shown))


def _span(mission: RecordedMission, world: _World) -> tuple[Key | None, int]:
    """Return the first state of a mission and the last step that it went to."""
    began, ended = mission.began, mission.ended
    entries: Iterable[Message] = [entry for _, entry in mission.log if entry.state >= 0]
    if began is not None:
        first = _key(began)
    else:
        known = [*entries, *(state for _, state in mission.machine_states)]
        if not known:
            return None, 0
        session, episode, step = _key(known[0])
        first = session, episode, step - int(known[0].mission_steps)
    if ended is not None and ended.state >= 0:
        return first, int(ended.step)
    steps = [key[2] for key in world.labels if _same(key, first)]
    return first, max(steps, default=first[2])


def _events(mission: RecordedMission) -> list[tuple[int, frozenset[str]]]:
    """Return which events were true, from which step of the mission on."""
    return [
        (int(entry.mission_steps), frozenset(entry.true_events))
        for _, entry in mission.log
        if entry.kind != ENDED
    ]


def _true_at(events: list[tuple[int, frozenset[str]]], step: int) -> frozenset[str]:
    true: frozenset[str] = frozenset()
    for since, names in events:
        if since <= step:
            true = names
    return true


def _action(message: Recorded) -> RecordedAction:
    value = message.value
    kind = int(value.kind)
    taken = int(value.discrete) if kind == DISCRETE else None
    return RecordedAction(
        _key(value), message.publish_time, kind, value.continuous if kind == CONTINUOUS else taken
    )


def _sent(file: RunFile, name: str) -> list[Recorded]:
    """Return the messages of a topic in the order in which they were sent."""
    return sorted(file.messages(name), key=lambda message: message.publish_time)


def _key(message: Message) -> Key:
    return int(message.session), int(message.episode), int(message.step)


def stamp_of(header: Message) -> int:
    """Return the stamp of a header in nanoseconds."""
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _same(key: Key, first: Key) -> bool:
    return key[:2] == first[:2]


def constants(kind: str) -> dict[str, int]:
    """Return the constants of one of skm's messages that are numbers."""
    return {n: v for n, v in message_type(kind).constants.items() if isinstance(v, int)}
