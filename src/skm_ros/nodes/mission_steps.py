"""A mission under way on the machine node, state by state: track, ask, act, and stop when in doubt.

Every state is tracked, the values in it are asked for, and the answer becomes an action: never to a
state that is past. In real time a state, or an answer, that is late by two periods stops the robot; the
mission goes on when both are back within `resume_after` seconds, or ends. In lock-step nothing is late,
and a peer is lost after `peer_timeout`, as before the first action. All of it is called back from the
executor and never waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rclpy.task import Future
from skm.action import ExecuteMission

from skm_machine.errors import SkmError
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.policy import Decision
from skm_ros.nodes.state_stream import Key, WorldState

if TYPE_CHECKING:
    from skm_ros.nodes.mission_execution import Execution

Result = ExecuteMission.Result
LATE_PERIODS: Final = 2.0
"""After so many periods a state, or an answer, is late."""
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
        self._finish = execution.finish
        self._log = execution.log
        self._on_decision = on_decision
        self.stop_reason = ""
        """Why the robot is stopped while the mission goes on; empty if it is not."""
        self._stopped_since = 0.0
        self._waits_for_robot = False
        self.heard_at = time.monotonic()
        self._asked_at = 0.0
        self._asked_for: Key = first.key
        self._decided_for: Key | None = None
        self._query: Future | None = None
        self._undecided = False
        self._replaced = 0
        self._repetitions = 0
        self._over = False

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
        if state.key[0] != session:
            self._node.drop("state of another session")
        elif state.key[1] != episode:
            self._node.drop("state of another episode")
            if state.key[1] > episode:
                self._finish(Result.ERROR, "the world was reset while the mission was running")
        elif state.key[2] == step:
            self._on_repeated(state)
        elif state.key[2] < step:
            self._node.drop("state of an earlier step")
        else:
            missing = f"{step + 1} to {state.key[2] - 1}"
            reason = f"nothing was heard of steps {missing}: what was true then is unknown"
            self._finish(Result.ERROR, reason)
        return False

    def _on_entered(self, state: WorldState) -> bool:
        """Take the state that follows the last one: ask first, do the rest while the answer comes."""
        usable = state.observation is not None
        self.state = state
        self._undecided = not usable
        try:
            events = self._node.events.take()
            moved = self.run.track(state.value, state.labels | events if events else state.labels)
            goes_on = usable and not self.run.over
            if goes_on and not state.ended:
                self._go_on(state)
            if usable:
                self.run.see(state.value)
                self.run.prepare()
            self._log.entered(state.key, events, moved)
            if self._node.events.confirm(state.key, self.run.tracker.steps):
                self._node.publish_machine_state()
        except SkmError as error:
            self._finish(Result.ERROR, str(error))
            return False
        if goes_on and state.ended:
            self._end_with_world()
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
        if self.stop_reason:
            if not self._waits_for_robot and now - self._stopped_since > patience:
                self._finish(Result.ERROR, f"{self.stop_reason}, for {patience:g} s")
            return
        if self.state.period:
            if now - self.heard_at > 2 * LATE_PERIODS * self.state.period:
                self.on_late_state()  # a timer does that sooner, unless it was lost under way
            return
        limit = self._node.setting("peer_timeout")
        if now - self.heard_at > limit:
            self._finish(Result.ERROR, f"nothing was heard from the simulator for {limit:g} s")
        elif self._query is not None and now - self._asked_at > limit:
            self._finish(Result.ERROR, f"the primitives did not answer for {limit:g} s")
