"""What a mission uses of its node, and what others see of a mission.

The mission (`mission_execution`, `mission_steps`) knows its node by `MissionNode` and its initiator
by `MissionOwner`; what is published about a mission (`mission_log`, `mission_messages`,
`decision_topic`) is made from its `MissionView`. So none of them imports the node, and each can be
read by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from rclpy.action.server import ServerGoalHandle
from rclpy.client import Client
from rclpy.task import Future
from skm.action import ExecuteMission
from skm.msg import MachineState, MissionLog, Observation
from skm.srv import QueryValues

from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.skills.values import AnyGoalValues, RemoteSkills
from skm_ros.nodes.mission_events import MissionEvents
from skm_ros.nodes.mission_queue import Entry
from skm_ros.nodes.robot_peer import RobotPeer
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.nodes.state_stream import Key, StateStream, WorldState
from skm_ros.step_time import StepTimes


class StepsView(Protocol):
    """A mission that has begun, as others see it."""

    run: MissionRun
    state: WorldState
    stamp: int
    """How late it is in the world."""
    stop_reason: str
    """Why the robot is stopped while the mission goes on; empty if it is not."""


class MissionView(Protocol):
    """A mission, from its acceptance to its result, as others see it."""

    entry: Entry
    handle: ServerGoalHandle
    goal: ExecuteMission.Goal
    planner: str
    outcome: int
    reason: str
    run: MissionRun | None
    text: MissionText | None
    began_at: float

    @property
    def steps(self) -> StepsView | None:
        """The mission step by step, once it has begun."""

    @property
    def skills(self) -> RemoteSkills | None:
        """The primitives that it is planned with."""

    @property
    def step_limit(self) -> int:
        """Most actions to take; 0 for no limit."""

    @property
    def goal_steps(self) -> int:
        """Steps to the goal in pursuit; 0: not known."""

    @property
    def words(self) -> str:
        """Where it is, or how it ended, as a sentence."""


class MissionOwner(Protocol):
    """Who begins missions, lets them wait or join each other, and keeps them over restarts."""

    @property
    def survives(self) -> bool:
        """Whether missions outlive restarts."""

    @property
    def paused(self) -> str:
        """Why nothing goes on; empty if it does."""

    def ask_to_resume(self, why: str) -> None:
        """Wait for a person before the mission goes on, where that is wanted."""

    def keep(self) -> None:
        """Keep what is to outlive the node: before anyone hears of it."""

    def make_way(self, mission: MissionView) -> bool:
        """Let a mission begin that has joined the one under way; tell whether it may."""

    def feed_back(self, message: ExecuteMission.Impl.FeedbackMessage) -> None:
        """Publish the feedback of the mission under way."""

    def on_finished(self, mission: MissionView) -> None:
        """Take note that a mission has ended."""

    def answer(self, handle: ServerGoalHandle, result: ExecuteMission.Result) -> None:
        """Send the result of a goal that has its terminal status."""


class MissionNode(SkmNode):
    """The node that a mission is run on: its peers, its topics, and the state of the world."""

    events: MissionEvents
    robot: RobotPeer
    states: StateStream
    step_times: StepTimes
    missions: MissionOwner
    """Who begins missions on it."""
    reset_client: Client
    read_values: Callable[[QueryValues.Response], AnyGoalValues]

    # Peers

    @property
    @abstractmethod
    def skills(self) -> RemoteSkills | None:
        """What is known of the primitives."""

    @property
    @abstractmethod
    def listeners(self) -> int:
        """How many hear the actions: the robot's side, recorders, any other."""

    @abstractmethod
    def missing_peers(self) -> tuple[str, ...]:
        """Return who is not there yet, or no more."""

    @abstractmethod
    def expect_next_state(self, seconds: float) -> None:
        """Count from now: without a state for so long, the mission's robot is stopped; 0: no limit."""

    # Values and actions

    @abstractmethod
    def ask(self, observation: Observation, violated: frozenset[str]) -> Future:
        """Ask the primitives for the values of every goal in a state."""

    @abstractmethod
    def forget_query(self, query: Future) -> None:
        """Wait for an answer no more."""

    @abstractmethod
    def note_latency(self, seconds: float) -> None:
        """Take note of how long an answer took, for the diagnostics."""

    @abstractmethod
    def act(self, state: WorldState, action: Any) -> None:  # noqa: ANN401 - an action of the domain
        """Publish the action to a state, with its stamp."""

    @abstractmethod
    def repeat_action(self) -> None:
        """Publish the last action once more."""

    @abstractmethod
    def stop_robot(self, key: Key) -> None:
        """Publish a stop: the last action of every mission."""

    # Messages to people and clients

    @abstractmethod
    def on_stopped(self, reason: str) -> None:
        """Tell everyone that the robot was stopped in a mission, or let go again (no reason)."""

    @abstractmethod
    def publish_machine_state(self) -> MachineState:
        """Publish, and return, where the machine is now: a message that is good until the next one."""

    @abstractmethod
    def publish_log(self, entry: MissionLog) -> None:
        """Publish an entry of a mission's log."""

    @abstractmethod
    def publish_decision(self, mission: MissionView) -> None:
        """Publish why the last decision of a mission is as it is, if somebody listens."""
