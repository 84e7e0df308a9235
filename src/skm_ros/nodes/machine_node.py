"""The skill-machine node: carries out missions with the learned skills.

Relative to its namespace (/skm):
    offers      execute_mission (skm/ExecuteMission), an action
                set_event (skm/SetEvent), a service that answers when the mission has taken the event
    subscribes  observation (skm/Observation), labels (skm/Labels), primitives_info (skm/PrimitivesInfo)
                event/NAME (std_msgs/Bool) for each name of the parameter `events`
                any topic that the file of the parameter `labels` names: see `signal_topics`
                set_place (skm/SetPlace), a service that takes places out of service: see `robot_peer`
                edit_queue, pause_mission, resume_mission, topic mission_queue: see `mission_queue`
    uses        query (skm/QueryValues) of the primitives; reset (skm/Reset) of the simulator
    publishes   action (skm/Action); a stop is always the last one of a mission
                machine_state (skm/MachineState), latched
                mission_log (skm/MissionLog), latched: all that is needed to judge a mission again
                decision (skm/Decision), latched: why, while somebody listens
                /diagnostics (diagnostic_msgs/DiagnosticArray)

Nothing is done before the peers are there, whichever starts first: until the primitives have introduced
themselves and the simulator, or the robot's bridge, has shown a state, the phase is WAITING. A goal that
comes earlier waits for them, for `peer_timeout` at most.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
from action_msgs.msg import GoalInfo
from builtin_interfaces.msg import Duration, Time
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from skm.action import ExecuteMission
from skm.msg import Action, Goal, Labels, MachineState, MissionLog, Observation
from skm.srv import QueryValues, Reset, SetEvent
from std_msgs.msg import Bool

from skm_machine.errors import (
    MOST_QUOTED,
    MOST_TEXT,
    SkmError,
    UnachievableMissionError,
    concise,
    did_you_mean,
)
from skm_machine.events import EventScript, check_events
from skm_machine.factored import FactoredMachine
from skm_machine.logic.printer import labels_text
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission, compile_mission
from skm_machine.tracker import Status
from skm_primitives.execution.closed_places import state_folder
from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.joining import joined_text
from skm_primitives.execution.kept_missions import KeptMissions
from skm_primitives.execution.mission_run import MissionRun, usual_limit
from skm_primitives.execution.narration import RunNarrator
from skm_primitives.execution.phrases import LANGUAGES
from skm_primitives.execution.replanning import Plan, closed_reason, known_cells, plan_from
from skm_primitives.planning.large_mission_policy import AGAIN_SECONDS, LargeMissionPolicy
from skm_primitives.planning.planners import (
    FORMER_NAMES,
    make_policy,
    parts_for,
    planner_names,
)
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.policy import Decision, Expectation
from skm_primitives.planning.shield import make_shield
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import RemoteSkills
from skm_ros import qos
from skm_ros.conversions import (
    OUTCOMES,
    fill_action,
    fill_stop,
    goal_message,
    needed_parts,
    transition_message,
    values_reader,
)
from skm_ros.event_inbox import Effect, EventInbox
from skm_ros.nodes.decision_topic import DecisionTopic
from skm_ros.nodes.mission_queue import MOST_WAITING, Entry, MissionQueue
from skm_ros.nodes.mission_queue import SETTING as RESUME
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.primitives_peer import PrimitivesPeer
from skm_ros.nodes.robot_peer import SETTINGS as ROBOT_SETTINGS
from skm_ros.nodes.robot_peer import RobotPeer
from skm_ros.nodes.signal_topics import SETTING as LABELS
from skm_ros.nodes.signal_topics import SignalTopics, events_in
from skm_ros.nodes.skm_node import OK, WARN, Setting, SkmNode
from skm_ros.nodes.state_stream import Key, StateStream, WorldState
from skm_ros.step_time import StepTimes, step_seconds
from skm_sim.robots.command_gate import is_by_person

# Events over ROS: propositions that the robot does not control, set by a service or on topics.
#
# The service `set_event` answers once the mission has taken the change into one of its states,
# with that state, or says why it will not: what was answered so is never lost. A sensor says on
# the topic `event/NAME` whether its condition holds, latched or again and again.


SETTING: Final = Setting(
    "events",
    "",
    "propositions that the robot does not control, as names with commas; the service set_event sets "
    "each, and the topic event/NAME (std_msgs/Bool) for sensors",
    fixed=True,
)
MOST_STAMPS: Final = 1000


class MissionEvents(EventInbox):
    """The events of a node's parameter, with their service and topics."""

    def __init__(self, node: MachineNode) -> None:
        self._node = node
        by_hand = EventScript(node.setting("events")).names
        self.signals = SignalTopics(node, events_in(node.setting("labels")), self.note)
        super().__init__(tuple(dict.fromkeys((*by_hand, *self.signals.names))))
        node.create_service(
            SetEvent,
            "set_event",
            self._on_set,
            qos_profile=qos.REQUESTS,
            callback_group=node.low_priority,
        )
        for name in by_hand:
            _Sensor(node, name, self)

    def note(self, name: str, value: bool) -> None:
        """Take a change that nobody waits for; between missions everyone is told at once."""
        before = self.true
        super().note(name, value)
        if self.true != before:
            self._node.publish_machine_state()

    async def _on_set(
        self, request: SetEvent.Request, response: SetEvent.Response
    ) -> SetEvent.Response:
        name = request.name
        if name not in self.names:
            response.message = self._unknown(name)
            return response
        effect: Future = Future()
        self.ask(name, request.value, effect.set_result)
        found: Any = await effect
        if isinstance(found, Effect):
            response.success = True
            response.session, response.episode, response.step = found.key
            response.mission_steps = found.mission_steps
        else:
            response.message = found
        return response

    def _unknown(self, name: str) -> str:
        quoted = f"'{name[:100]}' is not an event of this machine"
        if not self.names:
            return f"{quoted}: its parameter `events` names none"
        return f"{quoted}{did_you_mean(name[:100], self.names)}"


class _Sensor:
    """The topic of one event, `event/NAME`.

    A subscription that asks for latched messages does not hear publishers that do not latch, and one
    that does not ask gets none of before its time. So there are two, and what comes by both counts once.
    """

    def __init__(self, node: MachineNode, name: str, inbox: EventInbox) -> None:
        self._note = partial(inbox.note, name)
        self._newest = 0
        """When the newest message was sent that came live."""
        self._early: deque[int] = deque(maxlen=MOST_STAMPS)
        """When those were sent that came latched, before they came live, if they did."""
        topic = f"event/{name}"
        node.create_subscription(
            Bool,
            topic,
            self._on_latched,
            qos.LATCHED_EVENT,
            with_info=True,
            callback_group=node.low_priority,
        )
        # The second, since the node warns of publishers that do not fit the last one: all do.
        node.create_subscription(Bool, topic, self._on_live, qos.EVENT, with_info=True)

    def _on_live(self, message: Bool, info: dict[str, int]) -> None:
        sent = info["source_timestamp"]
        self._newest = max(self._newest, sent)
        if sent not in self._early:
            self._note(message.data)

    def _on_latched(self, message: Bool, info: dict[str, int]) -> None:
        sent = info["source_timestamp"]
        if sent > self._newest:  # else it came live, or is older than what did
            self._early.append(sent)
            self._note(message.data)


# The log of a mission on the topic `mission_log`: what is needed to judge it again.


class _About(NamedTuple):
    """What the log says of a whole mission besides its goal."""

    shield: bool
    step_seconds: float


