"""A recording on the page: play, pause, speed, and any moment of it at once.

Messages of every topic are at hand by time. Playing hands them to the view in order; a jump shows the
newest of each topic at that moment, with the path and the log that led there.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import BEGAN, DELETE_ALL, ENDED, PHASES, word
from skm_web.hub import Hub
from skm_web.views import RunView, robot_place

if TYPE_CHECKING:
    from skm_primitives.recording.files import Recorded, RunFile


TICK_SECONDS: Final = 1 / 20
MOST_PLACES: Final = 4000
"""Places of a path that a jump shows; of longer ones every second, third, …"""
ROUNDING_SECONDS: Final = 1.0
"""By how much a mission's own length may differ from that of its log: messages take their time. Where
it is more, the recording does not hold the mission from its beginning, or holds several."""
SPEEDS: Final = (0.1, 100.0)
PICTURE_SECONDS: Final = 0.5
"""How much later than a state its picture may come."""
HEALTH_MESSAGES: Final = 12
"""The last diagnostics before a moment: those of every node are among them."""
LATEST: Final = ("observation", "labels", "machine_state", "decision", "image")


class Track:
    """The messages of one topic, by seconds from the beginning."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.messages: list[Recorded] = []

    def until(self, moment: float) -> int:
        """Return how many messages there are up to a moment."""
        return bisect_right(self.times, moment)


def time_line(ordered: Sequence[Recorded]) -> tuple[float, float]:
    """Return when a recording begins, in seconds since 1970, and how long it is: its missions alone.

    Latched messages can be hours older than the mission, and a file goes on a little after it. The
    length of one mission is the one that it ended with, as `skm runs` lists it.
    """
    log = [message for message in ordered if message.name == "mission_log"]
    first, last = (log[0], log[-1]) if log else (ordered[0], ordered[-1])
    whole = bool(log) and last.value.kind == ENDED
    length = ((last if whole else ordered[-1]).log_time - first.log_time) / 1e9
    if whole and abs(last.value.seconds - length) < ROUNDING_SECONDS:
        length = float(last.value.seconds)
    return first.log_time / 1e9, length


