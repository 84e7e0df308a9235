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

import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from rclpy.parameter import Parameter
from rclpy.task import Future
from skm.msg import Action, Labels, MachineState, MissionLog, Observation
from skm.srv import QueryValues, Reset

from skm_primitives.execution.phrases import LANGUAGES
from skm_primitives.planning.planners import FORMER_NAMES, planner_names
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import RemoteSkills
from skm_ros import qos
from skm_ros.conversions import fill_action, fill_stop, needed_parts, values_reader
from skm_ros.nodes.decision_topic import DecisionTopic
from skm_ros.nodes.mission_events import SETTING as EVENTS
from skm_ros.nodes.mission_events import MissionEvents
from skm_ros.nodes.mission_interface import MissionNode, MissionView
from skm_ros.nodes.mission_messages import describe_mission
from skm_ros.nodes.mission_queue import SETTING as RESUME
from skm_ros.nodes.mission_scheduler import MissionScheduler
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.primitives_peer import PrimitivesPeer
from skm_ros.nodes.robot_peer import SETTINGS as ROBOT_SETTINGS
from skm_ros.nodes.robot_peer import RobotPeer
from skm_ros.nodes.signal_topics import SETTING as LABELS
from skm_ros.nodes.skm_node import OK, WARN, Setting
from skm_ros.nodes.state_stream import Key, StateStream, WorldState
from skm_ros.step_time import StepTimes

WATCH_SECONDS: Final = 0.1
MAX_LOW_PRIORITY_RATE: Final = 10.0
"""Feedback that is asked for more often is not left to the low-priority callbacks."""
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
    EVENTS,
    RESUME,
    Setting(
        "language",
        "",
        "of what people are told of a mission under way; empty: that of SKM_LANGUAGE, or else English",
        choices=("", *LANGUAGES),
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


class MachineNode(MissionNode):
    """What missions are run on; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("machine", SETTINGS, **options)
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
        self._decisions = DecisionTopic(self)
        self._query_client = self.create_client(QueryValues, "query")
        self._primitives = PrimitivesPeer(
            self, self._query_client, on_skills=self._on_skills, on_ready=self._on_primitives
        )
        self.reset_client = self.create_client(Reset, "reset", callback_group=self.low_priority)
        self.events = MissionEvents(self, self.publish_machine_state)
        self.robot = RobotPeer(self, lambda: self.skills, self._on_ways_changed)
        self.step_times = StepTimes()
        self.states = StateStream(self._on_state, self.drop)
        self.create_subscription(Labels, "labels", self.states.on_labels, qos.STATE)
        self.create_subscription(Observation, "observation", self.states.on_observation, qos.STATE)
        self.missions = self._scheduler = MissionScheduler(self)
        self._late_timer = self.create_timer(1.0, self._on_late_state, clock=self.steady_clock)
        self._late_timer.cancel()
        self._expecting = False
        self.every(WATCH_SECONDS, self._watch)
        self._set_feedback_rate(self.setting("feedback_rate"))
        self.add_post_set_parameters_callback(self._on_parameters)
        self._scheduler.restore()
        self._watch()

    # Peers

    def _on_skills(self, skills: RemoteSkills) -> None:
        """Take other primitives than before, which have introduced themselves."""
        self.states.fit(skills)
        sizes = len(skills.goals), len(label_sets_of(skills.goals))
        self.read_values = values_reader(*sizes, skills.action_space)
        self._request.parts = needed_parts(skills.action_space)
        self._request.digest = skills.digest
        self.get_logger().info(f"primitives: {skills.checkpoint} of {skills.domain}")

    def _on_primitives(self) -> None:
        """Take note that the primitives are there, or there again."""
        self._watch()
        if (present := self._scheduler.present) is not None and self.skills is not None:
            present.on_primitives(self.skills)

    @property
    def skills(self) -> RemoteSkills | None:
        """What is known of the primitives."""
        return self._primitives.skills

    def missing_peers(self) -> tuple[str, ...]:
        """Return who is not there yet, or no more."""
        missing = []
        if not self._primitives.ready:
            missing.append("primitives")
        if self.states.is_silent(self.setting("peer_timeout")):
            missing.append("robot")
        return tuple(missing)

    def _watch(self) -> None:
        """Look every now and then what is there, and whether something has failed to come."""
        self._primitives.watch(time.monotonic())
        missing = self.missing_peers()
        if missing != self._missing:
            self._missing = missing
            waiting = f"waiting for {' and '.join(missing)}"
            self.get_logger().info(waiting if missing else "ready for missions")
            self.publish_machine_state()
        for execution in self._scheduler.under_way:
            execution.watch(time.monotonic())

    def _on_ways_changed(self) -> None:
        if (present := self._scheduler.present) is not None:
            present.plan_anew()

    # States of the world

    def _on_state(self, state: WorldState) -> None:
        self.counts["states"] += 1
        if state.observation is None:
            self.counts["states known by their labels alone"] += 1
        if self._scheduler.joining is not None:
            self._scheduler.joining.on_state(state)
        if self._scheduler.present is not None:
            self._scheduler.present.on_state(state)

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
        present = self._scheduler.present
        if present is not None and present.steps is not None:
            present.steps.on_late_state()

    # Messages to people and clients

    def publish_machine_state(self) -> MachineState:
        """Publish, and return, where the machine is now: a message that is good until the next one."""
        present = self._scheduler.present
        running = present is not None and present.steps is not None
        state = self._running_state if running else MachineState()
        state.header.stamp = self.get_clock().now().to_msg()
        if self.events.names:
            state.events, state.true_events = list(self.events.names), sorted(self.events.true)
        mission = present or self._scheduler.last
        if mission is not None:
            describe_mission(mission, state)
        if present is not None:
            state.phase = present.phase
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

    def publish_decision(self, mission: MissionView) -> None:
        """Publish why the last decision of a mission is as it is, if somebody listens."""
        self._decisions.publish(mission)

    def _set_feedback_rate(self, rate: float) -> None:
        group = self.low_priority if rate <= MAX_LOW_PRIORITY_RATE else None
        self._feedback_timer = self.create_timer(
            1 / rate, self._publish_progress, clock=self.steady_clock, callback_group=group
        )

    def _publish_progress(self) -> None:
        if self._scheduler.present is not None:
            self._scheduler.present.publish_progress()

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
        """How many hear the actions: the robot's side, recorders, any other."""
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
        if self._scheduler.survives:
            kept = 1e3 * self._scheduler.keeping_seconds / max(1, self.counts["missions kept"])
            values["mean milliseconds to keep missions"] = f"{kept:.3f}"
        values["observations and labels that newer ones replaced"] = self.states.replaced
        if (present := self._scheduler.present) is not None:
            steps = present.steps
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
        self._ended_by_close = self._scheduler.close()


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(MachineNode)


if __name__ == "__main__":
    sys.exit(main())