class MissionLogger:
    """Writes the log of one mission: `began`, then `entered` for every state, then `ended`."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
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
        node, run = execution.node, execution.run
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
        node.publish_log(entry)
        entry.number += 1

    def _stamp(self) -> Time:
        """Return how late it is in the world: bounds in seconds are judged by that clock."""
        steps = self._execution.steps
        if steps is None:
            now: Time = self._execution.node.get_clock().now().to_msg()
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
        entry.events = list(execution.node.events.names)
        if execution.skills is not None:
            entry.domain, entry.digest = execution.skills.domain, execution.skills.digest
        entry.outcome, entry.reason = execution.outcome, execution.reason
        if run is not None:
            entry.max_steps = execution.step_limit
        if run is not None and execution.steps is not None:
            entry.shield = self._about.shield
            entry.step_seconds = float(self._about.step_seconds)
            entry.states = run.machine.num_states


# What the machine node says about a mission: its result, and its part of the machine state.


Result = ExecuteMission.Result
NO_GOAL: Final = Goal()
said_of = lru_cache(maxsize=256)(goal_message)
"""A goal as a message, not to be changed: the few that a patrol is after come again and again."""


def mission_result(execution: Execution) -> ExecuteMission.Result:
    """Return the result of a mission that has just ended."""
    result = Result(outcome=execution.outcome, reason=execution.reason, words=execution.words)
    if execution.outcome not in (Result.ACCEPTED, Result.SATISFIED_SO_FAR, Result.CANCELLED):
        result.error_code = Result.ERROR_OFFSET + execution.outcome
        result.error_msg = execution.reason
    if execution.steps is not None:
        tracker = execution.steps.run.tracker
        result.steps, result.accepted = tracker.steps, tracker.accepting_visits
        result.seconds = time.monotonic() - execution.began_at
        kept = tracker.transitions[-Result.MAX_TRANSITIONS :]
        result.transitions = [transition_message(step) for step in kept]
        result.dropped_transitions = tracker.moves - len(kept)
    return result


def duration(seconds: float) -> Duration:
    """Return seconds as a message."""
    whole = int(seconds)
    return Duration(sec=whole, nanosec=int((seconds - whole) * NANOSECONDS))


def describe_mission(execution: Execution, state: MachineState) -> None:
    """Fill in what the machine state says about a mission."""
    state.goal_id = execution.handle.goal_id
    state.mission = execution.goal.mission[:MOST_TEXT]
    state.planner = execution.planner[:MOST_QUOTED]
    state.outcome, state.reason = execution.outcome, execution.reason
    if execution.steps is None:
        return
    run, tracker = execution.steps.run, execution.steps.run.tracker
    state.reason = execution.reason or execution.steps.stop_reason
    state.state, state.states = tracker.state, run.machine.num_states
    state.words, state.goal_steps = execution.words, execution.goal_steps
    if execution.text is not None:
        state.target = execution.text.target
        state.active_constraints = list(execution.text.active_constraints)
    state.violated_constraints = sorted(tracker.violated)
    if run.goal >= 0:
        state.goal_index, state.goal_value = run.goal, run.goal_value
        state.goal = said_of(run.skills.goals[run.goal])
    else:
        state.goal_index, state.goal_value, state.goal = MachineState.NONE, 0.0, NO_GOAL
    state.session, state.episode, state.step = execution.steps.state.key
    state.mission_steps, state.accepted = tracker.steps, tracker.accepting_visits


# An action server whose goals run by callbacks and end when they are told to.
#
# rclpy's own keeps a coroutine that waits for each result, and its executors ask it at every
# message whether it can go on. Here nothing waits.


class MissionServer(ActionServer):  # type: ignore[misc]
    """`handle.execute()` marks a goal as under way; `answer` sends the result once it has ended."""

    def __init__(self, node: Node, kind: type[Any], name: str, **options: Any) -> None:  # noqa: ANN401
        super().__init__(node, kind, name, lambda _: kind.Result(), **options)

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[..., Any] | None
    ) -> None:
        """Schedule what gives the result, if there is one already."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def restore(self, goal_id: bytes, request: Any) -> ServerGoalHandle:  # noqa: ANN401
        """Return the handle of a goal that a server of before had: clients know it by its id."""
        info = GoalInfo()
        info.goal_id.uuid = np.frombuffer(goal_id, np.uint8)
        handle = ServerGoalHandle(self, info, request)
        self._goal_handles[goal_id] = handle
        self._result_futures[goal_id] = Future()
        self.add_future(self._result_futures[goal_id])
        return handle

    def feed_back(self, message: object) -> None:
        """Publish the feedback of a goal under way: an `Impl.FeedbackMessage`, which may be kept.

        rclpy's goal handles make such a message, with all that is in it, for every feedback.
        """
        self._handle.publish_feedback(message)

    def answer(self, goal_handle: ServerGoalHandle, result: object) -> None:
        """Send the result of a goal that has its terminal status."""
        self.notify_execute(goal_handle, lambda _: result)


# A mission under way on the machine node, state by state: track, ask, act, and stop when in
# doubt.
#
# Every state is tracked, the values in it are asked for, and the answer becomes an action: never
# to a state that is past. In real time a state, or an answer, that is late by two periods stops
# the robot; the mission goes on when both are back within `resume_after` seconds, or ends. In
# lock-step nothing is late, and a peer is lost after `peer_timeout`, as before the first action.
# All of it is called back from the executor and never waits.


ANOTHER_WAY: Final = "another way is being planned"
JOINING: Final = "another mission is being added"
NOT_HEARD: Final = "whoever followed the mission before the restart does not hear it yet"
SETTLE_SECONDS: Final = 1.0
"""After a restart of the robot's side: until then all who listen to it, recorders too, hear it again."""
KEEP_SECONDS: Final = 1.0
"""How often the steps of a mission are kept of which nothing else changes."""
LATE_PERIODS: Final = 2.0
"""After so many periods a state, or an answer, is late."""
MOST_RECOVERING: Final = 5.0
"""Times `stuck_after` for which the recoveries of a navigation stack count as getting on: it may back
off in the third of them only, which takes Nav2 a minute and a half."""
EARLY_PERIODS: Final = 0.25
"""By so much may a state come early: answers are looked at when states come, at the second at last."""


