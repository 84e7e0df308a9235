"""The team node: one mission for several robots, each behind a simulator or bridge of its own.

Relative to its namespace (/skm):
    offers      execute_mission (skm/ExecuteMission), as the machine node does for one robot
                stop, resume (std_srvs/Trigger): passed on to all robots
    publishes   machine_state (skm/MachineState) and mission_log (skm/MissionLog)
                labels (skm/Labels) of every step: `kitchen` is any robot there, `r1.kitchen` this one
                action (skm/Action): the stop at the end of a mission, to all robots
                observation (skm/Observation): the cell of each robot, and whether all are stopped
                markers (visualization_msgs/MarkerArray): all robots, each with its way, if `render` asks
                /diagnostics (diagnostic_msgs/DiagnosticArray)
For each robot, in the namespace of its name (/r1):
    subscribes  observation (skm/Observation): the cell that it is in
    publishes   action (skm/Action)
    uses        stop, resume (std_srvs/Trigger)

A step of the team is over when each robot has confirmed its cell: see
`skm_primitives.execution.team_dispatch`. A robot that is silent for `gone_after` seconds is gone, one
that does not arrive for `stuck_after` is stuck: it gets no work, and the rest is planned again. Plans
are made in a thread of their own.

`stop` is asked of every robot, again and again until it says that it is stopped; no robot is sent on
before `resume`. The team is stopped when each robot says so: one that is silent has not said it.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from skm.action import ExecuteMission
from skm.msg import Action, Labels, MachineState, MissionLog, Observation
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from skm_machine.errors import SkmError
from skm_machine.mission import Mission, compile_mission
from skm_machine.tracker import MissionTracker
from skm_primitives.execution.team_dispatch import (
    GONE_SECONDS,
    STUCK_SECONDS,
    TeamDispatch,
    action_to,
)
from skm_primitives.execution.team_run import TeamRun, team_mission, team_of
from skm_primitives.planning.map_domains import building_of
from skm_primitives.planning.place_graph import cells_of
from skm_primitives.skills.loading import load_primitives
from skm_ros import qos
from skm_ros.conversions import label_values, transition_message
from skm_ros.graph import robot_names
from skm_ros.markers import marker_array
from skm_ros.nodes.mission_server import RESULT_SECONDS, MissionServer
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.sim_node import MAP_FRAME
from skm_ros.nodes.skm_node import OK, WARN, Setting, SkmNode
from skm_sim.maps.scene import team_scene
from skm_sim.registry import get_domain

Result = ExecuteMission.Result
WATCH_SECONDS: Final = 0.05
STATE_SECONDS: Final = 0.2
"""How often `machine_state` says that the team is alive."""
SHOWN_SECONDS: Final = 0.5
"""How often `observation` says where the robots are, if nothing changes."""
STOP_SECONDS: Final = 0.5
"""How often a robot is asked to stop that does not say that it is stopped."""

SETTINGS: Final = (
    Setting("domain", "hall", "domain on a map: name or folder of `skm map`", fixed=True),
    Setting("robots", "2", "how many robots, r1, r2, …, or their names with commas", fixed=True),
    Setting(
        "margin",
        0.1,
        "metres that a robot may stray from its way: so much more room is kept around each",
        low=0.0,
        high=5.0,
        fixed=True,
    ),
    Setting(
        "render",
        "none",
        "what to publish for people: markers for RViz, the page and pictures (or all), or nothing",
        choices=("none", "image", "markers", "all"),
        fixed=True,
    ),
    Setting("plan_seconds", 2.0, "CPU seconds for the first plan", low=0.1, high=600.0),
    Setting(
        "gone_after",
        GONE_SECONDS,
        "seconds of silence after which a robot is gone",
        low=0.5,
        high=600.0,
    ),
    Setting(
        "stuck_after",
        STUCK_SECONDS,
        "seconds for one cell after which a robot is stuck",
        low=1.0,
        high=3600.0,
    ),
)


@dataclass
class Robot:
    """What is heard of one robot."""

    name: str
    actions: Any
    stop: Any
    resume: Any
    """Clients of its services."""
    seen: Observation | None = None
    heard_at: float = -1e9
    answered: tuple[int, int, int] = (0, 0, 0)
    """Session, episode and step of the state that was answered last."""
    moving: bool = False
    """Whether it was sent on, and not stopped since."""


@dataclass
class Execution:
    """A mission under way, or the last one."""

    handle: ServerGoalHandle
    mission: Mission | None = None
    run: TeamRun | None = None
    dispatch: TeamDispatch | None = None
    tracker: MissionTracker | None = None
    outcome: int = Result.UNKNOWN
    reason: str = ""
    began_at: float = 0.0
    planning: bool = True
    cancelled: bool = False
    logged: int = 0
    """Moves of the machine that were logged."""
    again_at: float | None = None
    """When planning again began, for robots that are gone or stuck."""
    again_cpu: tuple[float, float] = (0.0, 0.0)
    """The CPU time that it took, and for how long it waited for a CPU."""


def _waited_for_cpu() -> float:
    """Return how many seconds this thread has been ready with no CPU free; 0 where no kernel says it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class TeamNode(SkmNode):
    """Runs one mission of the team at a time; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("team", SETTINGS, **options)
        spec = get_domain(self.setting("domain"))
        skills = load_primitives(spec)
        cells = cells_of(skills)
        if cells is None:
            raise SkmError(f"teams are planned where the world is known, not in {spec.name}")
        self._domain, self._cells = spec.name, cells
        self._building = building_of(spec)
        self._team = team_of(
            robot_names(self.setting("robots")),
            cells,
            self._building,
            margin=self.setting("margin"),
            asynchronous=True,
        )
        names = self._team.propositions()
        self._values_of = label_values(names)
        self._labels = Labels(session=secrets.randbits(63) + 1, names=list(names))
        self._entry = MissionLog(domain=spec.name)
        self._execution: Execution | None = None
        self._last: Execution | None = None
        self._thread: threading.Thread | None = None
        self._then: Callable[[], None] | None = None
        self._stopped = False
        """Whether the team is to stand until `resume`."""
        self._all_labels = self.create_publisher(Labels, "labels", qos.LABELS)
        self._states = self.create_publisher(MachineState, "machine_state", qos.ALIVE)
        self._logs = self.create_publisher(MissionLog, "mission_log", qos.LOG)
        self._actions = self.create_publisher(Action, "action", qos.COMMAND)
        self._observations = self.create_publisher(Observation, "observation", qos.STATE)
        self._markers = None
        self._marked: tuple[object, ...] = ()
        if self.setting("render") in ("markers", "all") and self._building is not None:
            self._markers = self.create_publisher(MarkerArray, "markers", qos.MARKERS)
        self._robots = [self._connect(name) for name in self._team.names]
        self._server = MissionServer(
            self,
            ExecuteMission,
            "execute_mission",
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
            result_timeout=RESULT_SECONDS,
        )
        self.create_service(Trigger, "stop", self._on_stop)
        self.create_service(Trigger, "resume", self._on_resume)
        self.create_timer(WATCH_SECONDS, self._watch, clock=self.steady_clock)
        self.create_timer(STOP_SECONDS, self._insist, clock=self.steady_clock)
        self.every(STATE_SECONDS, self._publish_state)
        self.every(SHOWN_SECONDS, self._publish_observation)
        self.every(STATE_SECONDS, self._publish_markers)
        self.get_logger().info(f"a team of {', '.join(self._team.names)} in {spec.name}")

    def _connect(self, name: str) -> Robot:
        robot = Robot(
            name,
            self.create_publisher(Action, f"/{name}/action", qos.COMMAND),
            self.create_client(Trigger, f"/{name}/stop"),
            self.create_client(Trigger, f"/{name}/resume"),
        )
        number = self._team.names.index(name)

        def on_observation(message: Observation) -> None:
            self._on_observation(number, message)

        self.create_subscription(Observation, f"/{name}/observation", on_observation, qos.STATE)
        return robot

    # Robots

    def _on_observation(self, number: int, message: Observation) -> None:
        """Take note of where a robot is, and send it on if it may go."""
        if message.kind != Observation.DISCRETE or not (
            0 <= message.discrete < len(self._cells.labels)
        ):
            self.drop("observation of no cell of the map")
            return
        robot, now = self._robots[number], time.monotonic()
        robot.seen, robot.heard_at = message, now
        robot.answered = (0, 0, 0)  # what is shown again wants an answer again
        if self._stopped:
            self._publish_observation()  # who has asked for it waits for the last robot to say so
        execution = self._execution
        if execution is None or execution.dispatch is None:
            return
        execution.dispatch.saw(number, message.discrete, now, message.stopped)
        if not execution.planning:
            self._advance(execution, now)

    def _send_on(self, execution: Execution, now: float) -> None:
        """Answer the latest state of each robot that may move."""
        assert execution.dispatch is not None
        for number, robot in enumerate(self._robots):
            target = None if self._stopped else execution.dispatch.target(number, now)
            if robot.seen is None:
                continue
            if target is None:
                if robot.moving and robot.seen.period > 0:  # else it would go on as before
                    self._act(robot, Action.STOP)
                robot.moving = False
                continue
            action = action_to(self._cells.successors, robot.seen.discrete, target)
            state = robot.seen.session, robot.seen.episode, robot.seen.step
            if action is not None and state != robot.answered:
                robot.answered, robot.moving = state, True
                self._act(robot, Action.DISCRETE, action)

    def _act(self, robot: Robot, kind: int, action: int = 0) -> None:
        seen = robot.seen
        if seen is None:
            return
        message = Action(kind=kind, discrete=action, header=seen.header)
        message.session, message.episode, message.step = seen.session, seen.episode, seen.step
        robot.actions.publish(message)

    @property
    def _missing(self) -> list[str]:
        """The robots that have not been heard recently."""
        now, patience = time.monotonic(), self.setting("gone_after")
        return [f"/{robot.name}" for robot in self._robots if now - robot.heard_at > patience]

    # Stops

    def _on_stop(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        """Bring all robots to rest."""
        if not self._stopped:
            self.get_logger().warning("the team is stopped; resume lets it move again")
        self._stopped = True
        self.counts["stops by service"] += 1
        for robot in self._robots:
            self._act(robot, Action.STOP)
        deaf = self._ask("stop", self._robots)
        response.success, response.message = not deaf, "all robots are told to stop"
        if deaf:
            response.message = f"{' and '.join(deaf)} cannot be told to stop"
        return response

    def _on_resume(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        """Let all robots move again."""
        held = self._stopped or any(r.seen is not None and r.seen.stopped for r in self._robots)
        self._stopped = False
        deaf = self._ask("resume", self._robots)
        response.success, response.message = held, "free" if held else "was not stopped"
        if deaf:
            response.message += f"; {' and '.join(deaf)} cannot be told"
        return response

    def _ask(self, what: str, robots: Sequence[Robot]) -> list[str]:
        """Call a service of robots; return the names of those that do not offer it now."""
        deaf = []
        for robot in robots:
            client = robot.stop if what == "stop" else robot.resume
            if client.service_is_ready():
                client.call_async(Trigger.Request())
            else:
                deaf.append(robot.name)
        return deaf

    def _insist(self) -> None:
        """Ask robots again that do not say that they are stopped: a call may be lost, a node restart."""
        if self._stopped:
            moving = [r for r in self._robots if r.seen is None or not r.seen.stopped]
            self._ask("stop", moving)

    @property
    def _why_stopped(self) -> str:
        """Why no robot can move; empty: one can, or does not say that it cannot."""
        if self._missing:
            return ""
        reasons = [robot.seen.stopped if robot.seen else "" for robot in self._robots]
        if not all(reasons):
            return ""
        if len(set(reasons)) == 1:
            return str(reasons[0])
        return "; ".join(f"{r.name}: {why}" for r, why in zip(self._robots, reasons, strict=True))

    def _publish_observation(self) -> None:
        """Show the team as a robot shows itself, as long as any is heard; for people and recordings."""
        if len(self._missing) == len(self._robots):
            return
        seen = Observation(kind=Observation.VECTOR, stopped=self._why_stopped)
        seen.header = self._labels.header
        seen.session, seen.episode = self._labels.session, self._labels.episode
        seen.step = self._labels.step
        seen.data = [float(r.seen.discrete) if r.seen else -1.0 for r in self._robots]
        self._observations.publish(seen)

    # Missions

    def _on_goal(self, goal: ExecuteMission.Goal) -> GoalResponse:
        plain = goal.when in (goal.AS_USUAL, goal.REPLACE) and not goal.repeat
        free = self._execution is None and self.active
        return GoalResponse.ACCEPT if plain and free else GoalResponse.REJECT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        execution = self._execution = Execution(handle)
        self._publish_state()
        if missing := self._missing:
            self._finish(execution, Result.REJECTED, f"nothing is heard of {' and '.join(missing)}")
            return
        goal = handle.request
        if goal.reset or goal.horizon == goal.HORIZON_INFINITE:
            what = "is not reset" if goal.reset else "has missions with an end only"
            self._finish(execution, Result.REJECTED, f"a team {what}")
            return
        starts = [robot.seen.discrete for robot in self._robots if robot.seen is not None]
        seconds = self.setting("plan_seconds")

        def plan() -> Callable[[], None]:
            try:
                mission = team_mission(goal.mission, self._team, goal.format or "auto")
                run = TeamRun(mission.machine, self._team, starts, seconds)  # type: ignore[arg-type]
                judged = compile_mission(
                    goal.mission,
                    format=goal.format or "auto",
                    propositions=self._team.propositions(),
                    horizon="finite",
                    parts="if large",
                )
            except SkmError as error:
                reason = str(error)
                return lambda: self._finish(execution, Result.REJECTED, reason)
            return lambda: self._begin(execution, judged, run)

        self._plan(execution, plan)

    def _plan(self, execution: Execution, work: Callable[[], Callable[[], None]]) -> None:
        """Work in a thread of its own; what comes of it is done in the node's own."""
        execution.planning = True

        def in_thread() -> None:
            try:
                self._then = work()
            except Exception as error:
                reason = f"planning broke off: {error!r}"
                self._then = lambda: self._finish(execution, Result.ERROR, reason)

        self._thread = threading.Thread(target=in_thread, name="planning", daemon=True)
        self._thread.start()

    def _begin(self, execution: Execution, mission: Mission, run: TeamRun) -> None:
        now = time.monotonic()
        execution.mission, execution.run = mission, run
        execution.tracker = MissionTracker(mission.machine, ())
        execution.dispatch = TeamDispatch(
            run,
            now,
            gone_after=self.setting("gone_after"),
            stuck_after=self.setting("stuck_after"),
        )
        if run.outcome:
            self._finish(execution, Result.REJECTED, run.reason)
            return
        execution.began_at = now
        self._labels.episode += 1
        self._labels.step = 0
        self._entry = MissionLog(domain=self._domain)
        cells = [path[-1] for path in run.paths]
        execution.tracker.start(self._team.labels(cells))
        self._show(cells)
        self._log(execution, MissionLog.BEGAN)
        for number, robot in enumerate(self._robots):
            if robot.seen is not None:
                execution.dispatch.saw(number, robot.seen.discrete, robot.heard_at)
        self._go_on(execution)

    def _go_on(self, execution: Execution) -> None:
        """Go on by a plan that has just been made, if there is one."""
        run, dispatch = execution.run, execution.dispatch
        assert run is not None
        assert dispatch is not None
        now = time.monotonic()
        if execution.again_at is not None:
            took, execution.again_at = now - execution.again_at, None
            used, waited = execution.again_cpu
            said = f"{used:.2f} s of CPU, {waited:.2f} s waiting for one"
            self.get_logger().info(f"planned again in {took:.2f} s ({said})")
        if run.outcome:
            self._end_run(execution)
            return
        execution.planning = False
        dispatch.replanned(now)
        self._publish_markers()  # a short mission is over before the next look
        self._send_on(execution, now)

    def _watch(self) -> None:
        """Take what planning has brought, and look for robots that are gone or stuck."""
        if self._then is not None:
            then, self._then = self._then, None
            then()
        execution = self._execution
        if execution is None or execution.planning:
            return
        if execution.cancelled:
            self._finish(execution, Result.CANCELLED, "the client took it back")
            return
        self._advance(execution, time.monotonic())

    def _advance(self, execution: Execution, now: float) -> None:
        """End the step if it is over, plan again if it cannot be, and send robots on."""
        run, dispatch = execution.run, execution.dispatch
        assert run is not None
        assert dispatch is not None
        goal = execution.handle.request
        while dispatch.arrived:
            run.step()
            self._read(execution)
            if run.outcome:
                self._end_run(execution)
                return
            if goal.max_steps and len(run.paths[0]) > goal.max_steps:
                self._finish(execution, Result.TIMED_OUT, f"{goal.max_steps} steps were taken")
                return
            dispatch.begin(now)
        if goal.max_seconds and now - execution.began_at > goal.max_seconds:
            self._finish(execution, Result.TIMED_OUT, f"{goal.max_seconds:g} s have passed")
            return
        for name, reason in dispatch.missing(now).items():
            self.counts["robots lost"] += 1
            self.get_logger().warning(reason)
            self._act(self._robots[self._team.names.index(name)], Action.STOP)
        if dispatch.interrupted and dispatch.settled:
            self._plan_again(execution)
        else:
            self._send_on(execution, now)

    def _plan_again(self, execution: Execution) -> None:
        """Give the work of lost robots to the others, from where everyone is."""
        run, dispatch = execution.run, execution.dispatch
        assert run is not None
        assert dispatch is not None
        lost, halted = dispatch.lost, dispatch.halted
        if dispatch.cells != [path[-1] for path in run.paths]:
            run.take(dispatch.cells)
            self._read(execution)
        if run.outcome:
            self._end_run(execution)
            return

        def plan() -> Callable[[], None]:
            began, waited = time.thread_time(), _waited_for_cpu()
            run.lose(*lost, halted=halted)
            execution.again_cpu = time.thread_time() - began, _waited_for_cpu() - waited
            return lambda: self._go_on(execution)

        self.counts["plans made again"] += 1
        execution.again_at = time.monotonic()
        self._plan(execution, plan)

    def _read(self, execution: Execution) -> None:
        """Publish the labels of a step of the team, and let the judge's machine read them."""
        run, tracker = execution.run, execution.tracker
        assert run is not None
        assert tracker is not None
        cells = [path[-1] for path in run.paths]
        self._labels.step += 1
        moves = tracker.moves
        tracker.update(self._team.labels(cells))
        self._show(cells)
        if tracker.moves != moves:
            self._log(execution, MissionLog.WENT_ON)

    def _show(self, cells: list[int]) -> None:
        self._labels.header.stamp = self.get_clock().now().to_msg()
        self._labels.values = self._values_of(self._team.labels(cells))
        self._all_labels.publish(self._labels)
        self._publish_observation()

    def _end_run(self, execution: Execution) -> None:
        run = execution.run
        assert run is not None
        outcomes = {"accepted": Result.ACCEPTED, "failed": Result.FAILED}
        self._finish(execution, outcomes.get(run.outcome, Result.FAILED), self._why(execution))

    def _why(self, execution: Execution) -> str:
        """Return why a mission has ended, with what became of robots that were lost."""
        assert execution.run is not None
        lost = {} if execution.dispatch is None else execution.dispatch.reasons
        return "; ".join(filter(None, (execution.run.reason, *lost.values())))

    def _finish(self, execution: Execution, outcome: int, reason: str) -> None:
        """End a mission with its one result; the robots stand."""
        execution.outcome, execution.reason = outcome, reason
        for robot in self._robots:
            self._act(robot, Action.STOP)
        stop = Action(kind=Action.STOP, header=self._labels.header)
        stop.session, stop.episode = self._labels.session, self._labels.episode
        stop.step = self._labels.step
        self._actions.publish(stop)
        result = Result(outcome=outcome, reason=reason, words=reason)
        if outcome not in (Result.ACCEPTED, Result.CANCELLED):
            result.error_code, result.error_msg = Result.ERROR_OFFSET + outcome, reason
        tracker = execution.tracker
        if tracker is not None:
            result.steps, result.accepted = tracker.steps, tracker.accepting_visits
            result.seconds = time.monotonic() - execution.began_at
            kept = tracker.transitions[-Result.MAX_TRANSITIONS :]
            result.transitions = [transition_message(move) for move in kept]
            self._log(execution, MissionLog.ENDED, result.seconds)
        self._execution, self._last = None, execution
        if outcome == Result.ACCEPTED:
            execution.handle.succeed()
        elif outcome == Result.CANCELLED:
            execution.handle.canceled()
        else:
            execution.handle.abort()
        self._server.answer(execution.handle, result)
        self._publish_state()

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        execution = self._execution
        if execution is None or execution.handle.goal_id != handle.goal_id:
            return CancelResponse.REJECT
        execution.cancelled = True
        return CancelResponse.ACCEPT

    # What is said of it

    def _log(self, execution: Execution, kind: int, seconds: float = 0.0) -> None:
        entry, goal, tracker = self._entry, execution.handle.request, execution.tracker
        assert tracker is not None
        entry.header.stamp = self._labels.header.stamp
        entry.goal_id, entry.kind, entry.seconds = execution.handle.goal_id, kind, seconds
        entry.mission, entry.format, entry.horizon = goal.mission, goal.format, "finite"
        entry.planner, entry.max_steps = "product", goal.max_steps
        entry.max_seconds = goal.max_seconds
        entry.session, entry.episode = self._labels.session, self._labels.episode
        entry.step = self._labels.step
        entry.mission_steps, entry.accepted = tracker.steps, tracker.accepting_visits
        entry.state, entry.states = tracker.state, tracker.machine.num_states
        entry.outcome, entry.reason = execution.outcome, execution.reason
        moves = tracker.transitions_since(execution.logged)
        entry.transitions = [transition_message(move) for move in moves]
        execution.logged = tracker.moves
        self._logs.publish(entry)
        entry.number += 1

    def _publish_state(self) -> None:
        state = MachineState(planner="product")
        state.header.stamp = self.get_clock().now().to_msg()
        execution = self._execution or self._last
        if self._execution is not None:
            planning = self._execution.tracker is None
            state.phase = MachineState.PREPARING if planning else MachineState.RUNNING
        elif missing := self._missing:
            state.phase = MachineState.WAITING
            state.waiting_for = " and ".join(missing)
        else:
            state.phase = MachineState.IDLE
        if execution is not None:
            state.goal_id, state.mission = (
                execution.handle.goal_id,
                execution.handle.request.mission,
            )
            state.outcome, state.reason = execution.outcome, execution.reason
            state.words = self._words(execution)
            if (tracker := execution.tracker) is not None:
                state.state, state.states = tracker.state, tracker.machine.num_states
                state.mission_steps, state.accepted = tracker.steps, tracker.accepting_visits
                state.session, state.episode = self._labels.session, self._labels.episode
                state.step = self._labels.step
        self._states.publish(state)

    def _publish_markers(self) -> None:
        """Show where the robots are, and the way that each is to go, if that has changed."""
        if self._markers is None or self._building is None:
            return
        run = None if self._execution is None else self._execution.run
        seen = {robot.name: robot.seen.discrete for robot in self._robots if robot.seen}
        planned = run is not None and not (self._execution and self._execution.planning)
        taken = len(run.paths[0]) if run is not None else 0
        marked = tuple(seen.items()), taken, planned, None if run is None else run.plans
        if marked == self._marked:
            return
        self._marked = marked
        centres = [tuple(point) for point in self._building.floor.centres.tolist()]
        ways = {
            name: [centres[cell] for cell in run.way(number)] if planned and run is not None else []
            for number, name in enumerate(self._team.names)
        }
        robots = {name: centres[cell] for name, cell in seen.items()}
        scene = team_scene(self._building, robots, ways)
        stamp = self.get_clock().now().to_msg()
        self._markers.publish(marker_array(scene, self.frame(MAP_FRAME), stamp))

    def _words(self, execution: Execution) -> str:
        """Return where the team is, as a sentence."""
        run = execution.run
        if run is None or run.plan is None:
            return execution.reason
        lost = {} if execution.dispatch is None else execution.dispatch.reasons
        taken = len(run.paths[0]) - 1
        where = ", ".join(
            f"{name} in {'+'.join(sorted(self._cells.labels[path[-1]])) or 'no place'}"
            for name, path in zip(run.team.names, run.paths, strict=True)
        )
        stopped = [
            f"{robot.name} is stopped: {robot.seen.stopped}"
            for robot in self._robots
            if robot.name not in lost and robot.seen is not None and robot.seen.stopped
        ]
        return "; ".join((f"step {taken}: {where}", *lost.values(), *stopped))

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        values: dict[str, object] = {
            robot.name: f"in cell {robot.seen.discrete}" if robot.seen else "not heard of yet"
            for robot in self._robots
        }
        if missing := self._missing:
            return WARN, f"nothing is heard of {' and '.join(missing)}", values
        return OK, "idle" if self._execution is None else "on a mission", values

    @property
    def has_shutdown_grace(self) -> bool:
        """Whether the result of a mission is still on its way."""
        return self._last is not None

    def close(self) -> None:
        """End the mission; the robots stand."""
        if self._execution is not None:
            self._finish(self._execution, Result.ERROR, "the team node was stopped")


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(TeamNode)


if __name__ == "__main__":
    sys.exit(main())
