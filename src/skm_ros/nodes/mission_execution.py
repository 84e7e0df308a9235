"""One action goal of the machine node, from its acceptance to its one terminal status.

The goal waits for the peers, is compiled and planned in a thread of its own, has the world reset if it
says so, and then runs: see `mission_steps`. All of it is called back from the executor and never waits
in it.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from typing import TYPE_CHECKING, Final

from rclpy.task import Future
from skm.action import ExecuteMission
from skm.msg import MachineState
from skm.srv import Reset

from skm_machine.errors import SkmError, UnachievableMissionError, concise
from skm_machine.event_script import check_events
from skm_machine.mission import compile_mission
from skm_machine.tracker import Status
from skm_primitives.mission_run import MissionRun, usual_limit
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.shield import make_shield
from skm_ros.nodes.mission_log import MissionLogger
from skm_ros.nodes.mission_reports import mission_result
from skm_ros.nodes.mission_steps import MissionSteps
from skm_ros.nodes.state_stream import WorldState
from skm_ros.step_time import step_seconds

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle

    from skm_primitives.primitives import RemoteSkills
    from skm_ros.nodes.machine_node import MachineNode

Result = ExecuteMission.Result
UNKNOWN: Final = Result.UNKNOWN
NO_LIMIT: Final = 1 << 62
"""Steps of a mission without end: until it is cancelled."""


class Execution:
    """A mission from the moment it is taken; `finish` ends it, once."""

    def __init__(self, node: MachineNode, handle: ServerGoalHandle) -> None:
        self.node = node
        self.handle = handle
        self.goal: ExecuteMission.Goal = handle.request
        self.planner: str = self.goal.planner or node.setting("planner")
        self.outcome: int = Result.UNKNOWN
        self.reason = ""
        self.run: MissionRun | None = None
        self.steps: MissionSteps | None = None
        self.accepted_at = self._waiting_since = time.monotonic()
        self.began_at = 0.0
        self.log = MissionLogger(self)
        self._skills: RemoteSkills | None = None
        self._step_seconds: float | None = None
        self._expected: tuple[int, int] | None = None
        self._ready_to_begin = False
        self._moved = self._unseen = False
        self._feedback = ExecuteMission.Impl.FeedbackMessage(goal_id=handle.goal_id)

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
        self._step_seconds = step_seconds(self.node.states.period, skills.domain)
        try:
            check_events(self.node.events.names, skills.propositions)
            mission = compile_mission(
                goal.mission,
                format=goal.format or "auto",
                propositions=skills.propositions,
                repeat=goal.repeat,
                horizon=goal.horizon or "auto",
                step_seconds=self._step_seconds,
                max_states=self.node.setting("max_states"),
                max_seconds=self.node.setting("translation_seconds"),
                events=self.node.events.names,
            )
            policy = make_policy(mission, skills, self.planner)
            limit = usual_limit(policy, self.node.setting("max_steps"))
            usual = NO_LIMIT if mission.machine.endless else limit
            shield = make_shield(mission, skills) if self.node.setting("shield") else None
            answer = MissionRun(policy, skills, int(goal.max_steps) or usual, shield)
            answer.study()
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
        """Begin in the last state heard, if it is the one that the mission is to begin in."""
        state = self.node.states.fresh
        if not self._ready_to_begin or self.run is None or state is None:
            return
        if self._expected is not None and state.key[:2] != self._expected:
            return  # of before the reset; in real time, some steps may have gone by since
        events = self.node.events.true  # what is to change does so with the first step: it counts
        try:
            self.run.begin(state.value, state.labels | events)
        except UnachievableMissionError as error:
            self.finish(Result.REJECTED, str(error))
            return
        except SkmError as error:
            self.finish(Result.ERROR, str(error))
            return
        self.began_at = time.monotonic()
        self.steps = MissionSteps(self, state, self._on_decision)
        self._unseen = True
        if not state.ended:
            self.steps.start()  # asks; the rest is said while the answer comes
        self.log.began(state.key, events, self.run.shield is not None, self._step_seconds or 0.0)
        self.node.publish_machine_state()
        if state.ended:
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
        self.node.decisions.publish(self)

    # Meanwhile

    def watch(self, now: float) -> None:
        """Look, every now and then, whether something that should have come has not."""
        if self.outcome != Result.UNKNOWN:
            return
        seconds = self.goal.max_seconds
        if 0 < seconds <= now - self.accepted_at:
            self._finish_in_time(f"{seconds:g} s were up")
        elif self.steps is not None:
            self.steps.watch(now)
        else:
            self._watch_preparation(now)

    def _watch_preparation(self, now: float) -> None:
        limit = self.node.setting("peer_timeout")
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
        self.node.feed_back(self._feedback)

    # The end

    def _finish_run(self) -> None:
        assert self.run is not None
        tracker = self.run.tracker
        if tracker.status is Status.ACCEPTED:
            self.finish(Result.ACCEPTED, f"the mission is accomplished{self._as_read}")
        elif tracker.status is Status.FAILED:
            shown = ", ".join(sorted(tracker.labels)) or "nothing"
            self.finish(Result.FAILED, f"the mission cannot be satisfied any more: {shown} held")
        elif self.run.stalled:
            reason = "the robot gets nowhere, whichever way it tries"
            self.finish(Result.NO_PROGRESS, f"{reason}: it is after {self.run.target}")
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
        elif outcome == Result.CANCELLED:
            self.handle.canceled()
        else:
            self.handle.abort()
        self.node.answer(self.handle, result)
