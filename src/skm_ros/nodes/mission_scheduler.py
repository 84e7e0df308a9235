"""Which mission is under way on the machine node, which wait, and which joins it; kept over restarts.

A goal of the action `execute_mission` says when it is to be done: at once, in place of the mission
under way, after it, or together with it. Missions that are to outlive the node are kept in a file, and
taken up again when it starts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from skm.action import ExecuteMission

from skm_machine.errors import SkmError, concise
from skm_primitives.execution.closed_places import state_folder
from skm_primitives.execution.joining import joined_text
from skm_primitives.execution.kept_missions import KeptMissions
from skm_ros import qos
from skm_ros.conversions import OUTCOMES
from skm_ros.nodes.mission_execution import Execution
from skm_ros.nodes.mission_interface import MissionNode, MissionView
from skm_ros.nodes.mission_queue import MOST_WAITING, Entry, MissionQueue
from skm_ros.nodes.mission_server import RESULT_SECONDS, MissionServer
from skm_ros.nodes.mission_steps import JOINING

NO_NEXT: Final = (ExecuteMission.Result.CANCELLED, ExecuteMission.Result.ERROR)
"""After these nothing else begins by itself: somebody wants the robot to stop, or it cannot go on."""


class MissionScheduler:
    """Begins missions on a node: one is under way, others wait, or join it. It is a `MissionOwner`."""

    def __init__(self, node: MissionNode) -> None:
        self._node = node
        self.present: Execution | None = None
        """The mission under way."""
        self.last: MissionView | None = None
        """The mission that has ended last."""
        self.joining: Execution | None = None
        """A mission that takes the place of the present one, with its rest, once it is planned."""
        self._joined_moves = 0
        """The moves of the mission under way when its rest was worked out."""
        folder = state_folder(node.setting("state_folder"), node.get_namespace())
        self._kept = KeptMissions(folder)
        self._restoring = True
        """Whether what was kept has not been taken up yet."""
        self.keeping_seconds = 0.0
        """How long it has taken so far to keep missions."""
        self.queue = MissionQueue(
            node, keep=self.keep, on_removed=self._on_removed, on_change=self._on_queue_changed
        )
        self._server = MissionServer(
            node,
            ExecuteMission,
            "execute_mission",
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            callback_group=node.low_priority,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
            result_timeout=RESULT_SECONDS,
        )

    @property
    def under_way(self) -> list[Execution]:
        """The mission under way, and the one that is to join it."""
        return [one for one in (self.present, self.joining) if one is not None]

    @property
    def paused(self) -> str:
        """Why nothing goes on; empty if it does."""
        return self.queue.paused

    # Missions

    def _on_goal(self, goal: ExecuteMission.Goal) -> GoalResponse:
        if not self._node.active:
            return GoalResponse.REJECT
        busy = self.present is not None and goal.when == ExecuteMission.Goal.AS_USUAL
        if busy and self._node.setting("on_new_mission") == "reject":
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
        elif when == ExecuteMission.Goal.ADD and self.present is not None:
            self._join(entry)
        else:
            if when != ExecuteMission.Goal.ADD:
                self.queue.paused = ""  # its sender wants it done now
            self._begin(entry)

    def _begin(self, entry: Entry) -> None:
        """Begin a mission; it takes the place of one under way."""
        before = self.present
        self.present = Execution(self._node, entry)
        if before is not None:
            before.finish(ExecuteMission.Result.PREEMPTED, "a newer mission took its place")
        self.queue.begin(entry)
        self._node.events.begin()
        entry.handle.execute()
        self._node.publish_machine_state()
        self.present.prepare()

    def _begin_next(self) -> None:
        """Begin the mission whose turn it is, if none is under way."""
        if self.present is not None or not self._node.active:
            return
        entry = self.queue.next()
        if entry is not None:
            self._begin(entry)

    def refuse(self, handle: ServerGoalHandle, outcome: int, reason: str) -> None:
        """End a goal that was never begun."""
        self._node.counts[f"missions {OUTCOMES[outcome]}"] += 1
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
        for execution in self.under_way:
            if execution.handle.goal_id == handle.goal_id:
                execution.finish(ExecuteMission.Result.CANCELLED, reason)
                return
        self.refuse(handle, ExecuteMission.Result.CANCELLED, reason)

    def _on_queue_changed(self) -> None:
        """Take note that missions were paused, or may go on."""
        steps = None if self.present is None else self.present.steps
        if self.queue.paused and steps is not None:
            steps.rest(self.queue.paused)
        self._begin_next()

    # Missions that outlive the node

    @property
    def survives(self) -> bool:
        """Whether missions outlive restarts."""
        return bool(self._node.setting("resume") != "never")

    def ask_to_resume(self, why: str) -> None:
        """Wait for a person before the mission goes on, where that is wanted."""
        if self._node.setting("resume") == "ask" and not self.queue.paused:
            self.queue.pause(f"{why}: `skm resume` goes on")

    def keep(self) -> None:
        """Keep what is to outlive the node: before anyone hears of it."""
        if not self.survives or self._restoring:
            return
        queue, present = self.queue, self.present
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
            self._node.drop("missions that cannot be kept", error)
        self._node.counts["missions kept"] += 1
        self.keeping_seconds += time.monotonic() - began

    def restore(self) -> None:
        """Take up what was kept before a restart: once the node has all that missions use."""
        try:
            found = self._kept.load() if self.survives else None
            if found is not None:
                self._take_up(found)
        except SkmError as error:
            self._node.get_logger().error(str(error))
        finally:
            self._restoring = False
        self.queue.publish()

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
        if self._node.setting("resume") == "ask" and not queue.paused:
            queue.paused = (
                "the machine was restarted: `skm resume` goes on, `skm queue` shows with what"
            )
        count = len(waiting) + bool(present)
        self._node.get_logger().warning(f"missions of before a restart: {count}")
        if present is None:
            return
        goal, stands = present.handle.request, under_way["stands"]
        self.present = Execution(self._node, present, goal=goal, stands=stands, patient=True)
        queue.current = present
        self._node.events.begin()
        present.handle.execute()
        self.present.prepare()

    def _restored(self, kept: Mapping[str, Any]) -> Entry:
        """Return a mission that was kept, as the goal that its client knows."""
        goal = ExecuteMission.Goal(**kept["goal"])
        handle = self._server.restore(bytes.fromhex(kept["goal_id"]), goal)
        return Entry(int(kept["number"]), handle, int(kept["priority"]))

    # A mission that joins the one under way

    def _join(self, entry: Entry) -> None:
        """Plan what is left of the mission under way with another one; the robot stands meanwhile."""
        present, handle = self.present, entry.handle
        assert present is not None
        if self.joining is not None:
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
        self.joining = Execution(self._node, entry, goal=goal)
        self._joined_moves = present.steps.run.tracker.moves
        self.queue.join(entry)
        self.joining.prepare()

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
        names = (*present.skills.propositions, *self._node.events.names)
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

    def make_way(self, mission: MissionView) -> bool:
        """Let a mission begin that has joined the one under way; tell whether it may."""
        present = self.present
        if mission is present:
            return True
        entry = mission.entry
        if present is None or present.steps is None:  # It has ended meanwhile.
            self.joining = None
            self.queue.join(None)
            self._begin(entry)
            return False
        if present.steps.run.tracker.moves != self._joined_moves:
            self.joining = None
            self._join(entry)  # Something else is left of it now.
            return False
        self.present, self.joining = self.joining, None
        self.queue.joining = None
        entry.handle.execute()
        reason = "it goes on as a part of the mission that was added"
        present.finish(ExecuteMission.Result.PREEMPTED, reason)
        self.queue.begin(entry)
        self._node.events.begin()
        return True

    def _not_joined(self, mission: MissionView) -> None:
        """Go on with the mission under way: the one that was to join it cannot."""
        self.joining = None
        self.queue.join(None)
        if not mission.handle.is_cancel_requested:
            mission.handle.execute()
        if self.present is not None and self.present.steps is not None:
            self.present.steps.joining = False

    # The end of a mission, and of the node

    def close(self) -> bool:
        """End the mission under way, unless it outlives the node; tell whether it did."""
        present, node = self.present, self._node
        if present is None:
            return False
        if self.survives and node.active:
            if present.steps is not None:
                node.stop_robot(present.steps.state.key)
            self.keep()
            self._restoring = True  # It is kept as it is.
            return False
        reason = "the machine is shutting down" if node.active else "the machine is not active"
        if self.joining is not None:
            self.joining.finish(ExecuteMission.Result.ERROR, reason)
        present.finish(ExecuteMission.Result.ERROR, reason)
        return True

    def feed_back(self, message: ExecuteMission.Impl.FeedbackMessage) -> None:
        """Publish the feedback of the mission under way."""
        self._server.feed_back(message)

    def answer(self, handle: ServerGoalHandle, result: ExecuteMission.Result) -> None:
        """Send the result of a goal that has its terminal status."""
        self._server.answer(handle, result)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        # The goal is being cancelled only after this callback has returned.
        running = [one.handle for one in self.under_way]
        waiting = [one.handle for one in self.queue.waiting]
        if all(one.goal_id != handle.goal_id for one in (*running, *waiting)):
            return CancelResponse.REJECT
        self._node.executor.create_task(self._cancel, handle)
        return CancelResponse.ACCEPT

    def _cancel(self, handle: ServerGoalHandle) -> None:
        reason = "the client took the mission back"
        if self.queue.discard(handle):
            self.refuse(handle, ExecuteMission.Result.CANCELLED, reason)
            return
        for execution in self.under_way:
            if execution.handle.goal_id == handle.goal_id:
                execution.finish(ExecuteMission.Result.CANCELLED, reason)

    def on_finished(self, mission: MissionView) -> None:
        """Take note that a mission has ended; ready for the next."""
        if mission is self.joining:
            self._not_joined(mission)
            return
        outcome = OUTCOMES[mission.outcome]
        present = self.present
        self.last = mission
        if present is not mission:  # Another one took its place.
            self._node.counts[f"missions {outcome}"] += 1
            self._node.get_logger().info(f"mission {outcome}: {mission.reason}")
            self._node.events.end(f"the mission ended before it could take effect: {outcome}")
            return
        self.present = None
        self._node.counts[f"missions {outcome}"] += 1
        self._node.get_logger().info(f"mission {outcome}: {mission.reason}")
        self._node.events.end(f"the mission ended before it could take effect: {outcome}")
        if self.queue.waiting and mission.outcome in NO_NEXT:
            self.queue.paused = f"the mission was {outcome}: `skm resume` goes on with the next one"
        self.queue.begin(None)
        self._node.publish_machine_state()
        self._node.executor.create_task(self._begin_next)


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