class MissionSteps:
    """Drives the run of one mission from the states that arrive, and finishes it when it is over."""

    def __init__(
        self,
        execution: Execution,
        first: WorldState,
        on_decision: Callable[[], None],
    ) -> None:
        assert execution.run is not None
        self._node = execution.node
        self.run: MissionRun = execution.run
        self.state = first
        self.stamp = first.stamp
        """How late it is in the world: the latest stamp that was heard."""
        self._entered_at = first.stamp
        self._finish = execution.finish
        self._log = execution.log
        self._on_decision = on_decision
        self.stop_reason = ""
        """Why the robot is stopped while the mission goes on; empty if it is not."""
        self._stopped_since = 0.0
        self._waits_for_robot = False
        self.heard_at = self._got_on_at = time.monotonic()
        self._recoveries, self._tried_at = 0, -math.inf
        """Recoveries of a navigation stack on the present leg, and when there was one more."""
        self._visited: set[int] = set()
        """Where the robot was since the machine moved last, where that can be counted."""
        self.planning = False
        """Whether another way is being planned: until then the robot stands."""
        self.joining = False
        """Whether a mission that is to join this one is being planned: until then the robot stands."""
        self._asked_at = 0.0
        self._asked_for: Key = first.key
        self._decided_for: Key | None = None
        self._query: Future | None = None
        self._undecided = False
        self._replaced = 0
        self._repetitions = 0
        self._over = False
        self._kept: object = None
        """What was kept of the mission last, but for its steps."""
        self._kept_at = self._settled_at = 0.0
        self._listeners, self._listeners_until = 0, 0.0
        """How many heard the actions before a restart of this node, and how long to wait for them."""
        self._real_time = first.period > 0

    def start(self) -> None:
        """Decide in the first state."""
        if self.state.ended:
            self._end_with_world()
        else:
            self._go_on(self.state)

    def close(self) -> None:
        """Take part no more."""
        self._over = True
        self._drop_query()

    def on_state(self, state: WorldState) -> bool:
        """Take a state that has just arrived; tell whether the machine moved."""
        session, episode, step = self.state.key
        if state.key == (session, episode, step + 1):
            return self._on_entered(state)
        if state.key[0] != session and self._node.survives and state.observation is not None:
            return self._on_other_session(state)
        if state.key[0] != session:
            self._node.drop("state of another session")
        elif state.key[1] != episode:
            self._node.drop("state of another episode")
            if state.key[1] > episode:
                self._finish(Result.ERROR, "the world was reset while the mission was running")
        elif state.key[2] == step:
            moved = self._on_later(state)
            if not self.run.over:
                self._on_repeated(state)
            return moved
        elif state.key[2] < step:
            self._node.drop("state of an earlier step")
        else:
            missing = f"{step + 1} to {state.key[2] - 1}"
            reason = f"nothing was heard of steps {missing}: what was true then is unknown"
            self._finish(Result.ERROR, reason)
        return False

    def _on_other_session(self, state: WorldState) -> bool:
        """Go on with a world that was started again: its state is the next one of the mission."""
        run, node = self.run, self._node
        if state.time is not None and state.time < run.tracker.time:
            run.tracker.shift(state.time - run.tracker.time)
            self.stamp = state.stamp
        node.get_logger().warning("the robot's side was started again: the mission goes on there")
        self._decided_for = None
        self._settled_at = time.monotonic() + SETTLE_SECONDS
        self._drop_query()
        node.ask_to_resume("the robot's side was started again")
        moved = self._on_entered(state, log=False)
        if not self._over:
            self._log.resumed(state.key, node.events.true)
        return moved

    def wait_for_listeners(self, count: int) -> None:
        """Let the robot rest until so many hear the actions as before a restart of this node.

        Actions are not latched: a recorder that has not found this node yet would miss them, and the
        stop. One that does not come back is a lost peer.
        """
        self._listeners = count
        self._listeners_until = time.monotonic() + self._node.setting("peer_timeout")

    @property
    def listeners(self) -> int:
        """How many hear the actions, those that are waited for included."""
        return max(self._listeners, self._node.listeners)

    def keep(self, *, at_once: bool = False) -> None:
        """Have the mission kept where something of it has changed; its steps alone once a second."""
        tracker, now = self.run.tracker, time.monotonic()
        kept = tracker.moves, tracker.violated, self._node.events.true, tracker.status
        if at_once or kept != self._kept or now - self._kept_at > KEEP_SECONDS:
            self._kept, self._kept_at = kept, now
            self._node.keep_missions()

    def _on_entered(self, state: WorldState, *, log: bool = True) -> bool:
        """Take the state that follows the last one: ask first, do the rest while the answer comes."""
        usable = state.observation is not None
        if self._real_time and self.run.decision is not None and not self.run.decision.rest:
            self._node.step_times.note((state.stamp - self._entered_at) / NANOSECONDS)
        self.state, self._entered_at = state, state.stamp
        self.stamp = max(self.stamp, state.stamp)
        self._undecided = not usable
        try:
            events = self._node.events.take()
            labels = state.labels | events if events else state.labels
            stamp = state.stamp if self._real_time else None
            moved = self.run.track(state.value, labels, stamp)
            self._note_progress(state.value, moved)
            goes_on = usable and not self.run.over
            if goes_on and not state.ended:
                self._go_on(state)
            if usable:
                self.run.see(state.value)
                self.run.prepare()
            self.keep()
            if log:
                self._log.entered(state.key, events, moved)
            if self._node.events.confirm(state.key, self.run.tracker.steps):
                self._node.publish_machine_state()
        except SkmError as error:
            self._finish(Result.ERROR, str(error))
            return False
        if goes_on and state.ended:
            self._end_with_world()
        return moved

    def _note_progress(self, value: Any, moved: bool) -> None:  # noqa: ANN401
        """Take note that the robot gets on: the machine moves, or it is somewhere new.

        A robot that is kept from its way goes to and fro between the same cells.
        """
        cell = value if isinstance(value, int | np.integer) else None
        if moved:
            self._visited.clear()
        if moved or cell is None or int(cell) not in self._visited:
            self._got_on_at = time.monotonic()
        if cell is not None:
            self._visited.add(int(cell))

    def _on_later(self, state: WorldState) -> bool:
        """Take note of the time while a state lasts; tell whether that moved the machine."""
        if not self._real_time:
            return False
        try:
            moved = self.run.advance(state.value, state.stamp)
        except SkmError as error:
            self._finish(Result.ERROR, str(error))
            return False
        self.stamp = max(self.stamp, state.stamp)
        if moved:
            self._decided_for = None  # what was decided here was for another state of the machine
            if not self.run.over:
                self.run.prepare()
            self.keep()
            self._log.went_on(state.key)
        return moved

    def _on_repeated(self, state: WorldState) -> None:
        """Take a sign of life: the world still waits for, or has lost, the action to this state.

        In real time, a robot may also be on its way to the next state: its action is repeated once a
        period, and only as long as the primitives answer, so that it stops if anyone is gone.
        """
        self.heard_at = time.monotonic()
        self._node.expect_next_state(LATE_PERIODS * state.period)
        if self._undecided:
            self.run.see(state.value)
            self._undecided, self.state = False, state
            if state.ended:
                self._end_with_world()
            else:
                self._go_on(state)
            return
        self.state = state
        if self._is_held(state) or self._answer_is_late() or self._query is not None:
            return
        # The first repetition may just have crossed the action on its way.
        self._repetitions += 1
        if self.stop_reason or state.period:
            self._ask()
        elif self._repetitions > 1:
            self._node.repeat_action()

    def _go_on(self, state: WorldState) -> None:
        if not self._is_held(state) and not self._answer_is_late():
            self._ask()
        self.heard_at = time.monotonic()
        self._node.expect_next_state(LATE_PERIODS * state.period)

    def _end_with_world(self) -> None:
        self._finish(Result.FAILED, "the world ended before the mission did")

    # Values and actions

    def _ask(self) -> None:
        """Ask for the values in the present state, unless an answer is on its way."""
        self._repetitions = 0
        if self._query is None and self.state.observation is not None:
            self._asked_at = time.monotonic()
            self._asked_for = self.state.key
            self._query = self._node.ask(self.state.observation, self.run.history)
            self._query.add_done_callback(self._on_values)

    def ask_again(self) -> None:
        """Ask once more: the primitives have been away."""
        self._drop_query()
        if not self._is_held(self.state):
            self._ask()

    def _on_values(self, query: Future) -> None:
        if query is not self._query or self._over:
            return
        answer = query.result()  # type: ignore[union-attr]
        self._query = None
        answered_at = time.monotonic()
        if answer is None or not answer.success:
            reason = "they failed" if answer is None else answer.message
            self._finish(Result.ERROR, f"the primitives gave no values: {reason}")
            return
        if self._asked_for != self.state.key:
            # A state that is past: what is to be done there does not matter any more.
            self._node.note_latency(answered_at - self._asked_at)
            self._node.counts["late answers"] += 1
            self._ask()
            return
        undecided = self._decided_for != self.state.key or self.run.decision is None
        settled = self.run.settled if undecided else None
        try:
            if undecided:
                values = self._node.read_values(answer)
                if settled is not None:
                    self._act(settled)
                self.run.decide(values)
        except SkmError as error:
            self._finish(Result.ERROR, str(error))
            return
        if self.run.blocked:
            self._count(answered_at)
            reason = "stopped by the shield: whatever is done, the mission fails"
            self._finish(Result.FAILED, reason)
            return
        assert self.run.decision is not None
        decided, self._decided_for = self._decided_for, self.state.key
        if settled is None:
            self._act(self.run.decision)
        self._count(answered_at)
        if decided != self.state.key:
            self._on_decision()

    def _act(self, decision: Decision) -> None:
        self._release()
        if self._real_time and decision.rest and self.run.waiting:
            self._node.stop_robot(self.state.key)
        else:
            self._node.act(self.state, decision.action)

    def _count(self, answered_at: float) -> None:
        """Take note of an answer for the diagnostics, once it has been acted on."""
        self._node.note_latency(answered_at - self._asked_at)
        shield = self.run.shield
        if shield is not None:
            self._node.counts["actions replaced by the shield"] += shield.replaced - self._replaced
            self._replaced = shield.replaced

    def _drop_query(self) -> None:
        if self._query is not None:
            self._node.forget_query(self._query)
            self._query = None

    # Stops

    def _is_held(self, state: WorldState) -> bool:
        """Tell whether the robot is kept from moving on its own side; wait for it to be let go."""
        if self.planning:
            self.hold(ANOTHER_WAY)
            return True
        if time.monotonic() < self._settled_at:
            self._waits_for_robot = True
            self.hold("the robot's side was started again")
            return True
        if self._listeners > self._node.listeners and time.monotonic() < self._listeners_until:
            self._waits_for_robot = True
            self.hold(NOT_HEARD)
            return True
        self._listeners = 0
        if self.joining or self._node.queue.paused:
            self._waits_for_robot = True
            self.hold(JOINING if self.joining else self._node.queue.paused)
            return True
        if unknown := self._node.events.signals.stops:
            self._waits_for_robot = True
            self.hold(unknown)
            return True
        if state.stopped:
            self._waits_for_robot = True
            self.hold(f"the robot is stopped: {state.stopped}")
            return True
        if self._waits_for_robot:
            self._waits_for_robot = False
            self._stopped_since = time.monotonic()
        return False

    def _answer_is_late(self) -> bool:
        """Stop the robot, and ask anew, if the primitives have not answered for two periods."""
        if self._query is None:
            return False
        limit = (LATE_PERIODS - EARLY_PERIODS) * self.state.period
        if not limit or time.monotonic() - self._asked_at <= limit:
            return False
        self.hold("the primitives do not answer in time")
        self.ask_again()
        return True

    def on_late_state(self) -> None:
        """Stop the robot: the next state has not come for two periods."""
        self.hold("nothing is heard from the robot")

    def go_on_by(self, plan: Plan | None) -> None:
        """Go on after planning anew: by another plan, or by the present one if there is none."""
        self.planning = False
        if plan is not None:
            self.run.replan(plan.policy, plan.shield, self.state.value)
            self._decided_for = None
            self._visited.clear()
            self._got_on_at = time.monotonic()
        self._stopped_since = time.monotonic()
        self.ask_again()

    @property
    def _rests(self) -> bool:
        """Whether it is right that nothing happens: a person, the clock or an event is waited for."""
        decision = self.run.decision
        waits = decision is not None and (
            decision.rest or decision.expectation is Expectation.WAITING
        )
        told = self.joining or bool(self._node.queue.paused)
        told = told or bool(self._node.robot.status.skill)  # an action has a time-out of its own
        return waits or told or self.planning or is_by_person(self.state.stopped)

    def rest(self, reason: str) -> None:
        """Stop the robot until nobody holds it: see `_is_held`; no answer under way moves it."""
        self._drop_query()
        self._waits_for_robot = True
        self.hold(reason)

    def hold(self, reason: str) -> None:
        """Stop the robot while the mission goes on."""
        if not self.stop_reason:
            self._stopped_since = time.monotonic()
            self._node.stop_robot(self.state.key)
            self._node.counts["stops in a mission"] += 1
        if reason != self.stop_reason:
            self.stop_reason = reason
            self._node.on_stopped(reason)

    def _release(self) -> None:
        if self.stop_reason:
            self.stop_reason = ""
            self._node.on_stopped("")

    def watch(self, now: float) -> None:
        """Look, every now and then, whether something that should have come has not."""
        patience = self._node.setting("resume_after")
        if self._decided_for is None:  # Primitives that were just started may not hear it yet.
            patience = max(patience, self._node.setting("peer_timeout"))
        if self._rests or not self._real_time:
            self._got_on_at = now
        recoveries, before = self._node.robot.status.number_of_recoveries, self._recoveries
        self._recoveries = recoveries
        if recoveries > before or self._got_on_at > self._tried_at:
            self._tried_at = now
        stuck = self._node.setting("stuck_after")
        stands, tries = now - self._got_on_at, now - self._tried_at
        if stuck > 0 and (tries > stuck or stands > MOST_RECOVERING * stuck):
            goal, goals = self.run.goal, self.run.skills.goals
            after = f"it is after {labels_text(goals[goal].labels)}" if goal >= 0 else ""
            why = self.stop_reason or self._node.robot.cause or after
            self._finish(Result.NO_PROGRESS, f"the robot has not got on for {stands:.0f} s: {why}")
            return
        if self.stop_reason:
            waits = self._waits_for_robot or self.planning
            if not waits and now - self._stopped_since > patience and not self._outlives(now):
                cause = f": {self._node.robot.cause}" if self._node.robot.cause else ""
                self._finish(Result.ERROR, f"{self.stop_reason}{cause}, for {patience:g} s")
            return
        if self.state.period:
            if now - self.heard_at > 2 * LATE_PERIODS * self.state.period:
                self.on_late_state()  # a timer does that sooner, unless it was lost under way
            return
        limit = self._node.setting("peer_timeout")
        reason = ""
        if now - self.heard_at > limit:
            reason = f"nothing was heard from the robot for {limit:g} s"
        elif self._query is not None and now - self._asked_at > limit:
            reason = f"the primitives did not answer for {limit:g} s"
        if reason and self._node.survives:
            self.hold(reason)
            self._outlives(now)
        elif reason:
            self._finish(Result.ERROR, reason)

    def _outlives(self, now: float) -> bool:
        """Wait for peers that are started again, if missions are to outlive that; tell whether so."""
        if self._node.survives:
            self._got_on_at = now
            self._node.ask_to_resume(self.stop_reason)
        return self._node.survives


