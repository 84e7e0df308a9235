"""How close a recorded run came to what was forbidden: in steps of the robot, and in metres.

Steps where the recording holds the world as places with their neighbours; metres where it has scenes.
What is forbidden is asked of the machine, state by state: label sets after which it can only fail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from skm_machine.mission import Mission
from skm_machine.monitor import is_fatal
from skm_primitives.recording.conduct import shown_at
from skm_primitives.recording.findings import Closest
from skm_primitives.recording.introduction import DISCRETE
from skm_primitives.recording.missions import RecordedMission, stamp_of
from skm_primitives.recording.scenes import recorded_scenes
from skm_sim.shapes import Shape, robot_place


def nearest(
    recorded: RecordedMission, mission: Mission, before: Sequence[int]
) -> tuple[Closest | None, Closest | None]:
    """Return the closest in steps and the closest in metres; `before`: machine state by step."""
    forbidden = _Forbidden(mission)
    return _in_steps(recorded, forbidden, before), _in_metres(recorded, forbidden, before)


class _Forbidden:
    """Whether label sets are forbidden in a state of the machine."""

    def __init__(self, mission: Mission) -> None:
        self._machine = mission.machine
        self._known: dict[tuple[int, frozenset[str]], bool] = {}

    def __call__(self, state: int, labels: frozenset[str]) -> bool:
        machine, key = self._machine, (state, labels)
        if key not in self._known:
            over = state in machine.terminal or state in machine.failure
            self._known[key] = not over and is_fatal(machine, machine.step(state, labels))
        return self._known[key]


def _in_steps(
    recorded: RecordedMission, forbidden: _Forbidden, before: Sequence[int]
) -> Closest | None:
    info = recorded.info
    if info is None or info.observation_kind != DISCRETE:
        return None
    shown = shown_at(info)
    places = sorted(shown)
    neighbours = _neighbours(info, places)
    if neighbours is None:
        return None
    ways: dict[int, dict[int, int]] = {}
    best: Closest | None = None
    for entry, state in zip(recorded.states, before, strict=False):
        seen = entry.observation
        if seen is None or seen.kind != DISCRETE:
            continue
        if state not in ways:
            goals = [p for p in places if any(forbidden(state, labels) for labels in shown[p])]
            ways[state] = _distances(goals, neighbours)
        distance = ways[state].get(int(seen.discrete))
        if distance is not None and (best is None or distance < best.distance):
            best = Closest(distance, entry.step, "")
    return best


def _neighbours(info: Any, places: Sequence[int]) -> dict[int, list[int]] | None:  # noqa: ANN401
    """Return the places from which each place is reached in one step."""
    flat = info.state_successors if len(info.state_successors) else info.place_successors
    table = np.asarray(flat, np.int64)
    if not len(places) or table.size != len(places) * int(info.action_count):
        return None
    back: dict[int, list[int]] = {}
    for row, targets in enumerate(table.reshape(len(places), -1)):
        for target in targets:
            if 0 <= target < len(places):
                back.setdefault(places[target], []).append(places[row])
    return back


def _distances(goals: Sequence[int], back: dict[int, list[int]]) -> dict[int, int]:
    distance = dict.fromkeys(goals, 0)
    queue = deque(goals)
    while queue:
        place = queue.popleft()
        for other in back.get(place, ()):
            if other not in distance:
                distance[other] = distance[place] + 1
                queue.append(other)
    return distance


def _in_metres(
    recorded: RecordedMission, forbidden: _Forbidden, before: Sequence[int]
) -> Closest | None:
    scenes = dict(recorded_scenes(recorded.file))
    best: Closest | None = None
    names = frozenset(recorded.propositions)
    for entry, state in zip(recorded.states, before, strict=False):
        if entry.observation is None:
            continue
        scene = scenes.get(stamp_of(entry.observation.header))
        robot = None if scene is None else robot_place(scene)
        if scene is None or robot is None:
            continue
        for shape in scene:
            words = frozenset(shape.group.replace("_", " ").split()) | {shape.group}
            if shape.kind != "text" and forbidden(state, words & names) and words & names:
                distance = distance_to(shape, robot)
                if best is None or distance < best.distance:
                    best = Closest(distance, entry.step, shape.group)
    return best


def distance_to(shape: Shape, point: tuple[float, float]) -> float:
    """Return how far a point is from a shape, seen from above; 0 inside."""
    across, up = point[0] - shape.position[0], point[1] - shape.position[1]
    cosine, sine = np.cos(shape.heading), np.sin(shape.heading)
    x, y = across * cosine + up * sine, up * cosine - across * sine
    if shape.kind in ("sphere", "cylinder"):
        return max(0.0, float(np.hypot(x, y)) - shape.size[0] / 2)
    beyond = max(0.0, abs(x) - shape.size[0] / 2), max(0.0, abs(y) - shape.size[1] / 2)
    return float(np.hypot(*beyond))