class Replay:
    """Plays one recording into a hub; a thread of its own keeps the time."""

    def __init__(self, file: RunFile, hub: Hub) -> None:
        if not file.recorded:
            raise SkmError(f"{file.path} holds no messages")
        self.view = RunView(hub)
        self._hub = hub
        self._tracks: defaultdict[str, Track] = defaultdict(Track)
        ordered = sorted(file.recorded, key=lambda message: message.log_time)
        self.began, self.length = time_line(ordered)
        for message in ordered:
            track = self._tracks[message.name]
            # What was said before is there at the beginning, what came after the end at the end.
            since = message.log_time / 1e9 - self.began
            track.times.append(min(max(since, 0.0), self.length))
            track.messages.append(message)
        self._namespace = file.metadata.get("skm.run", {}).get("namespace", "/skm")
        self._lock = threading.RLock()
        self._position, self._speed, self._playing = 0.0, 1.0, False
        self._moves, self._states = self._moves_of_all()
        self._first = self._first_state()
        self._stopped: list[tuple[float, str, str]] | None = None
        """When a mission began or ended to be stopped, which one, and why; empty: it was not."""
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._run, name="replay", daemon=True)
        hub.put("server", {"replay": {"began": self.began, "file": file.path.name}})
        hub.put("controls", {})
        self.seek(0.0)

    # Time

    def start(self) -> None:
        """Begin to keep time; nothing moves before `play`."""
        self._clock.start()

    def stop(self) -> None:
        """Keep time no more."""
        self._over.set()
        if self._clock.is_alive():
            self._clock.join()
        self.view.close()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._over.wait(TICK_SECONDS):
            now = time.monotonic()
            with self._lock:
                if self._playing:
                    self._advance(self._position + self._speed * (now - last))
            last = now

    def _advance(self, position: float) -> None:
        """Play on to a moment; the end pauses."""
        before, self._position = self._position, min(position, self.length)
        self._playing = position < self.length
        due: list[tuple[float, Recorded]] = []
        for name, track in self._tracks.items():
            first, last = track.until(before), track.until(self._position)
            first = max(first, last - 1) if name in LATEST else first
            due += zip(track.times[first:last], track.messages[first:last], strict=True)
        for _, message in sorted(due, key=lambda entry: entry[0]):
            self._take(message)
        self._tell()

    @property
    def at_end(self) -> bool:
        """Whether nothing is left to play."""
        return self._position >= self.length

    def play(self) -> None:
        """Go on, or begin again at the end."""
        with self._lock:
            if self._position >= self.length:
                self.seek(0.0)
            self._playing = True
            self._tell()

    def pause(self) -> None:
        """Hold the time."""
        with self._lock:
            self._playing = False
            self._tell()

    def set_speed(self, speed: float) -> None:
        """Set how many seconds of the recording pass in a second."""
        with self._lock:
            self._speed = min(max(speed, SPEEDS[0]), SPEEDS[1])
            self._tell()

    def seek(self, position: float) -> None:
        """Show a moment of the recording."""
        with self._lock:
            self._position = min(max(position, 0.0), self.length)
            self.view.restart()
            self._show(max(self._position, self._first))
            self._tell()

    def _tell(self) -> None:
        self._hub.put(
            "replay",
            {
                "position": round(self._position, 2),
                "length": math.ceil(100 * self.length)
                / 100,  # who drags it to the end sees the end
                "playing": self._playing,
                "speed": self._speed,
                "moves": self._moves,
            },
        )

    # Messages

    def _show(self, moment: float) -> None:
        """Show the newest of everything at a moment."""
        introduced = self._tracks["primitives_info"]
        for message in introduced.messages[: max(1, introduced.until(moment))][-1:]:
            self._take(message)
        log = self._tracks["mission_log"]
        said = log.messages[: log.until(moment)]
        if said:
            self.view.stood(*self._stops(moment))
        for message in said:
            self._take(message)
        self._show_path(moment)
        for name in LATEST:
            track = self._tracks[name]
            for message in track.messages[: track.until(moment)][-1:]:
                self._take(message)
        health = self._tracks["diagnostics"]
        for message in health.messages[: health.until(moment)][-HEALTH_MESSAGES:]:
            self._take(message)

    def _stops(self, moment: float) -> tuple[str, list[tuple[float, str]]]:
        """Return the mission of a moment, and when and why the robot was stopped in it until then."""
        if self._stopped is None:
            self._stopped, before = [], ("", "")
            for message in self._tracks["machine_state"].messages:
                state = message.value
                reason = state.reason if word(PHASES, int(state.phase)) == "stopped" else ""
                now = bytes(state.goal_id.uuid).hex(), str(reason)
                if now != before:
                    self._stopped.append((message.log_time / 1e9, *now))
                    before = now
        heard = [stop for stop in self._stopped if stop[0] <= self.began + moment]
        goal_id = heard[-1][1] if heard else ""
        return goal_id, [(at, reason) for at, goal, reason in heard if goal == goal_id]

    def _show_path(self, moment: float) -> None:
        """Show the scene at a moment, and the path of the present episode up to it."""
        track = self._tracks["markers"]
        end = track.until(moment) or min(1, len(track.messages))
        # Pictures come a little after the state that they show.
        states, soon = self._tracks["observation"], track.until(moment + PICTURE_SECONDS)
        state = states.messages[: states.until(moment)][-1:]
        while state and end < soon and _shows(track.messages[end], state[0]):
            end += 1
        first = self._episode_began(moment)
        start = max(
            0, track.until(first) - 1
        )  # where the robot stood when it began, and no earlier
        stride = max(1, -(-(end - start) // MOST_PLACES))
        places = []
        for index in range(start, end, stride):
            place = robot_place(track.messages[index].value)
            if place is not None:
                x, y = (round(part, 3) for part in place)
                places.append([x, y, self._state_at(track.times[index])])
        self._hub.restart("path", places)
        complete = end
        while complete > 0:
            complete -= 1
            markers = track.messages[complete].value.markers
            if markers and markers[0].action == DELETE_ALL:
                break
        for message in track.messages[complete:end]:
            self.view.world.on_markers(message.value)

    def _episode_began(self, moment: float) -> float:
        """Return when the episode of a moment began: the mission of that moment, if one is logged."""
        log = self._tracks["mission_log"]
        for index in reversed(range(log.until(moment))):
            if log.messages[index].value.kind == BEGAN:
                return log.times[index]
        return 0.0

    def _moves_of_all(self) -> tuple[list[float], list[tuple[float, int]]]:
        """Return when the machine moved, and the machine's state from each moment on."""
        log = self._tracks["mission_log"]
        moves: list[float] = []
        states: list[tuple[float, int]] = []
        for at, message in zip(log.times, log.messages, strict=True):
            states.append((at, int(message.value.state)))
            if len(message.value.transitions):
                moves.append(math.ceil(1000 * at + 1) / 1000)  # just after it: a jump shows it done
        return moves, states

    def _first_state(self) -> float:
        """Return when the machine first said where it is: the beginning of the time line shows that."""
        track, running = self._tracks["machine_state"], PHASES.index("running")
        said = zip(track.times, track.messages, strict=True)
        found = (at for at, message in said if at > 0 and message.value.phase == running)
        first = next(found, 0.0)
        return first if first < ROUNDING_SECONDS else 0.0

    def _state_at(self, moment: float) -> int:
        index = bisect_right(self._states, (moment + 1e-9, 1 << 30))
        return self._states[index - 1][1] if index else -1

    def _take(self, message: Recorded) -> None:
        view, name = self.view, message.name
        at = message.log_time / 1e9
        if name == "mission_log":
            view.on_mission_log(message.value, at)
        elif name == "diagnostics":
            view.on_diagnostics(message.value, self._namespace, at)
        elif name == "primitives_info":
            view.on_primitives(message.value)
        elif name == "markers":
            view.on_markers(message.value)
        elif name == "machine_state":
            view.on_machine_state(message.value, at)
        elif name in LATEST:
            getattr(view, f"on_{name}")(message.value)

    # Requests

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of a page."""
        kind = request["type"]
        if kind == "play":
            await asyncio.to_thread(self.play)
        elif kind == "pause_replay":
            await asyncio.to_thread(self.pause)
        elif kind == "seek":
            await asyncio.to_thread(self.seek, _number(request, "position"))
        elif kind == "speed":
            await asyncio.to_thread(self.set_speed, _number(request, "speed"))
        elif kind == "machine":
            return {"ok": True, "drawing": await asyncio.to_thread(self.view.whole_machine)}
        else:
            return {"ok": False, "message": "this is a recording: nothing can be told to the robot"}
        return {"ok": True}


def _shows(markers: Recorded, state: Recorded) -> bool:
    """Tell whether markers show a state, or an earlier one, by their stamps; some have none."""
    stamps = [each.header.stamp for each in markers.value.markers[:1]]
    at = state.value.header.stamp
    return any((0, 0) < (stamp.sec, stamp.nanosec) <= (at.sec, at.nanosec) for stamp in stamps)


def _number(request: dict[str, Any], name: str) -> float:
    value = request.get(name)
    if not isinstance(value, int | float) or not abs(value) < 1e12:
        raise SkmError(f"'{name}' is a number")
    return float(value)


def replay_file(path: Path, hub: Hub, *, recover: bool = False) -> Replay:
    """Return the replay of a recording; one without its end is shown as far as it goes."""
    from skm_primitives.recording.files import read_recording  # noqa: PLC0415

    return Replay(read_recording(path, recover=recover), hub)