# One action goal of the machine node, from its acceptance to its one terminal status.
#
# The goal waits for the peers, is compiled and planned in a thread of its own, has the world
# reset if it says so, and then runs: see `mission_steps`. All of it is called back from the
# executor and never waits in it.


UNKNOWN: Final = Result.UNKNOWN
MOST_REPLANNED: Final = 5
"""How many ways are tried before a mission ends since the robot cannot go them."""
NO_LIMIT: Final = 1 << 62
"""Steps of a mission without end: until it is cancelled."""
PLANS_AHEAD: Final = (ProductPolicy, LargeMissionPolicy)
"""Policies that work something out from where the mission will begin, best before it does."""


class Execution:
    """A mission from the moment it is taken; `finish` ends it, once."""

    def __init__(
        self,
        node: MachineNode,
        entry: Entry,
        *,
        goal: ExecuteMission.Goal | None = None,
        stands: Mapping[str, Any] | None = None,
        patient: bool = False,
    ) -> None:
        """`goal` is what to do instead of what the action's goal says: it has joined another.

        `stands` is where the mission stood before a restart: see `stand`.
        """
        self._stands = stands
        self._patient = patient
        """Whether its peers may take their time: they may be started again, too."""
        self.node = node
        self.entry = entry
        self.handle = handle = entry.handle
        self.goal: ExecuteMission.Goal = goal or handle.request
        self.planner: str = self.goal.planner or node.setting("planner")
        self.outcome: int = Result.UNKNOWN
        self.reason = ""
        self.run: MissionRun | None = None
        self.text: MissionText | None = None
        """What people are told of the run."""
        self.steps: MissionSteps | None = None
        self.accepted_at = self._waiting_since = time.monotonic()
        self.began_at = 0.0
        self.log = MissionLogger(self)
        self._skills: RemoteSkills | None = None
        self._step_seconds: float | None = None
        self._narrator: RunNarrator | None = None
        self._ending = ""
        self._warning = ""
        self._expected: tuple[int, int] | None = None
        self._ready_to_begin = False
        self._moved = self._unseen = False
        self._plan_again = False
        self._replanned = 0
        """How often the robot could not go the planned way at all, and another one was looked for."""
        self._feedback = ExecuteMission.Impl.FeedbackMessage(goal_id=handle.goal_id)

    @property
    def stand(self) -> Mapping[str, Any] | None:
        """Where the mission stands, as plain data; None before its first state."""
        if self.steps is None or self._skills is None:
            return self._stands
        return {
            "domain": self._skills.domain,
            "digest": self._skills.digest,
            "states": self.steps.run.machine.num_states,
            "events": list(self.node.events.names),
            "true_events": sorted(self.node.events.true),
            "tracker": self.steps.run.tracker.stand,
            "key": list(self.steps.state.key),
            "log": self.log.stand,
            "listeners": self.steps.listeners,
            "seconds": time.monotonic() - self.began_at,
            "max_steps": self.steps.run.max_steps,
        }

    def _stands_elsewhere(self, mission: Mission, skills: RemoteSkills) -> str:
        """Return why the mission cannot go on from where it stood; else nothing."""
        stands = self._stands
        if stands is None:
            return ""
        why = ""
        if (stands["domain"], stands["digest"]) != (skills.domain, skills.digest):
            why = f"it was begun with other skills, of {stands['domain']}"
        elif list(stands["events"]) != list(self.node.events.names):
            why = "the machine had other events"
        elif stands["states"] != mission.machine.num_states:
            why = "it is translated into another machine now"
        return f"the mission cannot go on after the restart: {why}" if why else ""

    @property
    def skills(self) -> RemoteSkills | None:
        """The primitives that the mission is planned with."""
        return self._skills

    @property
    def step_limit(self) -> int:
        """Most actions to take; 0 for no limit."""
        return 0 if self.run is None or self.run.max_steps >= NO_LIMIT else self.run.max_steps

    @property
    def phase(self) -> int:
        """Where the mission is, as a constant of MachineState."""
        if self.steps is None:
            return int(MachineState.PREPARING)
        return int(MachineState.STOPPED if self.steps.stop_reason else MachineState.RUNNING)

    # Before the first step

    def prepare(self) -> None:
        """Compile and plan as soon as the peers are there; called until they are."""
        if not 0 <= self.goal.max_seconds < math.inf:
            reason = f"max_seconds is {self.goal.max_seconds}; it must be 0 or more, and finite"
            self.finish(Result.REJECTED, reason)
            return
        if self._skills is not None or self.node.missing_peers():
            return
        self._skills = self.node.skills
        threading.Thread(target=self._plan, name="planning", daemon=True).start()

    def _plan(self) -> None:
        """Compile the mission and plan it, in a thread of its own; hand the outcome to the executor."""
        goal, skills = self.goal, self._skills
        assert skills is not None
        answer: MissionRun | tuple[int, str]
        period = self.node.states.period
        self._step_seconds = step_seconds(period, skills.domain)
        try:
            check_events(self.node.events.names, skills.propositions)
            mission = compile_mission(
                goal.mission,
                format=goal.format or "auto",
                propositions=skills.propositions,
                repeat=goal.repeat,
                horizon=goal.horizon or "auto",
                step_seconds=self._step_seconds,
                clock=period > 0 or self._step_seconds is not None,
                max_states=self.node.setting("max_states"),
                max_seconds=self.node.setting("translation_seconds"),
                events=self.node.events.names,
                parts=parts_for(skills),
            )
            mission = replace(mission, expected_step_seconds=self.node.step_times.expected)
            state = self.node.states.latest
            skills = self._open_skills(mission, skills)
            policy = make_policy(mission, skills, self.planner)
            mission = policy.mission
            if problem := self._stands_elsewhere(mission, skills):
                self.node.executor.create_task(self._planned, (Result.ERROR, problem))
                return
            if self._stands is not None:
                rest = rest_from(mission, self._stands["tracker"])
                policy = make_policy(rest, skills, self.planner)
            if isinstance(policy, LargeMissionPolicy):
                policy.seconds = AGAIN_SECONDS  # the robot waits for it
            seen = state is not None and state.value is not None and not goal.reset
            if seen and state is not None and isinstance(policy, PLANS_AHEAD):
                policy.look_ahead_from(state.value)
            limit = usual_limit(policy, self.node.setting("max_steps"))
            usual = NO_LIMIT if mission.machine.endless else limit
            shield = make_shield(mission, skills) if self.node.setting("shield") else None
            answer = MissionRun(policy, skills, int(goal.max_steps) or usual, shield)
            self.text = MissionText(answer)
            self.text.study()
            self._narrator = RunNarrator(answer, self._pace, self.node.setting("language"))
        except SkmError as error:
            closed = self.node.robot.closed(skills)
            answer = Result.REJECTED, closed_reason(error, closed)
        except Exception as error:
            if self.outcome != Result.UNKNOWN:
                return  # the node may be gone by now
            traceback.print_exc()
            answer = Result.ERROR, f"planning failed: {error!r}"
        if self.outcome == Result.UNKNOWN:
            self.node.executor.create_task(self._planned, answer)

    def _open_skills(self, mission: Mission, skills: RemoteSkills) -> RemoteSkills:
        """Return the skills without ways that are blocked, if the mission can be done so; else with."""
        free = self.node.robot.open_ways(skills)
        state = self.node.states.latest
        status = self.node.robot.status
        if (status.blocked or status.unavailable) and state is not None and state.value is not None:
            initial = mission.machine.initial
            try:
                plan_from(mission, free, self.planner, initial, state.value, shield=False)
            except UnachievableMissionError:
                return self.node.robot.open_ways(skills, blocked=False)
        return free

    # Another way

    def plan_anew(self) -> None:
        """Plan the rest of the mission for the ways that are open now; the robot stands meanwhile."""
        steps, skills = self.steps, self._skills
        if steps is None or self.outcome != UNKNOWN or skills is None:
            return
        if known_cells(skills) is None or steps.planning:
            self._plan_again = steps.planning
            return
        steps.planning = True
        steps.hold(ANOTHER_WAY)
        failure = self.node.robot.status.failure
        given = steps.run.tracker.state, steps.state.value, failure
        threading.Thread(target=self._find_way, args=given, name="planning", daemon=True).start()

    def _find_way(self, state: int, observation: Any, failure: str) -> None:  # noqa: ANN401
        """Plan in a thread of its own; hand the outcome to the executor."""
        assert self.run is not None
        assert self._skills is not None
        mission, skills = self.run.policy.mission, self._skills
        answer: Plan | str
        try:
            free = self.node.robot.open_ways(skills)
            shield = self.node.setting("shield")
            answer = plan_from(mission, free, self.planner, state, observation, shield=shield)
        except SkmError as error:
            answer = closed_reason(error, self.node.robot.closed(skills))
        except Exception as error:
            traceback.print_exc()
            answer = f"planning failed: {error!r}"
        if self.outcome == Result.UNKNOWN:
            self.node.executor.create_task(self._found_way, answer, failure)

    def _found_way(self, answer: Plan | str, failure: str) -> None:
        steps = self.steps
        if self.outcome != Result.UNKNOWN or steps is None:
            return
        self._replanned += bool(failure)
        if isinstance(answer, str) and (failure or self._is_closed_off()):
            reason = f"{failure}; and there is no other way: {answer}" if failure else answer
            self.finish(Result.NO_PROGRESS, reason)
            return
        if failure and self._replanned > MOST_REPLANNED:
            self.finish(Result.NO_PROGRESS, f"{failure}; other ways were tried, too")
            return
        found = isinstance(answer, Plan)
        self.node.get_logger().warning(
            "another way is taken" if found else f"there is no other way: {answer}"
        )
        self.node.counts["other ways taken" if found else "other ways not found"] += 1
        steps.go_on_by(answer if isinstance(answer, Plan) else None)
        if self._plan_again:
            self._plan_again = False
            self.plan_anew()

    def _is_closed_off(self) -> bool:
        """Tell whether the mission cannot be done for closed places alone: those do not go away."""
        assert self.run is not None
        assert self._skills is not None
        assert self.steps is not None
        free = self.node.robot.open_ways(self._skills, blocked=False)
        state, observation = self.run.tracker.state, self.steps.state.value
        try:
            plan_from(self.run.policy.mission, free, self.planner, state, observation, shield=False)
        except UnachievableMissionError:
            return True
        return False

    def _planned(self, answer: MissionRun | tuple[int, str]) -> None:
        if self.outcome != Result.UNKNOWN:
            return
        if isinstance(answer, tuple):
            self.finish(*answer)
            return
        self.run = answer
        if self.run.tracker.status is Status.FAILED:
            self.finish(Result.REJECTED, "the mission contradicts itself: nothing satisfies it")
        elif self.goal.reset and self._stands is None:
            self._reset_world()
        else:
            self._ready_to_begin = True
            self._begin_if_possible()

    def _reset_world(self) -> None:
        client = self.node.reset_client
        if not client.service_is_ready():
            self.finish(Result.ERROR, "nothing here can be reset: no service 'reset'")
            return
        self._waiting_since = time.monotonic()
        request = Reset.Request(seed=self.goal.seed, options=self.goal.reset_options)
        client.call_async(request).add_done_callback(self._on_reset)

    def _on_reset(self, future: Future) -> None:
        answer = future.result()
        if self.outcome != Result.UNKNOWN:
            return
        if answer is None or not answer.success:
            reason = "it failed" if answer is None else answer.message
            self.finish(Result.REJECTED, f"the reset was refused: {reason}")
            return
        self._expected = answer.session, answer.episode
        self._ready_to_begin = True
        self._begin_if_possible()

    def _begin_if_possible(self) -> None:
        """Begin in the last state heard, if it is the one that the mission is to begin in."""
        state = self.node.states.fresh
        if not self._ready_to_begin or self.run is None or state is None:
            return
        if self._expected is not None and state.key[:2] != self._expected:
            return  # of before the reset; in real time, some steps may have gone by since
        if self._stands is not None:
            self._resume(state, self._stands)
            return
        events = self.node.events.true  # what is to change does so with the first step: it counts
        try:
            self.run.begin(state.value, state.labels | events, state.time)
        except UnachievableMissionError as error:
            closed = () if self._skills is None else self.node.robot.closed(self._skills)
            self.finish(Result.REJECTED, closed_reason(error, closed))
            return
        except SkmError as error:
            self.finish(Result.ERROR, str(error))
            return
        if not self.node.make_way(self):
            return
        if isinstance(self.run.policy, ProductPolicy):
            self._warning = self.run.policy.warning
        if self._warning:
            self.node.get_logger().warning(self._warning)
        self.began_at = time.monotonic()
        self.steps = MissionSteps(self, state, self._on_decision)
        self._unseen = True
        if not state.ended:
            self.steps.start()  # asks; the rest is said while the answer comes
        self.steps.keep()
        self.log.began(state.key, events, self.run.shield is not None, self._step_seconds or 0.0)
        self.node.publish_machine_state()
        if state.ended:
            self.steps.start()

    def _resume(self, state: WorldState, stands: Mapping[str, Any]) -> None:
        """Go on in a state of the world from where the mission stood before a restart.

        The state is the next one of the mission, unless it is the one in which it stood. What was shown
        between the two is no part of it: nobody can say what it was.
        """
        assert self.run is not None
        self._stands = None
        self.node.events.restore(stands["true_events"])
        try:
            self.run.resume(stands["tracker"], state.value, state.time)
        except UnachievableMissionError as error:
            closed = () if self._skills is None else self.node.robot.closed(self._skills)
            self.finish(Result.NO_PROGRESS, closed_reason(error, closed))
            return
        except SkmError as error:
            self.finish(Result.ERROR, str(error))
            return
        self.run.max_steps = int(stands["max_steps"])
        self.began_at = time.monotonic() - float(stands["seconds"])
        self.steps = MissionSteps(self, state, self._on_decision)
        self.steps.wait_for_listeners(int(stands.get("listeners", 0)))
        self._unseen = True
        events = self.node.events.take()
        moved = False
        if tuple(stands["key"]) != state.key and not self.run.over:
            labels = state.labels | events
            moved = self.run.enter(state.value, labels, state.time)
            self.node.events.confirm(state.key, self.run.tracker.steps)
        self._moved = moved
        self.node.get_logger().warning("the mission goes on after a restart")
        self.log.restore(self.run.shield is not None, self._step_seconds or 0.0, stands["log"])
        self.steps.keep(at_once=True)
        self.log.resumed(state.key, events)
        self.node.publish_machine_state()
        if self.run.over:
            self._finish_run()
        else:
            self.run.prepare()
            self.steps.start()

    # Step by step

    def on_state(self, state: WorldState) -> None:
        """Take a state of the world that has just arrived."""
        if self.steps is None:
            self._begin_if_possible()
            return
        if self._moved:
            self._publish_feedback(transition=True)
        self._moved = self.steps.on_state(state)
        if self.outcome == UNKNOWN and self.steps.run.over:
            self._finish_run()

    def _on_decision(self) -> None:
        if self._moved or self._unseen:
            self._publish_feedback(transition=self._moved)
        if not self._warning and self.text is not None and (late := self.text.late):
            self._warning = late
            self.node.get_logger().warning(late)
        self.node.decisions.publish(self)
        if self.steps is not None:
            target = "" if self.text is None else self.text.target
            self.node.robot.publish_leg(self.steps.run, target, self.steps.state)

    # Meanwhile

    def watch(self, now: float) -> None:
        """Look, every now and then, whether something that should have come has not."""
        if self.outcome != Result.UNKNOWN:
            return
        seconds = self.goal.max_seconds
        if self.steps is not None and 0 < seconds <= now - self.began_at:
            self._finish_in_time(f"{seconds:g} s were up")
        elif self.steps is not None:
            self.steps.watch(now)
        else:
            self._watch_preparation(now)

    def _watch_preparation(self, now: float) -> None:
        limit = self.node.setting("peer_timeout")
        if self._patient:
            self._waiting_since = now
        if self._skills is None:
            self.prepare()
            if self._skills is None and now - self._waiting_since > limit:
                missing = " and ".join(self.node.missing_peers())
                self.finish(Result.ERROR, f"not ready after {limit:g} s: no {missing}")
        elif self.run is not None and now - self._waiting_since > limit:
            self.finish(Result.ERROR, f"nothing was heard from the robot for {limit:g} s")

    def on_primitives(self, skills: RemoteSkills) -> None:
        """Take note that the primitives have (re)appeared: ask again, or end if they are others."""
        if self._skills is None:
            self.prepare()
        elif skills.digest != self._skills.digest:
            self.finish(Result.ERROR, "other primitives took the place of those planned with")
        elif self.steps is not None:
            self.steps.ask_again()

    def publish_progress(self) -> None:
        """Publish feedback at the bounded rate, once there has been a decision."""
        decided = self.run is not None and self.run.decision is not None
        if decided and self.outcome == Result.UNKNOWN:
            self._publish_feedback(transition=False)

    def _publish_feedback(self, *, transition: bool) -> None:
        self._unseen = False
        self._moved = self._moved and not transition
        state = self.node.publish_machine_state()
        feedback = self._feedback.feedback
        feedback.transition, feedback.machine = transition, state
        status, left = self.node.robot.status, self.node.step_times.expected
        feedback.navigation_time = duration(time.monotonic() - self.began_at)
        feedback.distance_remaining = status.distance_remaining
        feedback.number_of_recoveries = status.number_of_recoveries
        if self.run is not None and left and 0 < self.run.goal_value < 1:
            steps = 1 + math.log(self.run.goal_value) / math.log(self.run.skills.gamma)
            feedback.estimated_time_remaining = duration(steps * left)
        self.node.feed_back(self._feedback)

    # The end

    def _finish_run(self) -> None:
        assert self.run is not None
        tracker = self.run.tracker
        if tracker.status is Status.ACCEPTED:
            self.finish(Result.ACCEPTED, f"the mission is accomplished{self._as_read}")
        elif tracker.status is Status.FAILED:
            read = tracker.labels if tracker.latest is None else tracker.latest.labels
            shown = ", ".join(sorted(read)) or "nothing"
            reason = f"the mission cannot be satisfied any more: {shown} held"
            self.finish(Result.FAILED, f"{reason}; {self._warning}" if self._warning else reason)
        elif self.run.stalled:
            target = "" if self.text is None else self.text.target
            reason = "the robot gets nowhere, whichever way it tries"
            self.finish(Result.NO_PROGRESS, f"{reason}: it is after {target}")
        else:
            self._finish_in_time(f"{self.run.max_steps} steps were taken")

    def _finish_in_time(self, reason: str) -> None:
        """End a mission whose time is up: one without end was kept, if it has completed rounds."""
        rounds = 0 if self.run is None else self.run.tracker.accepting_visits
        if self.run is not None and self.run.machine.endless and rounds:
            reason = (
                f"{reason}, {rounds} rounds were completed, and nothing was lost{self._as_read}"
            )
            self.finish(Result.SATISFIED_SO_FAR, reason)
        else:
            self.finish(Result.TIMED_OUT, f"{reason}{self._as_read}")

    @property
    def goal_steps(self) -> int:
        """Steps to the goal in pursuit; 0: not known."""
        return 0 if self._narrator is None else self._narrator.steps or 0

    def _pace(self) -> float:
        """Return how long a step takes: as the world says in lock-step, else as steps took of late."""
        return self._step_seconds or self.node.step_times.expected or 0.0

    @property
    def words(self) -> str:
        """Where the mission is, or how it ended, for people."""
        if self._narrator is None or self.steps is None:
            return ""
        if self.outcome == Result.UNKNOWN:
            return self._narrator.where
        if not self._ending:
            seconds = time.monotonic() - self.began_at
            self._ending = self._narrator.ended(OUTCOMES[self.outcome], seconds)
        return self._ending

    @property
    def _as_read(self) -> str:
        """How the mission was read, where that was a choice: what an outcome means depends on it."""
        reading = None if self.run is None else self.run.policy.mission.reading
        return "" if reading is None else f" (read as {reading})"

    def finish(self, outcome: int, reason: str) -> None:
        """End the mission: stop the robot, then give the goal its terminal status and result. Once."""
        if self.outcome != Result.UNKNOWN:
            return
        self.outcome, self.reason = outcome, concise(reason)
        if self.steps is not None:
            self.steps.close()
            self.node.stop_robot(self.steps.state.key)
        if self._moved:
            self._publish_feedback(transition=True)
        result = mission_result(self)
        self.log.ended(result.seconds)
        self.node.on_finished(self)
        if outcome in (Result.ACCEPTED, Result.SATISFIED_SO_FAR):
            self.handle.succeed()
        elif outcome == Result.CANCELLED and self.handle.is_cancel_requested:
            self.handle.canceled()
        else:
            self.handle.abort()
        self.node.answer(self.handle, result)


