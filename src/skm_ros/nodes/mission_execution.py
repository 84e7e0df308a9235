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
from collections.abc import Mapping
from typing import Any, Final

from rclpy.task import Future
from skm.action import ExecuteMission
from skm.msg import MachineState
from skm.srv import Reset

from skm_machine.errors import SkmError, UnachievableMissionError, concise
from skm_machine.tracker import Status
from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.narration import RunNarrator
from skm_primitives.execution.replanning import Plan, closed_reason, known_cells
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.skills.values import RemoteSkills
from skm_ros.conversions import OUTCOMES
from skm_ros.nodes.mission_interface import MissionNode
from skm_ros.nodes.mission_log import MissionLogger
from skm_ros.nodes.mission_messages import duration, mission_result
from skm_ros.nodes.mission_planning import (
    NO_LIMIT,
    MissionPlanning,
    PlannedMission,
    UnresumableMissionError,
)
from skm_ros.nodes.mission_queue import Entry
from skm_ros.nodes.mission_steps import ANOTHER_WAY, MissionSteps
from skm_ros.nodes.state_stream import WorldState

Result = ExecuteMission.Result
MOST_REPLANNED: Final = 5
"""How many ways are tried before a mission ends since the robot cannot go them."""


class Execution:
    """A mission from the moment it is taken; `finish` ends it, once."""

    def __init__(
        self,
        node: MissionNode,
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
        """The texts about the run."""
        self.steps: MissionSteps | None = None
        self.accepted_at = self._waiting_since = time.monotonic()
        self.began_at = 0.0
        self.log = MissionLogger(node, self)
        self._planning = MissionPlanning(node, self.goal, self.planner)
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
        assert self._skills is not None
        answer: PlannedMission | tuple[int, str]
        try:
            answer = self._planning.plan(self._skills, self._stands)
        except UnresumableMissionError as error:
            answer = Result.ERROR, str(error)
        except SkmError as error:
            answer = Result.REJECTED, closed_reason(error, self.node.robot.closed(self._skills))
        except Exception as error:
            if self.outcome != Result.UNKNOWN:
                return  # the node may be gone by now
            traceback.print_exc()
            answer = Result.ERROR, f"planning failed: {error!r}"
        if self.outcome == Result.UNKNOWN:
            self.node.executor.create_task(self._planned, answer)

    # Another way

    def plan_anew(self) -> None:
        """Plan the rest of the mission for the ways that are open now; the robot stands meanwhile."""
        steps, skills = self.steps, self._skills
        if steps is None or self.outcome != Result.UNKNOWN or skills is None:
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
        answer: Plan | str
        try:
            answer = self._planning.another_way(self.run, self._skills, state, observation)
        except SkmError as error:
            answer = closed_reason(error, self.node.robot.closed(self._skills))
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
        state = self.steps.state.value
        return self._planning.is_closed_off(self.run, self._skills, state)

    def _planned(self, answer: PlannedMission | tuple[int, str]) -> None:
        if self.outcome != Result.UNKNOWN:
            return
        if isinstance(answer, tuple):
            self.finish(*answer)
            return
        self.run, self.text, self._narrator = answer.run, answer.text, answer.narrator
        self._step_seconds = answer.step_seconds
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
        if not self.node.missions.make_way(self):
            return
        if isinstance(self.run.policy, ProductPolicy):
            self._warning = self.run.policy.warning
        if self._warning:
            self.node.get_logger().warning(self._warning)
        self.began_at = time.monotonic()
        self.steps = self._steps_from(state)
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
        self.steps = self._steps_from(state)
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

    def _steps_from(self, state: WorldState) -> MissionSteps:
        assert self.run is not None
        return MissionSteps(
            self.node,
            self.run,
            state,
            log=self.log,
            finish=self.finish,
            on_decision=self._on_decision,
        )

    def on_state(self, state: WorldState) -> None:
        """Take a state of the world that has just arrived."""
        if self.steps is None:
            self._begin_if_possible()
            return
        if self._moved:
            self._publish_feedback(transition=True)
        self._moved = self.steps.on_state(state)
        if self.outcome == Result.UNKNOWN and self.steps.run.over:
            self._finish_run()

    def _on_decision(self) -> None:
        if self._moved or self._unseen:
            self._publish_feedback(transition=self._moved)
        if not self._warning and self.text is not None and (late := self.text.late):
            self._warning = late
            self.node.get_logger().warning(late)
        self.node.publish_decision(self)
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
        if left and self.goal_steps:  # as the words say it
            feedback.estimated_time_remaining = duration(self.goal_steps * left)
        self.node.missions.feed_back(self._feedback)

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

    @property
    def words(self) -> str:
        """Where the mission is, or how it ended, as a sentence."""
        if self._narrator is None or self.steps is None:
            return ""
        if self.outcome == Result.UNKNOWN:
            return self._narrator.where
        if not self._ending:
            now, outcome = time.monotonic(), OUTCOMES[self.outcome]
            stood = self.steps.standing.told(now)
            self._ending = self._narrator.ended(outcome, now - self.began_at, stood)
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
        self.node.missions.on_finished(self)
        if outcome in (Result.ACCEPTED, Result.SATISFIED_SO_FAR):
            self.handle.succeed()
        elif outcome == Result.CANCELLED and self.handle.is_cancel_requested:
            self.handle.canceled()
        else:
            self.handle.abort()
        self.node.missions.answer(self.handle, result)
