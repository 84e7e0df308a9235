"""A run as the page shows it, from messages: live ones, or those of a recording.

Messages are read by the names of their fields only, so that no ROS is needed to show a recording. What
takes time, such as a mission's machine and its layout, is worked out in a thread of its own: the newest
wins, and nobody waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.primitives import Skills
from skm_primitives.recording.message_words import BEGAN, ENDED, LEVELS, OUTCOMES, PHASES, word
from skm_web.hub import Hub
from skm_web.machine_view import MachineView
from skm_web.mission_check import MissionContext, offered
from skm_web.why_view import why_document
from skm_web.world_view import LEAST_WAY, WorldView, png

MOST_EVENT_SETS: Final = 64
"""Label sets are multiplied by what events may be true beside them, up to so many times."""

MOST_WAY: Final = 200
"""States of the way so far that are shown."""


class RunView:
    """Keeps the hub's documents up to date; every method is called from one thread."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.world = WorldView(hub)
        self.context = MissionContext()
        self._gamma = 0.9
        self._goal_labels: list[list[str]] = []
        self._lock = threading.Lock()
        self._machine: MachineView | None = None
        self._mission_key: tuple[Any, ...] = ()
        self._drawn: tuple[Any, ...] = ()
        self._way: list[int] = []
        self._state = -1
        self._next: tuple[int, int] | None = None
        self._path_of: tuple[Any, ...] = ()
        self._last_place: tuple[float, float] | None = None
        self._logged: dict[str, int] = {}
        """The latest entry of each mission's log."""
        self._log_number = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="machine")
        self._pending: Callable[[], None] | None = None

    def close(self) -> None:
        """Let the worker go."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def restart(self) -> None:
        """Forget the path and the log: a recording is played from elsewhere."""
        self.hub.restart("path")
        self._logged.clear()
        self._log_number += 1
        self._worker.submit(self.hub.restart, "log")
        self._way, self._state, self._next = [], -1, None
        self._path_of, self._last_place = (), None

    # The world

    def on_primitives(self, info: Any, skills: Skills | None = None) -> None:  # noqa: ANN401
        """Take what is known of the world and the skills."""
        self._gamma = float(info.gamma)
        self._goal_labels = [list(goal.labels) for goal in info.goals]
        propositions, constraints = tuple(info.propositions), tuple(info.constraints)
        shown = {frozenset(labels) for labels in self._goal_labels}
        shown |= {frozenset(entry.labels) for entry in info.place_labels}
        self.context = MissionContext(
            propositions, self.context.events, tuple(shown | {frozenset()}), None, skills
        )
        self.hub.put(
            "domain",
            {
                "domain": info.domain,
                "checkpoint": info.checkpoint,
                "digest": info.digest,
                "propositions": list(propositions),
                "constraints": list(constraints),
                "patterns": offered(propositions, constraints),
            },
        )

    def on_markers(self, message: Any) -> None:  # noqa: ANN401 - a MarkerArray
        """Take the world's shapes, and the robot's place for the path."""
        self.world.on_markers(message)
        place = self.world.place
        if place is not None:
            self.on_place(place)

    def on_place(self, place: tuple[float, float]) -> None:
        """Take a place of the robot's path."""
        last = self._last_place
        if last is not None and max(abs(a - b) for a, b in zip(last, place, strict=True)) < (
            LEAST_WAY
        ):
            return
        self._last_place = place
        self.hub.append("path", [[round(place[0], 3), round(place[1], 3), self._state]])

    def on_observation(self, message: Any) -> None:  # noqa: ANN401 - an Observation
        """Take where the world is; a new episode has a new path."""
        episode = int(message.session), int(message.episode)
        if episode != self._path_of:
            if self._path_of:
                self.hub.restart("path")
                self._last_place = None
            self._path_of = episode
        period = float(message.period)
        seconds = period or None
        if seconds != self.context.step_seconds:
            self.context = replace(self.context, step_seconds=seconds)
        self.hub.put(
            "world",
            {
                "episode": episode[1],
                "step": int(message.step),
                "rate": round(1 / period, 2) if period else 0,
                "stopped": message.stopped,
                "ended": bool(message.terminated or message.truncated),
            },
        )

    def on_labels(self, message: Any) -> None:  # noqa: ANN401 - a Labels
        """Take what is true now."""
        true = [name for name, holds in zip(message.names, message.values, strict=False) if holds]
        self.hub.put("labels", true)

    def on_image(self, message: Any) -> None:  # noqa: ANN401 - an Image
        """Take a picture of the world."""
        picture = png(message)
        if picture is not None:
            self.hub.put_image(picture)

    # The mission

    def on_machine_state(self, state: Any) -> None:  # noqa: ANN401 - a MachineState
        """Take where the machine is."""
        goal_id = bytes(state.goal_id.uuid).hex()
        known = self._mission_key[:1] == (goal_id,)
        if state.mission and not known and int(state.states):
            self._take_mission((goal_id, state.mission, "auto", "auto", False, None, ()))
        self._on_events(state)
        self._state = int(state.state)
        if self._state >= 0 and known and (not self._way or self._way[-1] != self._state):
            self._way.append(self._state)
        wanted = list(state.goal.labels) if int(state.goal_index) >= 0 else []
        active = word(PHASES, int(state.phase)) in ("running", "stopped")
        self.world.on_wanted(wanted if active else (), self.context.propositions or ())
        self.hub.put(
            "mission",
            {
                "goal": goal_id,
                "text": state.mission,
                "phase": word(PHASES, int(state.phase)),
                "waiting_for": state.waiting_for,
                "outcome": word(OUTCOMES, int(state.outcome)) if state.outcome else "",
                "reason": state.reason,
                "planner": state.planner,
                "state": self._state,
                "states": int(state.states),
                "target": state.target,
                "constraints": list(state.active_constraints),
                "violated": list(state.violated_constraints),
                "wanted": wanted,
                "value": round(float(state.goal_value), 4),
                "steps": int(state.mission_steps),
                "rounds": int(state.accepted),
            },
        )
        self._show_position()

    def _on_events(self, state: Any) -> None:  # noqa: ANN401 - a MachineState
        """Take which events there are, and which are true; older recordings do not say."""
        events = tuple(getattr(state, "events", ()))
        if events != self.context.events:
            self.context = replace(self.context, events=events)
        true = set(getattr(state, "true_events", ()))
        self.hub.put("events", [{"name": name, "true": name in true} for name in events])

    def on_mission_log(self, entry: Any, at: float) -> None:  # noqa: ANN401 - a MissionLog
        """Take an entry of the mission's log: what was asked for, a move of the machine, the end."""
        goal_id = bytes(entry.goal_id.uuid).hex()
        if int(entry.number) <= self._logged.get(goal_id, -1):
            return
        self._logged[goal_id] = int(entry.number)
        seconds = float(entry.step_seconds) or None
        events = tuple(entry.events)
        options = entry.format or "auto", entry.horizon or "auto", bool(entry.repeat)
        self._take_mission((goal_id, entry.mission, *options, seconds, events))
        at = round(at, 2)
        if entry.kind == BEGAN:
            self._way = [int(entry.state)]
            self._log({"at": at, "kind": "began", "step": 0, "text": entry.mission})
        for move in entry.transitions:
            self._way.append(int(move.to_state))
            self._log_move(move, at)
        del self._way[:-MOST_WAY]
        if entry.kind == ENDED:
            outcome = word(OUTCOMES, int(entry.outcome))
            text = f"{outcome}: {entry.reason}" if entry.reason else outcome
            step = int(entry.mission_steps)
            self._log({"at": at, "kind": "ended", "step": step, "text": text})
        self._show_position()

    def _log_move(self, move: Any, at: float) -> None:  # noqa: ANN401 - a Transition
        labels = frozenset(move.labels)
        source, target = int(move.from_state), int(move.to_state)
        line: dict[str, Any] = {
            "at": at,
            "kind": "accepted" if move.reward > 0 else "moved",
            "step": int(move.step),
            "from": source,
            "to": target,
            "labels": sorted(labels),
        }

        def complete() -> None:
            machine = self._machine
            if machine is not None and max(source, target) < machine.machine.num_states:
                line["from_name"], line["to_name"] = machine.name(source), machine.name(target)
                line["because"] = machine.edge_text(source, labels)
                line["kind"] = machine.kind(target, move.reward)

        self._log(line, complete)

    def _log(self, line: dict[str, Any], complete: Callable[[], None] = lambda: None) -> None:
        """Add a line to the log: in the worker, after the mission's machine, and so in order."""
        number = self._log_number

        def write() -> None:
            if number == self._log_number:  # else the recording is played from elsewhere by now
                complete()
                self.hub.append("log", [line])

        self._worker.submit(write)

    def _take_mission(self, key: tuple[Any, ...]) -> None:
        """Work out the machine of a mission, unless it is the present one."""
        if key == self._mission_key:
            return
        self._mission_key = key
        self._way, self._drawn = [], ()
        _, text, form, horizon, repeat, seconds, events = key
        context, gamma = self.context, self._gamma

        def work() -> None:
            try:
                mission = context.compiled(
                    text,
                    format=form,
                    horizon=horizon,
                    repeat=repeat,
                    step_seconds=seconds or context.step_seconds,
                    events=events,
                )
                view = MachineView(mission, _with_events(context.label_sets, events), gamma)
            except (SkmError, RecursionError, MemoryError) as error:
                self._machine = None
                self.hub.put("machine", {"problem": str(error)})
                return
            self._machine = view
            self.hub.put(
                "formula",
                {
                    "formula": None if mission.formula is None else str(mission.formula),
                    "words": mission.words,
                    "names": list(view.machine.names) if view.machine.num_states < 5000 else [],
                },
            )
            self._draw()

        self._worker.submit(work)

    def on_decision(self, decision: Any) -> None:  # noqa: ANN401 - a Decision
        """Take why the robot does what it does."""
        pursued = next((goal for goal in decision.goals if goal.pursued), None)
        self._next = None
        if pursued is not None and int(pursued.leads_to) != int(decision.state):
            self._next = int(decision.state), int(pursued.leads_to)
        self.hub.put("why", why_document(decision, self._gamma))
        self._show_position()

    def _show_position(self) -> None:
        way = self._way[-MOST_WAY:]
        self.hub.put(
            "position",
            {
                "state": self._state,
                "way": sorted(set(way)),
                "moves": sorted({f"{a}-{b}" for a, b in pairwise(way)}),
                "next": None if self._next is None or self._next[0] != self._state else self._next,
            },
        )
        machine = self._machine
        if machine is not None and machine.folded and self._drawn != (self._state,):
            self._worker.submit(self._draw)

    def _draw(self) -> None:
        """Draw the machine as it is to be seen now; in the worker."""
        machine, state = self._machine, self._state
        if machine is None or (self._drawn == (state,) and machine.folded):
            return
        self._drawn = (state,)
        self.hub.put("machine", machine.drawing(state, self._way[:-1]))

    def whole_machine(self) -> dict[str, Any]:
        """Return the picture of the whole machine; may take a while."""
        if self._machine is None:
            raise SkmError("there is no machine to show")
        return self._machine.sketch()

    # Health

    def on_diagnostics(self, message: Any, namespace: str, at: float) -> None:  # noqa: ANN401
        """Take the health of nodes; at: seconds since 1970."""
        nodes = dict(self.hub.value("health") or {})
        for status in message.status:
            space, _, name = status.name.split(":", maxsplit=1)[0].strip().rpartition("/")
            if space == namespace.rstrip("/"):
                level = status.level
                number = level[0] if isinstance(level, bytes) else int(level)
                nodes[name] = {
                    "level": word(LEVELS, number),
                    "message": status.message,
                    "values": [[pair.key, pair.value] for pair in status.values],
                    "at": round(at, 1),
                }
        self.hub.put("health", nodes)


def _with_events(
    label_sets: tuple[frozenset[str], ...], events: tuple[str, ...]
) -> tuple[frozenset[str], ...]:
    """Return the label sets with every choice of events; none (no restriction) if that is too many."""
    if 2 ** len(events) > MOST_EVENT_SETS:
        return ()
    sets = set(label_sets)
    for event in events:
        sets |= {labels | {event} for labels in sets}
    return tuple(sets)