NO_NEXT: Final = (Result.CANCELLED, Result.ERROR)
"""After these nothing else begins by itself: somebody wants the robot to stop, or it cannot go on."""
WATCH_SECONDS: Final = 0.1
RESULT_SECONDS: Final = 60
"""How long a mission that is over can be asked about; until then the action's status lists it, too."""
MAX_LOW_PRIORITY_RATE: Final = 10.0
"""Feedback that is asked for more often is not left to those who are seldom called."""
SETTINGS: Final = (
    Setting(
        "on_new_mission",
        "preempt",
        "what a new goal does to the mission under way: take its place, or be rejected",
        choices=("preempt", "reject"),
    ),
    Setting(
        "planner",
        "product",
        "planner of goals that name none",
        choices=(*planner_names(), *FORMER_NAMES),
    ),
    Setting(
        "max_steps",
        1000,
        "most actions of goals that set no limit; missions without end have none, and on a map it is "
        "as many as the way takes twice, if that is more",
        low=1,
        high=2**32 - 1,
    ),
    Setting(
        "shield",
        True,
        "whether actions after which the mission can only fail are replaced, where the world is known",
    ),
    Setting(
        "max_states",
        20_000,
        "states that a mission's machine may take; one that grows beyond is refused",
        low=1,
        high=10_000_000,
    ),
    Setting(
        "translation_seconds",
        3.0,
        "seconds of computing that a mission's machine may take; one that needs more is refused",
        low=0.01,
        high=3600.0,
    ),
    SETTING,
    RESUME,
    Setting(
        "language",
        "en",
        "of what people are told of a mission under way",
        choices=tuple(LANGUAGES),
    ),
    LABELS,
    Setting("feedback_rate", 5.0, "feedback per second besides transitions", low=0.01, high=100.0),
    Setting(
        "peer_timeout",
        5.0,
        "lock-step, and before a mission's first action: seconds of silence after which a peer is lost",
        low=0.1,
        high=3600.0,
    ),
    Setting(
        "resume_after",
        2.0,
        "real time: longest outage in seconds after which a mission still goes on; 0: it ends at once",
        low=0.0,
        high=3600.0,
    ),
    *ROBOT_SETTINGS,
)


