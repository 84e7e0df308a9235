"""One action goal of the machine node, from its acceptance to its one terminal status.

The goal waits for the peers, is compiled and planned in a thread of its own, has the world reset if it
says so, and then runs: every state that arrives is tracked, the values in it are asked for, and the
answer becomes an action. All of it is called back from the executor and never waits in it.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

from rclpy.task import Future
from skm.action import ExecuteMission
from skm.msg import Labels, MachineState, Observation
from skm.srv import Reset

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import compile_mission
from skm_machine.tracker import Status
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.planners import make_policy
from skm_ros.conversions import ConversionError
from skm_ros.nodes.mission_reports import mission_result

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle

    from skm_primitives.primitives import RemoteSkills
    from skm_ros.nodes.machine_node import MachineNode

Result = ExecuteMission.Result
Key = tuple[int, int, int]
"""Session, episode and step of a state."""


class Execution:
    """A mission from the moment it is taken; `finish` ends it, once."""

    def __init__(self, node: MachineNode, handle: ServerGoalHandle) -> None:
        self.node = node
        self.handle = handle
        self.goal: ExecuteMission.Goal = handle.request
        self.planner: str = self.goal.planner or node.setting("planner")
        self.result = Future()
        self.outcome: int = Result.UNKNOWN
        self.reason = ""
        self.run: MissionRun | None = None
        self.begun = False
        self.accepted_at = self._waiting_since = time.monotonic()
        self._skills: RemoteSkills | None = None
        self._limit = 0
        self._expected: tuple[int, int] | None = None
        self._ready_to_begin = False
        self.began_at = self._heard_at = self._asked_at = 0.0
        self.key: Key = (0, 0, 0)
        self._asked_for: Key = (0, 0, 0)
        self.observation: Observation | None = None
        self._query: Future | None = None
        self._undecided = self._moved = self._unseen = False
        self._repetitions = 0

    @property
    def phase(self) -> int:
        """Where the mission is, as a constant of MachineState."""
        return int(MachineState.RUNNING if self.begun else MachineState.PREPARING)

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
        self._limit = int(self.goal.max_steps) or self.node.setting("max_steps")
        threading.Thread(target=self._plan, name="planning", daemon=True).start()

    def _plan(self) -> None:
        """Compile the mission and plan it, in a thread of its own; hand the outcome to the executor."""
        goal, skills = self.goal, self._skills
        assert skills is not None
        answer: MissionRun | tuple[int, str]
        try:
            mission = compile_mission(
                goal.mission,
                format=goal.format or "auto",
                propositions=skills.propositions,
                repeat=goal.repeat,
                horizon=goal.horizon or "auto",
            )
            policy = make_policy(mission, skills, self.planner)
            answer = MissionRun(policy, skills, self._limit)
        except SkmError as error:
            answer = Result.REJECTED, str(error)
        except Exception as error:
            if self.outcome != Result.UNKNOWN:
                return  # the node may be gone by now
            traceback.print_exc()
            answer = Result.ERROR, f"planning failed: {error!r}"
        if self.outcome == Result.UNKNOWN:
            self.node.executor.create_task(self._planned, answer)

    def _planned(self, answer: MissionRun | tuple[int, str]) -> None:
        if self.outcome != Result.UNKNOWN:
            return
        if isinstance(answer, tuple):
            self.finish(*answer)
            return
        self.run = answer
        if self.run.tracker.status is Status.FAILED:
            self.finish(Result.REJECTED, "the mission contradicts itself: nothing satisfies it")
        elif self.goal.reset:
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
        """Begin in the last state seen, if it is the one that the mission is to begin in."""
        state = self.node.latest
        if not self._ready_to_begin or self.run is None or state is None:
            return
        key, observation, labels = state
        if self._expected is not None and key != (*self._expected, 0):
            return
        try:
            value = self.node.read_observation(observation)
            shown = self.node.read_labels(labels)
        except ConversionError as error:
            self.finish(Result.ERROR, f"the simulator does not fit the primitives: {error}")
            return
        self.began_at = self._heard_at = time.monotonic()
        self.key = key
        self.observation = observation
        try:
            self.run.begin(value, shown)
        except UnachievableMissionError as error:
            self.finish(Result.REJECTED, str(error))
            return
        except SkmError as error:
            self.finish(Result.ERROR, str(error))
            return
        self.begun = self._unseen = True
        self.node.publish_machine_state()
        if not self._world_ended(observation):
            self._ask()

    # Step by step

    def on_state(self, key: Key, observation: Observation, labels: Labels) -> None:
        """Take a state of the world that has just arrived."""
        if not self.begun:
            self._begin_if_possible()
            return
        session, episode, step = self.key
        if key[0] != session:
            self.node.drop("state of another session")
        elif key[1] != episode:
            self.node.drop("state of another episode")
            if key[1] > episode:
                self.finish(Result.ERROR, "the world was reset while the mission was running")
        elif key[2] == step:
            self._on_repeated(observation)
        elif key[2] < step:
            self.node.drop("state of an earlier step")
        elif key[2] > step + 1:
            self.finish(
                Result.ERROR,
                f"nothing was heard of steps {step + 1} to {key[2] - 1}: what was true then is unknown",
            )
        else:
            self._on_entered(key, observation, labels)

    def _on_entered(self, key: Key, observation: Observation, labels: Labels) -> None:
        """Take the state that follows the last one."""
        run = self.run
        assert run is not None
        value = self._read(observation)
        try:
            shown = self.node.read_labels(labels)
        except ConversionError as error:
            self.node.drop("unusable labels", error)
            return
        if self._moved:
            self._publish_feedback(transition=True)
        self.key = key
        self.observation = observation
        try:
            self._moved = run.enter(value, shown)
        except SkmError as error:
            self.finish(Result.ERROR, str(error))
            return
        if run.over:
            self._finish_run()
        elif self._world_ended(observation):
            return
        elif value is None:
            self._undecided = True
        else:
            self._heard_at = time.monotonic()
            self._ask()

    def _on_repeated(self, observation: Observation) -> None:
        """Take a sign of life: the world still waits for, or has lost, the action to this state."""
        value = self._read(observation)
        if value is None:
            return
        self._heard_at = time.monotonic()
        if self._undecided:
            assert self.run is not None
            self.run.see(value)
            self.observation = observation
            self._ask()
        elif self._query is None:
            # The first repetition may just have crossed the action on its way.
            self._repetitions += 1
            if self._repetitions > 1:
                self.node.repeat_action()

    def _read(self, observation: Observation) -> Any:  # noqa: ANN401 - None where it is unusable
        try:
            return self.node.read_observation(observation)
        except ConversionError as error:
            self.node.drop("unusable observation", error)
            return None

    def _world_ended(self, observation: Observation) -> bool:
        ended = bool(observation.terminated or observation.truncated)
        if ended:
            self.finish(Result.FAILED, "the world ended before the mission did")
        return ended

    def _ask(self) -> None:
        """Ask for the values in the present state, unless an answer is on its way."""
        self._undecided = False
        self._repetitions = 0
        if self._query is None:
            assert self.run is not None
            assert self.observation is not None
            self._asked_at = time.monotonic()
            self._asked_for = self.key
            self._query = self.node.ask(self.observation, self.run.history)
            self._query.add_done_callback(self._on_values)

    def _on_values(self, query: Future) -> None:
        answer, run = query.result(), self.run
        if query is not self._query:
            return
        self._query = None
        assert run is not None
        self.node.note_latency(time.monotonic() - self._asked_at)
        if answer is None or not answer.success:
            reason = "they failed" if answer is None else answer.message
            self.finish(Result.ERROR, f"the primitives gave no values: {reason}")
            return
        try:
            decision = run.decide(self.node.read_values(answer))
        except SkmError as error:
            self.finish(Result.ERROR, str(error))
            return
        self.node.act(self._asked_for, decision.action)
        if self._moved or self._unseen:
            self._publish_feedback(transition=self._moved)
        if self._asked_for != self.key:
            self.node.counts["late answers"] += 1
            self._ask()

    # Meanwhile

    def watch(self, now: float) -> None:
        """Look, every now and then, whether something that should have come has not."""
        if self.outcome != Result.UNKNOWN:
            return
        limit = self.node.setting("peer_timeout")
        seconds = self.goal.max_seconds
        if 0 < seconds <= now - self.accepted_at:
            self.finish(Result.TIMED_OUT, f"{seconds:g} s were up")
        elif not self.begun:
            self._watch_preparation(now, limit)
        elif now - self._heard_at > limit:
            self.finish(Result.ERROR, f"nothing was heard from the simulator for {limit:g} s")
        elif self._query is not None and now - self._asked_at > limit:
            self.finish(Result.ERROR, f"the primitives did not answer for {limit:g} s")

    def _watch_preparation(self, now: float, limit: float) -> None:
        if self._skills is None:
            self.prepare()
            if self._skills is None and now - self._waiting_since > limit:
                missing = " and ".join(self.node.missing_peers())
                self.finish(Result.ERROR, f"not ready after {limit:g} s: no {missing}")
        elif self.run is not None and now - self._waiting_since > limit:
            self.finish(Result.ERROR, f"nothing was heard from the simulator for {limit:g} s")

    def on_primitives(self, skills: RemoteSkills) -> None:
        """Take note that the primitives have (re)appeared: ask again, or end if they are others."""
        if self._skills is None:
            self.prepare()
        elif skills.digest != self._skills.digest:
            self.finish(Result.ERROR, "other primitives took the place of those planned with")
        elif self._query is not None:
            self._query = None
            self._ask()

    def publish_progress(self) -> None:
        """Publish feedback at the bounded rate, once there has been a decision."""
        decided = self.run is not None and self.run.decision is not None
        if decided and self.outcome == Result.UNKNOWN:
            self._publish_feedback(transition=False)

    def _publish_feedback(self, *, transition: bool) -> None:
        self._unseen = False
        self._moved = self._moved and not transition
        state = self.node.publish_machine_state()
        feedback = ExecuteMission.Feedback(transition=transition, machine=state)
        self.handle.publish_feedback(feedback)

    # The end

    def _finish_run(self) -> None:
        assert self.run is not None
        tracker = self.run.tracker
        if tracker.status is Status.ACCEPTED:
            self.finish(Result.ACCEPTED, "the mission is accomplished")
        elif tracker.status is Status.FAILED:
            shown = ", ".join(sorted(tracker.labels)) or "nothing"
            self.finish(Result.FAILED, f"the mission cannot be satisfied any more: {shown} held")
        else:
            self.finish(Result.TIMED_OUT, f"{self.run.max_steps} steps were taken")

    def finish(self, outcome: int, reason: str) -> None:
        """End the mission: stop the robot, then give the goal its terminal status and result. Once."""
        if self.outcome != Result.UNKNOWN:
            return
        self.outcome, self.reason = outcome, reason
        self._query = None
        if self.begun:
            self.node.stop_robot(self.key)
        if self._moved:
            self._publish_feedback(transition=True)
        result = mission_result(self)
        self.node.on_finished(self)
        if outcome == Result.ACCEPTED:
            self.handle.succeed()
        elif outcome == Result.CANCELLED:
            self.handle.canceled()
        else:
            self.handle.abort()
        self.result.set_result(result)
