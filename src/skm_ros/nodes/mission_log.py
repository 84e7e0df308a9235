"""The log of a mission on the topic `mission_log`: what is needed to judge it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from builtin_interfaces.msg import Time
from skm.msg import MissionLog

from skm_machine.logic.timed import NANOSECONDS
from skm_ros.conversions import transition_message
from skm_ros.nodes.mission_interface import MissionNode, MissionView
from skm_ros.nodes.state_stream import Key


class _About(NamedTuple):
    """What the log says of a whole mission besides its goal."""

    shield: bool
    step_seconds: float


class MissionLogger:
    """Writes the log of one mission: `began`, then `entered` for every state, then `ended`."""

    def __init__(self, node: MissionNode, execution: MissionView) -> None:
        self._node, self._execution = node, execution
        self._entry = MissionLog()
        """The last entry; what holds for the whole mission stays in it."""
        self._moves = 0
        """The moves of the machine that were logged."""
        self._true: frozenset[str] = frozenset()
        self._about = _About(False, 0.0)

    def began(self, key: Key, events: frozenset[str], shield: bool, step_seconds: float) -> None:
        """Take the state in which the mission begins."""
        self._about = _About(shield, step_seconds)
        self._true = events
        self._moves = 0
        self._publish(MissionLog.BEGAN, key)

    def entered(self, key: Key, events: frozenset[str], moved: bool) -> None:
        """Take the next state; it is logged if the machine moved, or events changed."""
        if moved or events != self._true:
            self._true = events
            self._publish(MissionLog.WENT_ON, key)

    @property
    def stand(self) -> dict[str, int]:
        """What the next entry says of itself: its number, and the moves that were said before it."""
        return {"number": int(self._entry.number), "moves": self._moves}

    def restore(self, shield: bool, step_seconds: float, said: Mapping[str, int]) -> None:
        """Go on after a restart of this node; `said` is the `stand` of before."""
        self._about = _About(shield, step_seconds)
        self._entry.number, self._moves = max(1, int(said["number"])), int(said["moves"])

    def resumed(self, key: Key, events: frozenset[str]) -> None:
        """Take the state with which the mission goes on after a restart, of this node or of another."""
        self._true = events
        self._publish(MissionLog.RESUMED, key)

    def went_on(self, key: Key) -> None:
        """Take note that the machine moved while the state lasts: the clock moved it."""
        self._publish(MissionLog.WENT_ON, key)

    def ended(self, seconds: float) -> None:
        """Take the end of the mission."""
        steps = self._execution.steps
        self._publish(MissionLog.ENDED, (0, 0, 0) if steps is None else steps.state.key, seconds)

    def _publish(self, kind: int, key: Key, seconds: float = 0.0) -> None:
        execution, entry = self._execution, self._entry
        run = execution.run
        if kind != MissionLog.WENT_ON:
            self._fill_in(entry)
        entry.header.stamp = self._stamp()
        entry.kind, entry.seconds = kind, seconds
        entry.transitions = []
        if run is not None and execution.steps is not None:
            tracker = run.tracker
            entry.session, entry.episode, entry.step = key
            entry.true_events = sorted(self._true)
            entry.mission_steps, entry.accepted = tracker.steps, tracker.accepting_visits
            entry.state = tracker.state
            moves = tracker.transitions_since(self._moves)
            entry.transitions = [transition_message(move) for move in moves]
            self._moves = tracker.moves
        self._node.publish_log(entry)
        entry.number += 1

    def _stamp(self) -> Time:
        """Return how late it is in the world: bounds in seconds are judged by that clock."""
        steps = self._execution.steps
        if steps is None:
            now: Time = self._node.get_clock().now().to_msg()
            return now
        seconds, nanoseconds = divmod(steps.stamp, NANOSECONDS)
        return Time(sec=seconds, nanosec=nanoseconds)

    def _fill_in(self, entry: MissionLog) -> None:
        """Say what changes at the beginning of the mission and at its end only."""
        execution, goal, run = self._execution, self._execution.goal, self._execution.run
        entry.goal_id = execution.handle.goal_id
        entry.mission, entry.format, entry.horizon = goal.mission, goal.format, goal.horizon
        entry.planner, entry.repeat = execution.planner, goal.repeat
        entry.max_seconds = goal.max_seconds
        entry.events = list(self._node.events.names)
        if execution.skills is not None:
            entry.domain, entry.digest = execution.skills.domain, execution.skills.digest
        entry.outcome, entry.reason = execution.outcome, execution.reason
        if run is not None:
            entry.max_steps = execution.step_limit
        if run is not None and execution.steps is not None:
            entry.shield = self._about.shield
            entry.step_seconds = float(self._about.step_seconds)
            entry.states = run.machine.num_states