def kept_entry(entry: Entry, goal: ExecuteMission.Goal | None = None) -> dict[str, Any]:
    """Return a mission as plain data: its number, and its goal as it is run."""
    goal = goal or entry.handle.request
    fields = goal.get_fields_and_field_types()
    return {
        "number": entry.number,
        "goal_id": bytes(entry.handle.goal_id.uuid).hex(),
        "priority": entry.priority,
        "goal": {name: getattr(goal, name) for name in fields},
    }


def rest_from(mission: Mission, tracker: Mapping[str, Any]) -> Mission:
    """Return a mission that begins in the state of its machine in which a tracker stood."""
    machine, state = mission.machine, int(tracker["state"])
    if isinstance(machine, FactoredMachine) and tracker["parts"] is not None:
        state = machine.number(tuple(tracker["parts"]))
    return replace(mission, machine=machine.begun_in(state))


class MachineNode(SkmNode):
    """Runs one `Execution` at a time; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("machine", SETTINGS, **options)
        self._execution: Execution | None = None
        self._last: Execution | None = None
        self._joining: Execution | None = None
        """A mission that takes the place of the present one, with its rest, once it is planned."""
        self._kept = KeptMissions(state_folder(self.setting("state_folder"), self.get_namespace()))
        self._restoring = True
        """Whether what was kept has not been taken up yet."""
        self._keeping_seconds = 0.0
        self._joined_moves = 0
        """The moves of the mission under way when its rest was worked out."""
        self._missing: tuple[str, ...] = ("?",)
        self._ended_by_close = False
        self._query_seconds = 0.0
        self._request = QueryValues.Request()
        self._action = Action()
        self._running_state = MachineState()
        """Said of missions under way, which fill in all of it."""

        self._actions = self.create_publisher(Action, "action", qos.COMMAND)
        self._machine_states = self.create_publisher(MachineState, "machine_state", qos.ALIVE)
        self._logs = self.create_publisher(MissionLog, "mission_log", qos.LOG)
        self.decisions = DecisionTopic(self)
        self._query_client = self.create_client(QueryValues, "query")
        self.primitives = PrimitivesPeer(self, self._query_client)
        self.reset_client = self.create_client(Reset, "reset", callback_group=self.low_priority)
        self.events = MissionEvents(self)
        self.robot = RobotPeer(self, self._on_ways_changed)
        self.queue = MissionQueue(
            self, on_removed=self._on_removed, on_change=self._on_queue_changed
        )
        self.step_times = StepTimes()
        self.states = StateStream(self._on_state, self.drop)
        self.create_subscription(Labels, "labels", self.states.on_labels, qos.STATE)
        self.create_subscription(Observation, "observation", self.states.on_observation, qos.STATE)
        self._server = MissionServer(
            self,
            ExecuteMission,
            "execute_mission",
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            callback_group=self.low_priority,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
            result_timeout=RESULT_SECONDS,
        )
        self._late_timer = self.create_timer(1.0, self._on_late_state, clock=self.steady_clock)
        self._late_timer.cancel()
        self._expecting = False
        self.every(WATCH_SECONDS, self._watch)
        self._set_feedback_rate(self.setting("feedback_rate"))
        self.add_post_set_parameters_callback(self._on_parameters)
        self._restore()
        self._restoring = False
        self.queue.publish()
        self._watch()

    # Peers

    def on_skills(self, skills: RemoteSkills) -> None:
        """Take other primitives than before, which have introduced themselves."""
        self.states.fit(skills)
        sizes = len(skills.goals), len(label_sets_of(skills.goals))
        self.read_values = values_reader(*sizes, skills.action_space)
        self._request.parts = needed_parts(skills.action_space)
        self._request.digest = skills.digest
        self.get_logger().info(f"primitives: {skills.checkpoint} of {skills.domain}")

    def on_primitives(self) -> None:
        """Take note that the primitives are there, or there again."""
        self._watch()
        if self._execution is not None and self.skills is not None:
            self._execution.on_primitives(self.skills)

    @property
    def skills(self) -> RemoteSkills | None:
        """What is known of the primitives."""
        return self.primitives.skills

    def missing_peers(self) -> tuple[str, ...]:
        """Return who is not there yet, or no more."""
        missing = []
        if not self.primitives.ready:
            missing.append("primitives")
        if self.states.is_silent(self.setting("peer_timeout")):
            missing.append("robot")
        return tuple(missing)

    def _watch(self) -> None:
        """Look every now and then what is there, and whether something has failed to come."""
        self.primitives.watch(time.monotonic())
        missing = self.missing_peers()
        if missing != self._missing:
            self._missing = missing
            waiting = f"waiting for {' and '.join(missing)}"
            self.get_logger().info(waiting if missing else "ready for missions")
            self.publish_machine_state()
        for execution in (self._execution, self._joining):
            if execution is not None:
                execution.watch(time.monotonic())

    def _on_ways_changed(self) -> None:
        if self._execution is not None:
            self._execution.plan_anew()

    # States of the world

    def _on_state(self, state: WorldState) -> None:
        self.counts["states"] += 1
        if state.observation is None:
            self.counts["states known by their labels alone"] += 1
        if self._joining is not None:
            self._joining.on_state(state)
        if self._execution is not None:
            self._execution.on_state(state)

    def expect_next_state(self, seconds: float) -> None:
        """Count from now: without a state for so long, the mission's robot is stopped; 0: no limit."""
        if not seconds:
            if self._expecting:
                self._late_timer.cancel()
                self._expecting = False
            return
        self._expecting = True
        if self._late_timer.timer_period_ns != round(1e9 * seconds):
            self._late_timer.timer_period_ns = round(1e9 * seconds)
        self._late_timer.reset()

    def _on_late_state(self) -> None:
        self._late_timer.cancel()
        if self._execution is not None and self._execution.steps is not None:
            self._execution.steps.on_late_state()

    # Missions

    def _on_goal(self, goal: ExecuteMission.Goal) -> GoalResponse:
        if not self.active:
            return GoalResponse.REJECT
        busy = self._execution is not None and goal.when == ExecuteMission.Goal.AS_USUAL
        if busy and self.setting("on_new_mission") == "reject":
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        entry, when = self.queue.entry(handle), handle.request.when
        # A goal that is refused by the protocol comes without a reason: so these are taken and ended.
        if when > ExecuteMission.Goal.REPLACE:
            reason = f"when is {when}; it must be AS_USUAL (0), QUEUE (1), ADD (2) or REPLACE (3)"
            self.refuse(handle, ExecuteMission.Result.REJECTED, reason)
        elif when == ExecuteMission.Goal.QUEUE and self.queue.full:
            reason = f"the queue is full: {MOST_WAITING} missions wait"
            self.refuse(handle, ExecuteMission.Result.REJECTED, reason)
        elif when == ExecuteMission.Goal.QUEUE:
            self.queue.add(entry)
            self._begin_next()
        elif when == ExecuteMission.Goal.ADD and self._execution is not None:
            self._join(entry)
        else:
            if when != ExecuteMission.Goal.ADD:
                self.queue.paused = ""  # whoever sends it wants it done now
            self._begin(entry)

    def _begin(self, entry: Entry) -> None:
        """Begin a mission; it takes the place of one under way."""
        before = self._execution
        self._execution = Execution(self, entry)
        if before is not None:
            before.finish(ExecuteMission.Result.PREEMPTED, "a newer mission took its place")
        self.queue.begin(entry)
        self.events.begin()
        entry.handle.execute()
        self.publish_machine_state()
        self._execution.prepare()

    def _begin_next(self) -> None:
        """Begin the mission whose turn it is, if none is under way."""
        if self._execution is not None or not self.active:
            return
        entry = self.queue.next()
        if entry is not None:
            self._begin(entry)

    def refuse(self, handle: ServerGoalHandle, outcome: int, reason: str) -> None:
        """End a goal that was never begun."""
        self.counts[f"missions {OUTCOMES[outcome]}"] += 1
        result = ExecuteMission.Result(outcome=outcome, reason=reason)
        if outcome == ExecuteMission.Result.REJECTED:
            result.error_code, result.error_msg = result.ERROR_OFFSET + outcome, reason
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.execute()
            handle.abort()
        self.answer(handle, result)

    def _on_removed(self, handle: ServerGoalHandle, reason: str) -> None:
        """End a mission that somebody has taken out of the queue."""
        for execution in (self._execution, self._joining):
            if execution is not None and execution.handle.goal_id == handle.goal_id:
                execution.finish(ExecuteMission.Result.CANCELLED, reason)
                return
        self.refuse(handle, ExecuteMission.Result.CANCELLED, reason)

    def _on_queue_changed(self) -> None:
        """Take note that missions were paused, or may go on."""
        steps = None if self._execution is None else self._execution.steps
        if self.queue.paused and steps is not None:
            steps.rest(self.queue.paused)
        self._begin_next()

    # Missions that outlive the node

    @property
    def survives(self) -> bool:
        """Whether missions outlive restarts."""
        return bool(self.setting("resume") != "never")

    def ask_to_resume(self, why: str) -> None:
        """Wait for a person before the mission goes on, where that is wanted."""
        if self.setting("resume") == "ask" and not self.queue.paused:
            self.queue.pause(f"{why}: `skm resume` goes on")

    def keep_missions(self) -> None:
        """Keep what is to outlive the node: before anyone hears of it."""
        if not self.survives or self._restoring:
            return
        queue, present = self.queue, self._execution
        if present is None and not queue.waiting:
            self._kept.forget()
            return
        began = time.monotonic()
        document: dict[str, Any] = {
            "last_number": queue.last_number,
            "paused": queue.paused,
            "waiting": [kept_entry(one) for one in queue.waiting],
            "under_way": None,
        }
        if present is not None:
            document["under_way"] = {
                **kept_entry(present.entry, present.goal),
                "stands": present.stand,
            }
        try:
            self._kept.keep(document)
        except OSError as error:
            self.drop("missions that cannot be kept", error)
        self.counts["missions kept"] += 1
        self._keeping_seconds += time.monotonic() - began

    def _restore(self) -> None:
        """Take up what was kept before a restart."""
        if not self.survives:
            return
        try:
            found = self._kept.load()
            if found is not None:
                self._take_up(found)
        except SkmError as error:
            self.get_logger().error(str(error))
        finally:
            self._restoring = False

    def _take_up(self, found: Mapping[str, Any]) -> None:
        queue = self.queue
        try:
            waiting = [self._restored(one) for one in found["waiting"]]
            under_way = found["under_way"]
            present = None if under_way is None else self._restored(under_way)
            queue.last_number = int(found["last_number"])
        except (KeyError, TypeError, ValueError, AssertionError) as error:
            raise SkmError(f"the missions of before are not gone on with: {error!r}") from error
        queue.waiting, queue.paused = waiting, found["paused"]
        if self.setting("resume") == "ask" and not queue.paused:
            queue.paused = (
                "the machine was restarted: `skm resume` goes on, `skm queue` shows with what"
            )
        self.get_logger().warning(f"missions of before a restart: {len(waiting) + bool(present)}")
        if present is None:
            return
        goal, stands = present.handle.request, under_way["stands"]
        self._execution = Execution(self, present, goal=goal, stands=stands, patient=True)
        queue.current = present
        self.events.begin()
        present.handle.execute()
        self._execution.prepare()

    def _restored(self, kept: Mapping[str, Any]) -> Entry:
        """Return a mission that was kept, as the goal that its client knows."""
        goal = ExecuteMission.Goal(**kept["goal"])
        handle = self._server.restore(bytes.fromhex(kept["goal_id"]), goal)
        return Entry(int(kept["number"]), handle, int(kept["priority"]))

    # A mission that joins the one under way

    def _join(self, entry: Entry) -> None:
        """Plan what is left of the mission under way with another one; the robot stands meanwhile."""
        present, handle = self._execution, entry.handle
        assert present is not None
        if self._joining is not None:
            reason = "another mission is being added at this moment"
            self.refuse(handle, ExecuteMission.Result.REJECTED, reason)
            return
        try:
            goal = self._joined_goal(present, handle.request)
        except SkmError as error:
            self.refuse(handle, ExecuteMission.Result.REJECTED, concise(str(error)))
            return
        assert present.steps is not None
        present.steps.joining = True
        present.steps.rest(JOINING)
        self._joining = Execution(self, entry, goal=goal)
        self._joined_moves = present.steps.run.tracker.moves
        self.queue.join(entry)
        self._joining.prepare()

    def _joined_goal(self, present: Execution, added: ExecuteMission.Goal) -> ExecuteMission.Goal:
        """Return the goal of both missions, or say why there is none."""
        if present.steps is None or present.skills is None:
            raise SkmError("the mission under way is still being planned: add the other one later")
        if added.reset or added.repeat:
            raise SkmError("a mission that is added can neither reset the world nor start over")
        horizons = {goal.horizon for goal in (present.goal, added)} - {"", "auto"}
        if len(horizons) > 1:
            raise SkmError("one of the two missions is to have an end, and the other is not")
        run = present.steps.run
        names = (*present.skills.propositions, *self.events.names)
        mission = run.policy.mission
        text = joined_text(mission, run.tracker, added.mission, added.format, names)
        return ExecuteMission.Goal(
            mission=text,
            format="ltl",
            horizon=next(iter(horizons), "auto"),
            planner=added.planner or present.goal.planner,
            max_steps=added.max_steps,
            max_seconds=added.max_seconds,
        )

    def make_way(self, execution: Execution) -> bool:
        """Let a mission begin that has joined the one under way; tell whether it may."""
        present = self._execution
        if execution is present:
            return True
        entry = execution.entry
        if present is None or present.steps is None:  # It has ended meanwhile.
            self._joining = None
            self.queue.join(None)
            self._begin(entry)
            return False
        if present.steps.run.tracker.moves != self._joined_moves:
            self._joining = None
            self._join(entry)  # Something else is left of it now.
            return False
        self._execution, self._joining = execution, None
        self.queue.joining = None
        entry.handle.execute()
        reason = "it goes on as a part of the mission that was added"
        present.finish(ExecuteMission.Result.PREEMPTED, reason)
        self.queue.begin(entry)
        self.events.begin()
        return True

    def _not_joined(self, execution: Execution) -> None:
        """Go on with the mission under way: the one that was to join it cannot."""
        self._joining = None
        self.queue.join(None)
        if not execution.handle.is_cancel_requested:
            execution.handle.execute()
        if self._execution is not None and self._execution.steps is not None:
            self._execution.steps.joining = False

    def feed_back(self, message: ExecuteMission.Impl.FeedbackMessage) -> None:
        """Publish the feedback of the mission under way."""
        self._server.feed_back(message)

    def answer(self, handle: ServerGoalHandle, result: ExecuteMission.Result) -> None:
        """Send the result of a goal that has its terminal status."""
        self._server.answer(handle, result)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        # The goal is being cancelled only after this callback has returned.
        running = [one.handle for one in (self._execution, self._joining) if one is not None]
        waiting = [one.handle for one in self.queue.waiting]
        if all(one.goal_id != handle.goal_id for one in (*running, *waiting)):
            return CancelResponse.REJECT
        self.executor.create_task(self._cancel, handle)
        return CancelResponse.ACCEPT

    def _cancel(self, handle: ServerGoalHandle) -> None:
        reason = "the client took the mission back"
        if self.queue.discard(handle):
            self.refuse(handle, ExecuteMission.Result.CANCELLED, reason)
            return
        for execution in (self._execution, self._joining):
            if execution is not None and execution.handle.goal_id == handle.goal_id:
                execution.finish(ExecuteMission.Result.CANCELLED, reason)

    def on_finished(self, execution: Execution) -> None:
        """Take note that a mission has ended; ready for the next."""
        if execution is self._joining:
            self._not_joined(execution)
            return
        outcome = OUTCOMES[execution.outcome]
        present = self._execution
        self._last = execution
        if present is not execution:  # Another one took its place.
            self.counts[f"missions {outcome}"] += 1
            self.get_logger().info(f"mission {outcome}: {execution.reason}")
            self.events.end(f"the mission ended before it could take effect: {outcome}")
            return
        self._execution = None
        self.counts[f"missions {outcome}"] += 1
        self.get_logger().info(f"mission {outcome}: {execution.reason}")
        self.events.end(f"the mission ended before it could take effect: {outcome}")
        if self.queue.waiting and execution.outcome in NO_NEXT:
            self.queue.paused = f"the mission was {outcome}: `skm resume` goes on with the next one"
        self.queue.begin(None)
        self.publish_machine_state()
        self.executor.create_task(self._begin_next)

    def publish_machine_state(self) -> MachineState:
        """Publish, and return, where the machine is now: a message that is good until the next one."""
        running = self._execution is not None and self._execution.steps is not None
        state = self._running_state if running else MachineState()
        state.header.stamp = self.get_clock().now().to_msg()
        if self.events.names:
            state.events, state.true_events = list(self.events.names), sorted(self.events.true)
        execution = self._execution or self._last
        if execution is not None:
            describe_mission(execution, state)
        if self._execution is not None:
            state.phase = self._execution.phase
        elif self._missing:
            state.phase = MachineState.WAITING
            state.waiting_for = " and ".join(self._missing)
        else:
            state.phase = MachineState.IDLE
        self._machine_states.publish(state)
        return state

    def publish_log(self, entry: MissionLog) -> None:
        """Publish an entry of a mission's log."""
        self._logs.publish(entry)

    def _set_feedback_rate(self, rate: float) -> None:
        group = self.low_priority if rate <= MAX_LOW_PRIORITY_RATE else None
        self._feedback_timer = self.create_timer(
            1 / rate, self._publish_progress, clock=self.steady_clock, callback_group=group
        )

    def _publish_progress(self) -> None:
        if self._execution is not None:
            self._execution.publish_progress()

    def _on_parameters(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == "feedback_rate":
                self.destroy_timer(self._feedback_timer)
                self._set_feedback_rate(parameter.value)

    # Values and actions

    def ask(self, observation: Observation, violated: frozenset[str]) -> Future:
        """Ask the primitives for the values of every goal in a state."""
        request = self._request
        request.observation = observation
        request.violated_constraints = sorted(violated)
        return self._query_client.call_async(request)

    def note_latency(self, seconds: float) -> None:
        """Take note of how long an answer took, for the diagnostics."""
        self._query_seconds += seconds
        self.counts["queries"] += 1

    def forget_query(self, query: Future) -> None:
        """Wait for an answer no more."""
        self._query_client.remove_pending_request(query)

    def act(self, state: WorldState, action: Any) -> None:  # noqa: ANN401 - an action of the domain
        """Publish the action to a state, with its stamp."""
        fill_action(self._action, action)
        assert state.observation is not None
        self._action.header = state.observation.header
        self._publish_action(state.key)

    def stop_robot(self, key: Key) -> None:
        """Publish a stop: the last action of every mission."""
        fill_stop(self._action)
        self._publish_action(key)

    def _publish_action(self, key: Key) -> None:
        message = self._action
        message.session, message.episode, message.step = key
        self._actions.publish(message)

    def on_stopped(self, reason: str) -> None:
        """Tell everyone that the robot was stopped in a mission, or let go again (no reason)."""
        self.get_logger().warning(f"stopped: {reason}" if reason else "the mission goes on")
        self.publish_machine_state()

    @property
    def listeners(self) -> int:
        """How many hear the actions: the robot's side, recorders, whoever else."""
        return int(self._actions.get_subscription_count())

    def repeat_action(self) -> None:
        """Publish the last action once more."""
        self.counts["actions repeated"] += 1
        self._actions.publish(self._action)

    # Health

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        mean = 1e3 * self._query_seconds / max(1, self.counts["queries"])
        values: dict[str, object] = {"mean milliseconds per query": f"{mean:.3f}"}
        values["observations and labels that wait for each other"] = self.states.kept
        if self.survives:
            kept = 1e3 * self._keeping_seconds / max(1, self.counts["missions kept"])
            values["mean milliseconds to keep missions"] = f"{kept:.3f}"
        values["observations and labels that newer ones replaced"] = self.states.replaced
        if self._execution is not None:
            steps = self._execution.steps
            if steps is not None and steps.stop_reason:
                return WARN, f"on a mission, stopped: {steps.stop_reason}", values
            return OK, "on a mission", values
        if not self.active:
            return OK, "not active", values
        if self._missing:
            return WARN, f"waiting for {' and '.join(self._missing)}", values
        return OK, "ready for missions", values

    @property
    def has_shutdown_grace(self) -> bool:
        """Whether a client may still be waiting for its result."""
        return self._ended_by_close

    def close(self) -> None:
        """End the mission under way: the robot is stopped, and its client told."""
        if self._execution is not None and self.survives and self.active:
            if self._execution.steps is not None:
                self.stop_robot(self._execution.steps.state.key)
            self.keep_missions()
            self._restoring = True  # It is kept as it is.
        elif self._execution is not None:
            reason = "the machine is shutting down" if self.active else "the machine is not active"
            self._ended_by_close = True
            if self._joining is not None:
                self._joining.finish(ExecuteMission.Result.ERROR, reason)
            self._execution.finish(ExecuteMission.Result.ERROR, reason)


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(MachineNode)


if __name__ == "__main__":
    sys.exit(main())
