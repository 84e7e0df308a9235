"""Recording a mission's run from the topics that anyone can hear: `markers` and `observation`."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from typing import Any, Final

from skm.action import ExecuteMission
from skm.msg import MachineState, Observation, PrimitivesInfo
from visualization_msgs.msg import Marker, MarkerArray

from skm_machine import compile_mission
from skm_machine.tracker import Transition
from skm_primitives.figures.run import Place, RecordedRun, save_run
from skm_ros import qos
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES
from skm_ros.markers import scene_of
from skm_ros.step_time import step_seconds
from skm_sim.scene import WAY

SETTLE_SECONDS: Final = 5.0
"""How long to wait for the markers of the mission's last state."""
NO_STEPS: Final = "no step was taken"
NO_MARKERS: Final = (
    "no markers showed the robot: its domain has no `scene()`, or the simulator was started without "
    "--render markers --render-rate 0"
)
KEPT_SCENES: Final = 100
"""The world in as many of the latest states is at hand for the end of a run."""
Key = tuple[int, int, int]
SceneObject = tuple[str, float, float]
"""An object in a scene: its group, x and y."""


class Recording:
    """Notes where the robot is at every state of the world, from when it is made."""

    def __init__(self, client: RosClient) -> None:
        self._client = client
        self._key_at: dict[int, Key] = {}
        self._place_at: dict[int, tuple[float, float]] = {}
        """States and places that wait for each other, by their stamp."""
        self._places: dict[Key, tuple[float, float]] = {}
        self._scenes: deque[tuple[int, MarkerArray]] = deque(maxlen=KEPT_SCENES)
        self._objects: dict[SceneObject, Marker] = {}
        self._gone: dict[int, list[Marker]] = {}
        """What had been where it was in the markers before, and is there no more, by their stamp."""
        self._stamps: dict[Key, int] = {}
        self._primitives: PrimitivesInfo | None = None
        self._began: Key | None = None
        self._period = 0.0
        node = client.node
        node.create_subscription(Observation, "observation", self._on_observation, qos.STATE)
        node.create_subscription(MarkerArray, "markers", self._on_markers, qos.MARKERS)
        node.create_subscription(
            PrimitivesInfo, "primitives_info", self._on_primitives, qos.LATCHED
        )

    def note(self, machine: MachineState) -> None:
        """Take what the mission's feedback says about where in the world it began."""
        if machine.phase == MachineState.RUNNING:
            step = int(machine.step) - int(machine.mission_steps)
            self._began = int(machine.session), int(machine.episode), step

    def run(self, goal: ExecuteMission.Goal, result: ExecuteMission.Result) -> RecordedRun | None:
        """Return the run of a mission that has ended, or None if no markers show it."""
        if self._began is None or not result.steps:
            return None
        session, episode, first = self._began
        last = session, episode, first + int(result.steps)
        self._client.spin_until(
            lambda: last in self._places and self._primitives is not None, SETTLE_SECONDS
        )
        path = [
            Place(step - first, *self._places[session, episode, step])
            for step in range(first, last[2] + 1)
            if (session, episode, step) in self._places
        ]
        if not path or self._primitives is None:
            return None
        stamps = [self._stamps[session, episode, first + place.step] for place in path]
        gone = [marker for stamp in stamps[1:] for marker in self._gone.get(stamp, ())]
        end = stamps[-1]
        scene = min(self._scenes, key=lambda entry: abs(entry[0] - end))[1]
        return RecordedRun(
            mission=compile_mission(
                goal.mission,
                format=goal.format or "auto",
                propositions=tuple(self._primitives.propositions),
                repeat=goal.repeat,
                horizon=goal.horizon or "auto",
                step_seconds=step_seconds(self._period, self._primitives.domain),
                clock=True,
                parts="if large" if len(self._primitives.state_successors) else None,
            ),
            gamma=self._primitives.gamma,
            outcome=OUTCOMES[result.outcome],
            steps=int(result.steps),
            scene=[shape for shape in scene_of(scene) if shape.group != WAY],
            path=path,
            moves=[
                Transition(
                    move.step, move.from_state, move.to_state, frozenset(move.labels), move.reward
                )
                for move in result.transitions
            ],
            label_sets={frozenset(goal.labels) for goal in self._primitives.goals},
            gone=scene_of(MarkerArray(markers=gone)),
        )

    def save(
        self, goal: ExecuteMission.Goal, result: ExecuteMission.Result, path: Path
    ) -> list[str]:
        """Draw the run of a mission that has ended; return the files, none if there is nothing."""
        run = self.run(goal, result)
        if run is None:
            print(f"skm: no picture: {NO_MARKERS if result.steps else NO_STEPS}", file=sys.stderr)
            return []
        return save_run(run, path)

    def _on_primitives(self, message: PrimitivesInfo) -> None:
        self._primitives = message

    def _on_observation(self, message: Observation) -> None:
        self._period = float(message.period)
        stamp = _nanoseconds(message.header.stamp)
        self._key_at[stamp] = int(message.session), int(message.episode), int(message.step)
        self._join(stamp)

    def _on_markers(self, message: MarkerArray) -> None:
        robot = next((marker for marker in message.markers if marker.ns == "robot"), None)
        if robot is not None:
            stamp = _nanoseconds(robot.header.stamp)
            self._place_at[stamp] = robot.pose.position.x, robot.pose.position.y
            self._scenes.append((stamp, message))
            self._compare(message, stamp)
            self._join(stamp)

    def _compare(self, message: MarkerArray, stamp: int) -> None:
        """Note what is no longer where it was; the robot, its planned way, and names are not meant."""
        before = self._objects
        self._objects = {
            (marker.ns, marker.pose.position.x, marker.pose.position.y): marker
            for marker in message.markers
            if marker.ns not in ("robot", WAY) and marker.type != Marker.TEXT_VIEW_FACING
        }
        gone = [marker for shape, marker in before.items() if shape not in self._objects]
        if gone:
            self._gone[stamp] = gone

    def _join(self, stamp: int) -> None:
        if stamp in self._key_at and stamp in self._place_at:
            key = self._key_at[stamp]
            self._places[key] = self._place_at.pop(stamp)
            self._stamps[key] = stamp


def _nanoseconds(stamp: Any) -> int:  # noqa: ANN401 - builtin_interfaces/Time
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
