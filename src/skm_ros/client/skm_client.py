"""A robot on missions, from a program of one's own: run a mission, take it back, ask how it goes.

from skm_ros import SkmClient

with SkmClient() as robot:
    print(robot.run("F(dock & X F shelf)").outcome)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from skm.action import ExecuteMission
from std_srvs.srv import Trigger

from skm_machine.errors import SkmError
from skm_ros.client.events import set_event
from skm_ros.client.mission_goal import MissionGoal, MissionRequest
from skm_ros.client.monitoring import PHASES, Heard
from skm_ros.client.queue import Queue, edit_queue, pause_mission, queued, resume_mission
from skm_ros.client.ros_client import NAMESPACE, RosClient
from skm_ros.conversions import OUTCOMES

READY_SECONDS: Final = 60.0
"""How long nodes may take to start before a mission is refused."""
ANSWER_SECONDS: Final = 10.0
STATE_SECONDS: Final = 1.0
"""How long `wait` waits, at most, for the state of a result: `status` is to agree with it."""
SUCCESSES: Final = ("accepted", "satisfied so far")


@dataclass(frozen=True)
class MissionResult:
    """How a mission ended."""

    outcome: str
    """`accepted`, `failed`, `cancelled`, `rejected`, …: the constants of ExecuteMission, in words."""
    reason: str
    """Why it ended so, in a sentence."""
    steps: int
    """How many steps it took."""
    rounds: int
    """How often it was accepted: 1 for a mission with an end, any number for a recurring one."""
    seconds: float
    """How long it took, by the nodes' clock."""

    @property
    def succeeded(self) -> bool:
        """Whether the mission is accomplished, or a recurring one has done well until its limit."""
        return self.outcome in SUCCESSES


@dataclass(frozen=True)
class MissionStatus:
    """What the machine node says of itself and of the mission under way, or of the last one."""

    phase: str
    """`waiting` (for other nodes), `idle`, `preparing`, `running` or `stopped` (while on a mission)."""
    mission: str
    """As it was written; empty if there is none."""
    state: int
    """The state of the mission's reward machine, of `states`."""
    states: int
    """How many states its machine has."""
    target: str
    """What the robot goes for, as a formula."""
    steps: int
    """Steps since it began."""
    rounds: int
    """Of a recurring mission: completed rounds."""
    reason: str
    """Why the last mission ended, or the robot is stopped."""
    waiting_for: str
    """What it waits for; empty if for nothing."""


