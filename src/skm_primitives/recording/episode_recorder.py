"""Recording a run in process: the same file that the recorder node writes, with no ROS.

Messages carry the world's own time, counted from when the run began: a run that takes a second of
computing is replayed at the pace of its world.
"""

from __future__ import annotations

import math
import platform
import secrets
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

from skm_machine.tracker import Status
from skm_machine.version import __version__
from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.narration import RunNarrator
from skm_primitives.execution.phrases import chosen_language
from skm_primitives.recording.cdr import (
    BEGAN,
    CONTINUOUS,
    DISCRETE,
    ENDED,
    LITTLE_ENDIAN,
    OUTCOMES,
    PHASES,
    STOP,
    WENT_ON,
    RecordingError,
    codec_of,
)
from skm_primitives.recording.files import RunFile, RunWriter, goal_id, stamp_of
from skm_primitives.recording.introduction import (
    goal_fields,
    introduction,
    observation_fields,
    observation_kind,
)
from skm_sim.scene import Shape, scene_of
from skm_sim.spec import DomainSpec

# What an entry of a mission's log begins with, read from its bytes: for code that keeps it as it
# is.


KIND: Final = "skm/MissionLog"
_FRAME: Final = struct.Struct(f"<{len(LITTLE_ENDIAN)}x8xI")
"""The header's stamp, and how long the name of its frame is."""
_ID_BYTES: Final = 16


