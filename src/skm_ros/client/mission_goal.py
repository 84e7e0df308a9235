"""One mission on a running system, from the client's side: send it, follow it, take it back."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rclpy.action import ActionClient
from rclpy.event_handler import SubscriptionEventCallbacks
from skm.action import ExecuteMission
from skm.msg import MachineState, MissionQueue

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.ros_client import RosClient
from skm_ros.topic_recorder import TopicRecorder

Result = ExecuteMission.Result
EXIT_CODES: Final = {Result.ACCEPTED: 0, Result.SATISFIED_SO_FAR: 0, Result.REJECTED: 2}
WHEN: Final = ("as usual", "queue", "add", "replace")
"""The constants of ExecuteMission's goal, in words."""
ANSWER_SECONDS: Final = 2.0
"""A mission that is not taken by then is sent again."""
SILENT_SECONDS: Final = 0.8
"""A machine on a mission says where it is several times a second."""
LOST_SECONDS: Final = 0.3
"""How long the machine may be away, or busy with something else, before a mission counts as lost: its
death is known by then, since `machine_state` carries a sign of life."""


@dataclass(frozen=True)
class MissionRequest:
    """A mission to send, with its options; what is left out is as the machine node has it."""

    mission: str
    format: str = "auto"
    horizon: str = "auto"
    planner: str = ""
    repeat: bool = False
    max_steps: int = 0
    max_seconds: float = 0.0
    reset: bool = False
    """Whether the world begins a new episode first; a seed or reset options say so, too."""
    seed: int | None = None
    reset_options: Mapping[str, Any] | None = None
    when: str = "as usual"
    """`as usual`, `queue` (when its turn comes), `add` (to what is left of the mission under way) or
    `replace`: see ExecuteMission."""
    priority: int = 0
    """Of a mission in the queue: higher ones come first."""

    def __post_init__(self) -> None:
        if not 0 <= self.max_steps < 2**32:
            raise SkmError(f"--max-steps is {self.max_steps}; it must be 0 or more.")
        if not 0 <= self.max_seconds < math.inf:
            raise SkmError(f"--max-seconds is {self.max_seconds}; it must be 0 or more.")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise SkmError(f"--seed is {self.seed}; it must be 0 or more.")
        if self.when not in WHEN:
            raise SkmError(f"'{self.when}' is not a time for a mission: {', '.join(WHEN)}.")
        if not -(2**31) <= self.priority < 2**31:
            raise SkmError(f"--priority is {self.priority}; it must be an int32.")

    def goal(self) -> ExecuteMission.Goal:
        """Return the action goal."""
        goal = ExecuteMission.Goal(
            mission=self.mission,
            format=self.format,
            horizon=self.horizon,
            planner=self.planner,
            repeat=self.repeat,
            max_steps=self.max_steps,
            max_seconds=self.max_seconds,
            reset=self.reset or self.seed is not None or self.reset_options is not None,
            when=WHEN.index(self.when),
            priority=self.priority,
        )
        if self.seed is not None:
            goal.seed = self.seed
        if self.reset_options is not None:
            goal.reset_options = json.dumps(self.reset_options)
        return goal


def exit_code(result: ExecuteMission.Result) -> int:
    """Return what a command ends with."""
    return EXIT_CODES.get(result.outcome, 1)


class MissionLostError(SkmError):
    """The machine node has gone, or no longer knows of the mission."""