class SkmClient:
    """Sends missions to a running system (`skm up`, launch files), one at a time.

    Use it in a `with` statement. Messages are taken while one of its methods waits; there is no thread
    besides. Mission options are those of `MissionRequest`: planner, repeat, max_steps, max_seconds,
    reset, seed …
    """

    def __init__(self, namespace: str = NAMESPACE, domain_id: int | None = None) -> None:
        """Join the ROS graph; `domain_id` is by default that of ROS_DOMAIN_ID."""
        self._ros = RosClient(namespace, domain_id)
        self._heard = Heard(self._ros)
        self._goal: MissionGoal | None = None
        self._on_status: Callable[[MissionStatus], None] | None = None
        self._told_steps = -1
        """The steps that the last feedback of the mission under way was of."""

    def run(
        self,
        mission: str,
        *,
        timeout: float | None = None,
        on_status: Callable[[MissionStatus], None] | None = None,
        **options: Any,  # noqa: ANN401 - those of MissionRequest
    ) -> MissionResult:
        """Run a mission to its end; one that takes longer than `timeout` seconds is cancelled.

        An exception while it waits, such as Ctrl-C, cancels the mission, too: the robot stops.
        """
        self.start(mission, on_status=on_status, **options)
        try:
            return self.wait(timeout) or self.cancel()
        except BaseException:
            self._on_status = None  # it may be what raised, and would raise again
            self.cancel()
            raise

    def start(
        self,
        mission: str,
        *,
        on_status: Callable[[MissionStatus], None] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Begin a mission and return once it is taken; it takes the place of one under way.

        `on_status` is called while one of the methods waits, each time that the mission moves on.
        """
        request = MissionRequest(mission, **options)

        self._on_status, self._told_steps = on_status, -1

        def tell(feedback: ExecuteMission.Feedback) -> None:
            self._told_steps = feedback.machine.mission_steps
            if self._on_status is not None:
                self._on_status(_status(feedback.machine))

        if self._goal is None:
            goal = MissionGoal(self._ros, request.goal(), tell)
            goal.wait_ready(READY_SECONDS)
        else:
            self._goal.close()
            self._goal = None
            goal = MissionGoal(self._ros, request.goal(), tell)
        goal.send(ANSWER_SECONDS)
        self._goal = goal

    def wait(self, timeout: float | None = None) -> MissionResult | None:
        """Wait for the mission's end; None if it has not ended by then. 0 only looks."""
        goal = self._under_way()
        if timeout == 0:
            self._ros.take_what_is_there()
        if not self._ros.spin_until(lambda: goal.done, timeout):
            return None
        # The last feedback and state come beside the result, the state not at all from a dead machine.
        self._ros.take_what_is_there()
        self._ros.spin_until(lambda: goal.is_told_over and self._heard_is_over(goal), STATE_SECONDS)
        found = goal.result
        last = self._heard.machine
        # rclpy forgets who wants feedback as soon as a goal's status is terminal, even if the last
        # feedback is still on its way. The state says the same.
        untold = last is not None and last.mission_steps > self._told_steps
        if self._on_status and untold and bytes(last.goal_id.uuid).hex() == goal.goal_id:
            self._on_status(_status(last))
        goal.close()
        self._goal = None
        return MissionResult(
            OUTCOMES[found.outcome], found.reason, found.steps, found.accepted, found.seconds
        )

    def cancel(self) -> MissionResult:
        """Take the mission back; return how it ended, which may be by itself just before."""
        self._under_way().cancel()
        result = self.wait(ANSWER_SECONDS)
        if result is None:
            raise SkmError(f"the mission did not end within {ANSWER_SECONDS:g} s of its cancel")
        return result

    def status(self, timeout: float = ANSWER_SECONDS) -> MissionStatus:
        """Return where the machine is."""
        self._ros.take_what_is_there()
        if not self._ros.spin_until(lambda: self._heard.machine is not None, timeout):
            raise SkmError(f"nothing was heard in {timeout:g} s; {self._ros.how_to_start()}")
        return _status(self._heard.machine)

    def queue(self, mission: str, *, priority: int = 0, **options: Any) -> int:  # noqa: ANN401
        """Put a mission into the queue and return its number; it begins when its turn comes."""
        request = MissionRequest(mission, when="queue", priority=priority, **options)
        goal = MissionGoal(self._ros, request.goal())
        try:
            goal.send(ANSWER_SECONDS)
            self._ros.spin_until(lambda: goal.number is not None or goal.done, ANSWER_SECONDS)
            if goal.number is None:
                raise SkmError("the mission is not in the machine's queue")
            return goal.number
        finally:
            goal.close()

    def add(self, mission: str, **options: Any) -> None:  # noqa: ANN401
        """Add a mission to what is left of the one under way, and follow both as one (`wait`).

        If that cannot be done, its result says so, and the mission under way goes on as it was.
        """
        self.start(mission, when="add", **options)

    def replace(self, mission: str, **options: Any) -> None:  # noqa: ANN401
        """Begin a mission in the place of the one under way, whatever the machine usually does."""
        self.start(mission, when="replace", **options)

    def missions(self) -> Queue:
        """Return what the machine is to do: the mission under way, and those that wait."""
        return queued(self._ros, ANSWER_SECONDS)

    def remove(self, number: int) -> None:
        """Take a mission out of the queue; the one under way is cancelled."""
        edit_queue(self._ros, "remove", number, timeout=ANSWER_SECONDS)

    def move(self, number: int, place: int) -> None:
        """Put a mission that waits at another place, from 1."""
        edit_queue(self._ros, "move", number, place, timeout=ANSWER_SECONDS)

    def pause_mission(self) -> None:
        """Let the robot rest; the mission goes on, where it is, with `resume_mission`."""
        pause_mission(self._ros, ANSWER_SECONDS)

    def resume_mission(self) -> None:
        """Go on with what was paused, or waits to be allowed after a restart."""
        resume_mission(self._ros, ANSWER_SECONDS)

    def stop(self) -> None:
        """Stop the robot at once; the mission goes on when `resume` lets it."""
        self._trigger("stop")

    def resume(self) -> None:
        """Let a robot that was stopped go on."""
        self._trigger("resume")

    def set_event(self, name: str, value: bool = True) -> None:
        """Tell the mission that an event is true, or no longer."""
        answer = set_event(self._ros, name, value, ANSWER_SECONDS)
        if not answer["effective"]:
            raise SkmError(f"the event '{name}' had no effect: {answer['reason']}")

    def close(self) -> None:
        """Leave the graph; a mission under way goes on."""
        self._ros.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _under_way(self) -> MissionGoal:
        if self._goal is None:
            raise SkmError("no mission is under way; `run` or `start` one first")
        return self._goal

    def _heard_is_over(self, goal: MissionGoal) -> bool:
        """Whether `status` says so, too: it has a subscription of its own."""
        machine = self._heard.machine
        if machine is None or bytes(machine.goal_id.uuid).hex() != goal.goal_id:
            return True
        return PHASES[machine.phase] in ("idle", "waiting")

    def _trigger(self, service: str) -> None:
        answer = self._ros.call(Trigger, service, Trigger.Request(), ANSWER_SECONDS)
        if not answer.success:
            raise SkmError(f"{service} was refused: {answer.message}")


def _status(state: Any) -> MissionStatus:  # noqa: ANN401 - made by rosidl
    return MissionStatus(
        PHASES[state.phase],
        state.mission,
        state.state,
        state.states,
        state.target,
        state.mission_steps,
        state.accepted,
        state.reason,
        state.waiting_for,
    )
