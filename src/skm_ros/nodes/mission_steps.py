"""A mission under way on the machine node, state by state: track, ask, act, and stop when in doubt.

Every state is tracked, the values in it are asked for, and the answer becomes an action: never to a
state that is past. In real time a state, or an answer, that is late by two periods stops the robot;
the mission goes on when both are back within `resume_after` seconds, or ends. In lock-step nothing is
late, and a peer is lost after `peer_timeout`, as before the first action. All of it is called back
from the executor and never waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from rclpy.task import Future
from skm.action import ExecuteMission

from skm_machine.errors import SkmError
from skm_machine.logic.printer import labels_text
from skm_machine.logic.timed import NANOSECONDS
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.narration import Standing
from skm_primitives.execution.replanning import Plan
from skm_primitives.planning.policy import Decision, Expectation
from skm_ros.nodes.mission_interface import MissionNode
from skm_ros.nodes.mission_log import MissionLogger
from skm_ros.nodes.state_stream import Key, WorldState
from skm_sim.robots.command_gate import is_by_person

Result = ExecuteMission.Result

ANOTHER_WAY: Final = "another way is being planned"
JOINING: Final = "another mission is being added"
NOT_HEARD: Final = "not every listener of the mission from before the restart hears it yet"
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
        node: MissionNode,
        run: MissionRun,
        first: WorldState,
        *,
        log: MissionLogger,
        finish: Callable[[int, str], None],
        on_decision: Callable[[], None],
    ) -> None:
        """`finish` is called with the outcome and the reason when something else ends the mission."""
        self._node, self.run, self.state = node, run, first
        self.stamp = first.stamp
        """How late it is in the world: the latest stamp that was heard."""
        self._entered_at = first.stamp
        self._finish, self._log, self._on_decision = finish, log, on_decision
        self.stop_reason = ""
        """Why the robot is stopped while the mission goes on; empty if it is not."""
        self._stopped_since = 0.0
        self.standing = Standing()
        """For how long it was stopped, and why."""
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
        if (
            state.key[0] != session
            and self._node.missions.survives
            and state.observation is not None
        ):
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
        node.missions.ask_to_resume("the robot's side was started again")
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
            self._node.missions.keep()

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
        if self.joining or self._node.missions.paused:
            self._waits_for_robot = True
            self.hold(JOINING if self.joining else self._node.missions.paused)
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
        paused = self.joining or bool(self._node.missions.paused)
        # A declared action under way has a time-out of its own.
        paused = paused or bool(self._node.robot.status.skill)
        return waits or paused or self.planning or is_by_person(self.state.stopped)

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
            self.standing.note(reason, time.monotonic())
            self._node.on_stopped(reason)

    def _release(self) -> None:
        if self.stop_reason:
            self.stop_reason = ""
            self.standing.note("", time.monotonic())
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
        if reason and self._node.missions.survives:
            self.hold(reason)
            self._outlives(now)
        elif reason:
            self._finish(Result.ERROR, reason)

    def _outlives(self, now: float) -> bool:
        """Wait for peers that are started again, if missions are to outlive that; tell whether so."""
        if self._node.missions.survives:
            self._got_on_at = now
            self._node.missions.ask_to_resume(self.stop_reason)
        return self._node.missions.survives