def entry_head(data: bytes) -> tuple[str, int]:
    """Return the mission's id, as hexadecimal digits, and the entry's kind; the rest is not read."""
    if not data.startswith(LITTLE_ENDIAN):
        entry = codec_of(KIND).decode(data)
        return goal_id(entry), int(entry.kind)
    try:
        first = _FRAME.size + _FRAME.unpack_from(data)[0]
        number = -(-(first + _ID_BYTES) // 4) * 4
        return data[first : first + _ID_BYTES].hex(), data[number + 4]
    except (struct.error, IndexError) as error:
        raise RecordingError(f"a {KIND} cannot be read: {error}") from error


# Scenes ⇄ markers: what a 3D view shows of the world, as a recording has it.
#
# Works on markers as they are recorded and as ROS delivers them: both have the same fields.


KINDS: Final = {"arrow": 0, "cube": 1, "sphere": 2, "cylinder": 3, "text": 9}
"""Constants of visualization_msgs/Marker."""
_KIND_OF: Final = {number: kind for kind, number in KINDS.items()}
ADD, DELETE, DELETEALL = 0, 2, 3


def shape_of(marker: Any) -> Shape | None:  # noqa: ANN401 - a marker, from wherever
    """Return the shape that a marker shows; None for kinds that no scene has."""
    if marker.action != ADD or marker.type not in _KIND_OF:
        return None
    pose, scale, colour = marker.pose, marker.scale, marker.color
    return Shape(
        group=marker.ns,
        kind=_KIND_OF[marker.type],  # type: ignore[arg-type]
        position=(pose.position.x, pose.position.y, pose.position.z),
        size=(scale.x, scale.y, scale.z),
        colour=(colour.r, colour.g, colour.b, colour.a),
        heading=2 * math.atan2(pose.orientation.z, pose.orientation.w),
        text=marker.text,
    )


def marker_fields(shape: Shape, number: int, header: dict[str, Any]) -> dict[str, Any]:
    """Return a shape as the fields of a marker."""
    half = shape.heading / 2
    return {
        "header": header,
        "ns": shape.group,
        "id": number,
        "type": KINDS[shape.kind],
        "pose": {
            "position": dict(zip("xyz", map(float, shape.position), strict=True)),
            "orientation": {"z": math.sin(half), "w": math.cos(half)},
        },
        "scale": dict(zip("xyz", map(float, shape.size), strict=True)),
        "color": dict(zip("rgba", map(float, shape.colour), strict=True)),
        "text": shape.text,
    }


def changed_markers(
    before: Sequence[Shape] | None, now: Sequence[Shape], header: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the markers that lead from one scene to the next; a first scene is complete."""
    if before is None:
        clear = {"header": header, "action": DELETEALL}
        return [clear, *(marker_fields(shape, n, header) for n, shape in enumerate(now))]
    changed: list[dict[str, Any]] = []
    for number, old in enumerate(before):
        if number >= len(now) or now[number].group != old.group:
            changed.append({"header": header, "ns": old.group, "id": number, "action": DELETE})
    for number, shape in enumerate(now):
        if number >= len(before) or before[number] != shape:
            changed.append(marker_fields(shape, number, header))
    return changed


class SceneReader:
    """The scene as it stands after all sets of markers so far."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, int], Shape] = {}

    def take(self, markers: Sequence[Any]) -> list[Shape]:
        """Take a set of markers; return the scene."""
        for marker in markers:
            name = str(marker.ns), int(marker.id)
            if marker.action == DELETEALL:
                self._shapes.clear()
            elif marker.action == DELETE:
                self._shapes.pop(name, None)
            elif (shape := shape_of(marker)) is not None:
                self._shapes[name] = shape
        return [self._shapes[name] for name in sorted(self._shapes, key=lambda entry: entry[1])]


def recorded_scenes(file: RunFile) -> Iterator[tuple[int, list[Shape]]]:
    """Yield the scenes of a recording in order, each with the stamp that its markers carry, in ns."""
    reader = SceneReader()
    for message in sorted(file.messages("markers"), key=lambda message: message.publish_time):
        markers = message.value.markers
        scene = reader.take(markers)
        if markers:
            # The robot is the last to get a new stamp: a bridge moves it and leaves the rest as it is.
            yield max(stamp_of(marker.header) for marker in markers), scene


NAMESPACE: Final = "/skm"
FORMAT: Final = "1"
STEP_SECONDS: Final = 0.1
"""The pace of worlds that have no clock."""
IDLE, RUNNING = PHASES.index("idle"), PHASES.index("running")


def run_metadata(source: str, namespace: str, **more: str) -> dict[str, str]:
    """Return what every recording says first: the record `skm.run`."""
    return {
        "format": FORMAT,
        "skm": __version__,
        "python": platform.python_version(),
        "source": source,
        "namespace": namespace,
        "host": socket.gethostname(),
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **more,
    }


class EpisodeRecorder:
    """Takes part in `run_episode`, and writes the file from the first state to the outcome."""

    def __init__(
        self,
        path: Path,
        spec: DomainSpec,
        env: gymnasium.Env[Any, Any],
        *,
        options: Mapping[str, object],
        checkpoint: str = "",
        format: str = "auto",
        horizon: str = "auto",
        repeat: bool = False,
        planner: str = "product",
        events: tuple[str, ...] = (),
        overwrite: bool = False,
    ) -> None:
        self._overwrite = overwrite
        self._path, self._options = path, dict(options)
        self._spec, self._env = spec, env
        self._checkpoint = checkpoint
        self._kind = observation_kind(env.observation_space)
        self._session = secrets.randbits(63) + 1
        self._goal_id = {"uuid": secrets.token_bytes(16)}
        self._began = self._last = time.time_ns()
        self._pace = round(1e9 * (spec.step_seconds or STEP_SECONDS))
        self._scene: list[Shape] | None = None
        self._numbers = 0
        self._moves = 0
        self._true_events: frozenset[str] = frozenset()
        self._text: MissionText | None = None
        self._events = events
        self._ended = (False, False)
        self._asked: dict[str, Any] = {
            "format": format,
            "horizon": horizon,
            "repeat": repeat,
            "planner": planner,
            "events": list(events),
            "domain": spec.name,
            "step_seconds": spec.step_seconds or 0.0,
        }

    # What `run_episode` tells

    def begin(self, run: MissionRun, observation: Any, labels: frozenset[str]) -> None:  # noqa: ANN401
        """Open the file; take the first state."""
        self._writer = RunWriter(self._path, overwrite=self._overwrite)
        self._writer.metadata("skm.run", run_metadata("process", NAMESPACE))
        self._writer.metadata(
            "skm.parameters", {f"run.{key}": value for key, value in self._options.items()}
        )
        primitives: Any = run.skills
        limit = run.max_steps if run.max_steps < 1 << 62 else 0
        self._asked |= {
            "mission": run.policy.mission.text,
            "digest": primitives.digest,
            "max_steps": limit,
            "shield": run.shield is not None,
        }
        about = {**self._asked, "events": ",".join(self._events), "checkpoint": self._checkpoint}
        self._writer.metadata(
            "skm.mission", {**about, "max_seconds": 0.0, "goal_id": self._goal_id["uuid"].hex()}
        )
        fields = introduction(primitives, self._checkpoint, self._env.observation_space)
        self._write(
            "primitives_info", "skm/PrimitivesInfo", {"header": self._header(0), **fields}, 0
        )
        self._true_events = labels.intersection(self._events)
        self._narrator = RunNarrator(run, lambda: self._spec.step_seconds or 0.0, chosen_language())
        self._log(run, BEGAN)
        self._state(run, observation, labels)

    def decided(self, run: MissionRun, action: Any) -> None:  # noqa: ANN401
        """Take what is about to be done in the present state."""
        step = run.tracker.steps
        self._machine_state(run, RUNNING)
        if isinstance(action, np.ndarray) and action.ndim:
            taken = {"kind": CONTINUOUS, "continuous": action.ravel()}
        else:
            taken = {"kind": DISCRETE, "discrete": int(action)}
        self._write("action", "skm/Action", {**self._head(step), **taken}, step)

    def entered(
        self,
        run: MissionRun,
        observation: Any,  # noqa: ANN401
        labels: frozenset[str],
        *,
        moved: bool,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Take the state that a step has led to."""
        self._ended = terminated, truncated
        self._state(run, observation, labels)
        events = labels.intersection(self._events)
        if moved or events != self._true_events:
            self._true_events = events
            self._log(run, WENT_ON)

    def end(self, run: MissionRun, outcome: str, reason: str = "") -> None:
        """Take the end of the mission: the robot is stopped, the file is closed."""
        step = run.tracker.steps
        self._write("action", "skm/Action", {**self._head(step), "kind": STOP}, step)
        if outcome == "world ended":
            outcome, reason = "failed", reason or "the world ended before the mission did"
        elif run.blocked and run.tracker.status is Status.RUNNING:
            outcome = "failed"
            reason = "stopped by the shield: whatever is done, the mission fails"
        seconds = step * self._pace / 1e9
        self._log(run, ENDED, outcome=outcome, reason=reason, seconds=seconds)
        self._machine_state(run, IDLE, outcome, reason)
        self._writer.metadata(
            "skm.outcome",
            {
                "outcome": outcome,
                "reason": reason,
                "steps": step,
                "accepted": run.tracker.accepting_visits,
                "seconds": seconds,
            },
        )
        self._writer.close()

    # Messages

    def _header(self, step: int, frame: str = "base_link") -> dict[str, Any]:
        seconds, rest = divmod(step * self._pace, 1_000_000_000)
        return {"stamp": {"sec": seconds, "nanosec": rest}, "frame_id": frame}

    def _head(self, step: int) -> dict[str, Any]:
        key = {"session": self._session, "episode": 1, "step": step}
        return {"header": self._header(step), **key}

    def _write(self, topic: str, kind: str, value: dict[str, Any], step: int) -> None:
        # The messages of one step a nanosecond apart, so that sorting by time keeps their order.
        self._last = max(self._began + step * self._pace, self._last + 1)
        self._writer.encode(f"{NAMESPACE}/{topic}", kind, value, self._last)

    def _state(self, run: MissionRun, observation: Any, labels: frozenset[str]) -> None:  # noqa: ANN401
        step, head = run.tracker.steps, self._head(run.tracker.steps)
        names = list(self._spec.propositions)
        message = {"names": names, "values": [name in labels for name in names]}
        self._write("labels", "skm/Labels", {**head, **message}, step)
        terminated, truncated = self._ended
        seen = observation_fields(self._kind, observation)
        state = {**head, "terminated": terminated, "truncated": truncated, **seen}
        self._write("observation", "skm/Observation", state, step)
        scene = list(scene_of(self._spec, self._env))
        if scene:
            markers = changed_markers(self._scene, scene, self._header(step, "map"))
            self._scene = scene
            self._write("markers", "visualization_msgs/MarkerArray", {"markers": markers}, step)

    def _log(
        self,
        run: MissionRun,
        kind: int,
        *,
        outcome: str = "unknown",
        reason: str = "",
        seconds: float = 0.0,
    ) -> None:
        tracker, step = run.tracker, run.tracker.steps
        moves = [
            {
                "step": move.step,
                "from_state": move.source,
                "to_state": move.target,
                "labels": sorted(move.labels),
                "reward": float(move.reward),
            }
            for move in tracker.transitions_since(self._moves)
        ]
        self._moves = tracker.moves
        entry = {
            **self._head(step),
            **self._asked,
            "goal_id": self._goal_id,
            "number": self._numbers,
            "kind": kind,
            "true_events": sorted(self._true_events),
            "mission_steps": step,
            "state": tracker.state,
            "states": run.machine.num_states,
            "accepted": tracker.accepting_visits,
            "transitions": moves,
            "outcome": OUTCOMES.index(outcome),
            "reason": reason,
            "seconds": seconds,
        }
        self._numbers += 1
        self._write("mission_log", "skm/MissionLog", entry, step)

    def _words(self, outcome: str) -> str:
        if outcome == "unknown":
            return self._narrator.where
        return self._narrator.ended(outcome)

    def _machine_state(
        self, run: MissionRun, phase: int, outcome: str = "unknown", reason: str = ""
    ) -> None:
        tracker, step = run.tracker, run.tracker.steps
        if self._text is None:
            self._text = MissionText(run)
        target, constraints = self._text.target, list(self._text.active_constraints)
        state: dict[str, Any] = {
            **self._head(step),
            "phase": phase,
            "goal_id": self._goal_id,
            "mission": self._asked["mission"],
            "planner": self._asked["planner"],
            "outcome": OUTCOMES.index(outcome),
            "reason": reason,
            "state": tracker.state,
            "states": run.machine.num_states,
            "words": self._words(outcome),
            "target": target,
            "active_constraints": constraints,
            "violated_constraints": sorted(tracker.violated),
            "mission_steps": step,
            "accepted": tracker.accepting_visits,
            "events": list(self._events),
            "true_events": sorted(self._true_events),
        }
        if run.goal >= 0:
            state |= {"goal_index": run.goal, "goal_value": run.goal_value}
            state["goal_steps"] = self._narrator.steps or 0
            state["goal"] = goal_fields(run.skills.goals[run.goal])
        self._write("machine_state", "skm/MachineState", state, step)