class MissionGoal:
    """A mission under way. Spin the client until `done`, then read `result`."""

    Feedback = ExecuteMission.Feedback

    def __init__(
        self,
        client: RosClient,
        goal: ExecuteMission.Goal,
        on_feedback: Callable[[ExecuteMission.Feedback], None] | None = None,
    ) -> None:
        self._client = client
        self.text: str = goal.mission
        self._goal = goal
        self._on_feedback = on_feedback
        self._server = ActionClient(client.node, ExecuteMission, "execute_mission")
        self._states = client.node.create_subscription(
            MachineState,
            "machine_state",
            self._on_state,
            qos.ALIVE,
            event_callbacks=SubscriptionEventCallbacks(liveliness=self._on_liveliness),
        )
        self._queues = client.node.create_subscription(
            MissionQueue, "mission_queue", self._on_queue, qos.LATCHED
        )
        self.queue: MissionQueue | None = None
        """What the machine is to do, as it said last."""
        self._queued = False
        self._interrupted = self._back = False
        """Whether the machine was away, and whether it is back and has the mission."""
        self._later_answer: Any = None
        self._asked_at = 0.0
        self._state: MachineState | None = None
        """Where the machine was last, since it took this mission or, before that, at all."""
        self._over_since: float | None = None
        """When the machine said that this mission is over."""
        self._handle: Any = None
        self._answer: Any = None
        self._alive = True
        self._heard_at = time.monotonic()
        self._lost: ExecuteMission.Result | None = None
        self._away_since: float | None = None
        self._elsewhere_since: float | None = None

    @property
    def is_told_over(self) -> bool:
        """Whether the machine's state, which comes beside the result, says that it is over, too."""
        state = self._state
        return state is not None and (
            self._over_since is not None or bytes(state.goal_id.uuid).hex() != self.goal_id
        )

    @property
    def goal_id(self) -> str:
        """The id of the action goal, as `ros2 action` prints it; empty before it is taken."""
        return "" if self._handle is None else bytes(self._handle.goal_id.uuid).hex()

    @property
    def done(self) -> bool:
        """Whether the mission has ended, or no result can be expected any more."""
        if self._answer is None:
            return False
        self._ask_again()
        return bool(self._answer.done()) or self._is_lost()

    @property
    def result(self) -> ExecuteMission.Result:
        """How the mission ended; only once it is `done`. A machine that is gone leaves an ERROR."""
        if self._answer.done():
            return self._answer.result().result
        assert self._lost is not None
        return self._lost

    @property
    def status(self) -> int:
        """The terminal status of the action goal: a constant of action_msgs/GoalStatus."""
        return int(self._answer.result().status)

    @property
    def machine_is_ready(self) -> bool:
        """Whether the machine has all that it needs, and no mission under way."""
        return self._state is not None and bool(self._state.phase == MachineState.IDLE)

    def wait_ready(self, timeout: float, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Wait until the machine is ready for a mission, or until an interrupt."""
        self._client.spin_until(lambda: self.machine_is_ready or interrupted(), timeout)
        if interrupted():
            raise KeyboardInterrupt
        if not self.machine_is_ready:
            waits_for = "" if self._state is None else self._state.waiting_for
            what = waits_for or self._client.how_to_start()
            raise SkmError(f"no machine node was ready for a mission after {timeout:g} s: {what}")

    def send(self, timeout: float) -> None:
        """Send the mission and wait until the machine has taken it."""
        deadline = time.monotonic() + timeout
        if not self._client.spin_until(self._server.server_is_ready, timeout):
            name = f"{self._client.namespace.rstrip('/')}/execute_mission"
            raise SkmError(f"no machine node serves {name}; {self._client.how_to_start()}")
        # A request to a machine that has just been started in a dead one's place can get lost. One of
        # megabytes takes its time: it is sent again after twice as long each time.
        patience = ANSWER_SECONDS
        taken = self._server.send_goal_async(self._goal, self._feedback)
        while not self._client.spin_until(taken.done, patience):
            if time.monotonic() > deadline:
                raise MissionLostError(f"the machine node did not answer within {timeout:g} s")
            patience = max(ANSWER_SECONDS, min(2 * patience, deadline - time.monotonic()))
            taken = self._server.send_goal_async(self._goal, self._feedback)
        self._handle = taken.result()
        if not self._handle.accepted:
            raise SkmError("the machine node takes no mission now: another one is under way")
        self._answer = self._handle.get_result_async()
        self._state = None  # it may be that of the mission before

    def cancel(self) -> None:
        """Ask the machine to end the mission; its result follows."""
        self._handle.cancel_goal_async()

    def _is_lost(self) -> bool:
        """Tell whether the machine is gone, or has forgotten the mission; that is its result then."""
        now = time.monotonic()
        silent = now - self._heard_at > SILENT_SECONDS
        if not silent or (self._alive and self._server.server_is_ready()):
            self._away_since = None
        elif self._away_since is None:
            self._away_since = now
        for since, what in (
            (self._away_since, "the machine node is gone; the mission with it"),
            (
                self._elsewhere_since,
                "the machine node no longer knows the mission: was it restarted?",
            ),
        ):
            if since is not None and since is self._away_since and self._survives:
                self._interrupted = True
                continue
            if self._lost is None and since is not None and now - since > LOST_SECONDS:
                self._lost = Result(outcome=Result.ERROR, reason=what)
                self.cancel()  # for a machine that was frozen, and thaws
        return self._lost is not None

    @property
    def _survives(self) -> bool:
        """Whether the mission is kept while the machine is away, and goes on afterwards."""
        return self.queue is not None and self.queue.resume != "never"

    def _on_liveliness(self, event: Any) -> None:  # noqa: ANN401 - of the middleware
        self._alive = event.alive_count > 0
        self._interrupted = self._interrupted or (self._answer is not None and not self._alive)

    def _ask_again(self) -> None:
        """Ask for the result again, of a machine that was started again and has, or had, the mission.

        That is one that was away and is back, or one that says that the mission is over and has sent no
        result: a machine can be back before anybody notices that it was away. More than once: a request
        to a node that has just been started can get lost.
        """
        now, later = time.monotonic(), self._later_answer
        if later is not None and later.done():
            if later.result().result.outcome != Result.UNKNOWN:
                self._answer = later
            self._later_answer = None
        late = now - self._asked_at > ANSWER_SECONDS
        overdue = self._over_since is not None and now - self._over_since > ANSWER_SECONDS
        back = self._interrupted and self._back
        if (back or overdue) and late and not self._answer.done():
            self._asked_at = now
            self._later_answer = self._handle.get_result_async()

    def close(self) -> None:
        """Stop listening."""
        self._client.node.destroy_subscription(self._states)
        self._client.node.destroy_subscription(self._queues)
        self._server.destroy()

    def _feedback(self, message: Any) -> None:  # noqa: ANN401 - made by rosidl
        if self._on_feedback is not None:
            self._on_feedback(message.feedback)

    def _on_state(self, state: MachineState) -> None:
        self._heard_at = time.monotonic()
        self._state = state
        self._look()

    def _on_queue(self, queue: MissionQueue) -> None:
        self.queue = queue
        self._queued = self._queued or self.number is not None
        self._look()

    def _look(self) -> None:
        """Note what the machine is about, and whether that is another goal than this one.

        Its state and its queue are two topics, which come in any order: either can be the last.
        """
        state, now = self._state, time.monotonic()
        if state is None or self._answer is None:
            return
        own = bytes(state.goal_id.uuid).hex() == self.goal_id
        if not own or state.phase not in (MachineState.IDLE, MachineState.WAITING):
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        waits = self._goal.when in (self._goal.QUEUE, self._goal.ADD) and not self._queued
        if own or waits or self.number is not None:
            self._elsewhere_since = None
            self._back = self._back or self._interrupted
        elif self._elsewhere_since is None:
            self._elsewhere_since = now

    @property
    def number(self) -> int | None:
        """The number of the mission among those that the machine is to do; None if it is not there."""
        if self.queue is None or self._answer is None:
            return None
        numbers = (
            one.number
            for one in self.queue.missions
            if bytes(one.goal_id.uuid).hex() == self.goal_id
        )
        return next(numbers, None)


# Recording one mission from the side of its client: `skm mission --record`.


SETTLE_SECONDS: Final = 12.0
"""How long to wait, at most, for the last messages of a mission that has ended."""
BEGIN_SECONDS: Final = 3.0
"""How long to wait, at most, for the first ones: a short mission is over before they are all heard."""


class MissionRecorder:
    """Records the mission that `wants` names; make it before the mission is sent."""

    def __init__(self, client: RosClient, folder: Path, timeout: float) -> None:
        self._client = client
        self._goal: str | None = None
        self._recorder = TopicRecorder(client.node, folder, wants=self._is_wanted)
        client.spin_until(lambda: self._recorder.hears("labels", "mission_log", "action"), timeout)

    def _is_wanted(self, goal: str) -> bool:
        """Tell whether a mission is the one; before it has a name, any new one may be."""
        return self._goal in (None, goal)

    def wants(self, goal: str) -> None:
        """Say which mission it is, as hexadecimal digits."""
        self._goal = goal

    def finish(self) -> str | None:
        """End the file once all of the mission is in it; return its path, None if there is none."""
        recorder = self._recorder
        self._client.spin_until(lambda: bool(recorder.files), BEGIN_SECONDS)
        if recorder.files:
            self._client.spin_until(lambda: not recorder.open_files, SETTLE_SECONDS)
        recorder.close()
        if not recorder.files:
            print("skm: nothing was recorded: the mission never began", file=sys.stderr)
            return None
        path = str(recorder.files[-1])
        print(f"skm: recorded {path}", file=sys.stderr)
        return path
