"""The simulator node: any domain of skm as a robot that publishes what it observes and takes actions.

Relative to its namespace (/skm):
    publishes   observation (skm/Observation) and labels (skm/Labels) of every state, same stamp and step
                image (sensor_msgs/Image), markers (visualization_msgs/MarkerArray), if `render` asks
                /diagnostics (diagnostic_msgs/DiagnosticArray); /clock in simulation time
                /tf (tf2_msgs/TFMessage, where that package is installed): map → base_link
    subscribes  action (skm/Action); leg (skm/Leg), if it shows markers: the planned way is one of them;
                the dead-man topic (std_msgs/Bool), if one is named
    offers      reset (skm/Reset), pause (std_srvs/SetBool), stop and resume (std_srvs/Trigger)

In lock-step the world waits for the action to the state that was published. In real time it steps at a
fixed rate; a late action means the previous one, and without a fresh one for two periods (measured on a
steady clock) the robot is brought to rest: see `skm_sim.robots.command_gate`. Where an action is a whole
move, from cell to cell, none is made twice: the world waits for the next one. The diagnostics count late
actions. A state that nobody answers is published again: in real time every period, in lock-step twice a
second, also while paused. It is a sign of life, and nothing that gets lost can stall lock-step.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image
from skm.msg import Action, Labels, Leg, Observation
from skm.srv import Reset
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.conversions import (
    action_reader,
    fill_image,
    fill_observation,
    label_values,
    observation_kind,
)
from skm_ros.markers import marker_array
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.robot_side import SETTINGS as ROBOT_SETTINGS
from skm_ros.nodes.robot_side import RobotSide
from skm_ros.nodes.skm_node import OK, WARN, Setting, SkmNode
from skm_sim.registry import FIRST, get_domain
from skm_sim.robots.command_gate import CommandGate
from skm_sim.scene import Shape, way_shapes
from skm_sim.world import World

# Real time, measured by the simulator itself: were the actions there when their steps were due?


KEPT_LATENCIES: Final = 10_000
KEPT_STATES: Final = 1_000


class ActionTiming:
    """Counts late actions, from the first action after a stop to the next stop.

    A step is late if, when it was due, the action to the state that it begins in had not arrived; the
    robot then goes on with an older action, or stands still. Times are of a steady clock, in seconds.
    """

    def __init__(self) -> None:
        self.steps = 0
        """Steps at which somebody was in control."""
        self.late = 0
        self._latencies: deque[float] = deque(maxlen=KEPT_LATENCIES)
        self._published: dict[int, float] = {}
        self._answered = -1
        self._in_control = False

    def published(self, step: int, now: float) -> None:
        """Note that the state with this number has been shown."""
        self._published[step] = now
        if len(self._published) > KEPT_STATES:
            del self._published[next(iter(self._published))]

    def arrived(self, step: int, now: float) -> None:
        """Note an action to the state with this number."""
        self._in_control = True
        self._answered = step
        shown = self._published.pop(step, None)
        if shown is not None:
            self._latencies.append(now - shown)

    def stopped(self) -> None:
        """Note that no action is due until another one comes: after a stop, or with a new episode."""
        self._in_control = False
        self._answered = -1
        self._published.clear()

    def due(self, step: int) -> None:
        """Note that a step from the state with this number is taken now."""
        if self._in_control:
            self.steps += 1
            self.late += self._answered < step

    def latency(self, share: float) -> float:
        """Return the seconds from a state to its action that this share of the actions took at most."""
        if not self._latencies:
            return math.nan
        ordered = sorted(self._latencies)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    def report(self) -> dict[str, object]:
        """Return everything as values for the diagnostics."""
        shares = {"median": 0.5, "95 %": 0.95, "99 %": 0.99, "worst": 1.0}
        latencies = {
            f"action latency, {name} (ms)": f"{1000 * self.latency(share):.2f}"
            for name, share in shares.items()
        }
        return {"steps in control": self.steps, "late actions": self.late, **latencies}


# Where the simulated robot is, for tf: map → base_link on /tf with every state.
#
# tf2_msgs comes with every installed ROS 2 but is not among the wheels of PyPI: without it there
# is no tf.


def transform(
    pose: tuple[float, float, float], parent: str, child: str, stamp: Time
) -> TransformStamped:
    """Return a pose, x, y and heading, as a transform between two frames."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, stamp
    shift, turn = message.transform.translation, message.transform.rotation
    shift.x, shift.y = pose[:2]
    turn.z, turn.w = math.sin(pose[2] / 2), math.cos(pose[2] / 2)
    return message


class RobotFrame:
    """Publishes the robot's frame, where tf2_msgs is installed."""

    def __init__(self, node: SkmNode, parent: str, child: str) -> None:
        self._frames = parent, child
        self._publisher: Any = None
        try:
            from tf2_msgs.msg import TFMessage  # noqa: PLC0415
        except ImportError:
            return
        self._kind = TFMessage
        self._publisher = node.create_publisher(TFMessage, "/tf", qos.FRAMES)

    def publish(self, pose: tuple[float, float, float] | None, stamp: Time) -> None:
        """Tell where the robot is, if anybody can hear it."""
        if pose is not None and self._publisher is not None:
            self._publisher.publish(self._kind(transforms=[transform(pose, *self._frames, stamp)]))


FRAME: Final = "base_link"
MAP_FRAME: Final = "map"
SIGN_OF_LIFE_SECONDS: Final = 0.5
CLOCK_SECONDS: Final = 0.02
"""Lock-step: the clock ticks at most so often; nobody can use more."""

SETTINGS: Final = (
    Setting("domain", FIRST, "domain by name, package.module:ATTRIBUTE or folder", fixed=True),
    Setting("seed", 0, "seed of the first episode", low=0, high=2**63 - 1, fixed=True),
    Setting(
        "mode",
        "lockstep",
        "lockstep: wait for the action to each state; realtime: step at a fixed rate",
        choices=("lockstep", "realtime"),
        fixed=True,
    ),
    Setting("rate", 10.0, "steps per second of simulation time", low=0.01, high=1000.0),
    Setting(
        "action_timeout",
        0.0,
        "realtime: seconds without a fresh action after which the robot brakes; 0: two periods",
        low=0.0,
        high=3600.0,
        fixed=True,
    ),
    Setting(
        "render",
        "none",
        "what to publish for people: nothing, camera images, markers for RViz, or both",
        choices=("none", "image", "markers", "all"),
        fixed=True,
    ),
    Setting(
        "render_rate",
        2.0,
        "most pictures per second; 0: one of every state",
        low=0.0,
        high=100.0,
        fixed=True,
    ),
    Setting(
        "marker_rate", 0.0, "least markers per second; 0: no more", low=0.0, high=100.0, fixed=True
    ),
    *ROBOT_SETTINGS,
)


class SimNode(SkmNode):
    """Runs one `World`; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("sim", SETTINGS, **options)
        render = self.setting("render")
        spec = get_domain(self.setting("domain"))
        self._world = World(spec, self.setting("seed"), pictures=render in ("image", "all"))
        self._read_action = action_reader(self._world.action_space)
        self._values_of = label_values(spec.propositions)
        self._lockstep = self.setting("mode") == "lockstep"
        self._paused = False
        self._held: Any = None
        """Lock-step: an action that came while paused."""
        self._move: Any = None
        """Real time: the move that was asked for and is not made yet, where actions are whole moves."""
        period = 1 / self.setting("rate")
        self._robot = RobotSide(self, CommandGate(period, self.setting("action_timeout")))
        self._gate = self._robot.gate
        self._timing = None if self._lockstep else ActionTiming()
        self._clock_ticked = 0.0
        self._nanoseconds = 0
        self._published = self._published_before = 0

        session = secrets.randbits(63) + 1
        self._observation = Observation(
            session=session, kind=observation_kind(self._world.observation_space)
        )
        self._observation.header.frame_id = self.frame(FRAME)
        self._labels = Labels(session=session, names=list(spec.propositions))
        self._labels.header = self._observation.header
        self._clock_message = Clock()
        self._observations = self.create_publisher(Observation, "observation", qos.STATE)
        self._all_labels = self.create_publisher(Labels, "labels", qos.LABELS)
        self._robot_frame = RobotFrame(self, self.frame(MAP_FRAME), self.frame(FRAME))
        self._clock_ticks = self.create_publisher(Clock, "/clock", qos.CLOCK)
        self.create_subscription(Action, "action", self._on_action, qos.COMMAND)
        self.create_service(Reset, "reset", self._on_reset, callback_group=self.low_priority)
        self.create_service(SetBool, "pause", self._on_pause, callback_group=self.low_priority)
        self._planned: list[int] = []
        """The places that the machine is going through, as observed; the present one first."""
        self._set_up_pictures(render)
        self._set_rate(self.setting("rate"))
        self.add_post_set_parameters_callback(self._on_parameters)
        self.every(SIGN_OF_LIFE_SECONDS, self._show_life)
        self._publish_state()
        self._publish_pictures()
        self.get_logger().info(
            f"simulating {spec.name}, {self.setting('mode')}, seed {self.setting('seed')}"
        )

    # Time

    def _set_rate(self, rate: float) -> None:
        self._step_nanoseconds = round(1e9 / rate)
        self._gate.period = 1 / rate
        self._observation.period = 0.0 if self._lockstep else 1 / rate
        if not self._lockstep:
            self._ticks = self.create_timer(1 / rate, self._tick, clock=self.steady_clock)

    def _on_parameters(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == "rate":
                if not self._lockstep:
                    self.destroy_timer(self._ticks)
                self._set_rate(parameter.value)

    def _tick(self) -> None:
        """Real time: take the step that is due."""
        now = time.monotonic()
        self._robot.watch(now)
        if self._paused or not self.active:
            self._publish_again()
            return
        controlled = self._gate.in_control
        action = self._robot.due(now)
        assert self._timing is not None
        self._timing.due(self._world.step_number)
        if self._world.can_wait:
            # A velocity may be held for a moment; a move that nobody asked for may lead anywhere.
            action, self._move = self._move if action is not None else None, None
        if controlled and not self._gate.in_control:
            self.counts["stops for want of an action"] += 1
            self._timing.stopped()
            self._robot.begin_stop(now)
        pose = self._world.pose()
        self._robot.note_place(pose and pose[:2], now, braking=action is None)
        action = self._world.brake() if action is None else action
        if action is None or self._world.ended:
            self._nanoseconds += self._step_nanoseconds
            self._publish_again()
            self._publish_clock()
        else:
            self._step(action)

    def _publish_clock(self) -> None:
        wall = time.monotonic()
        soon = self._lockstep and wall - self._clock_ticked < CLOCK_SECONDS
        if soon or not self._clock_ticks.get_subscription_count():
            return
        self._clock_ticked = wall
        now = self._clock_message.clock
        now.sec, now.nanosec = divmod(self._nanoseconds, 1_000_000_000)
        self._clock_ticks.publish(self._clock_message)

    # The world

    def _on_action(self, action: Action) -> None:
        world, observation = self._world, self._observation
        if action.session != observation.session or action.episode != world.episode:
            self.drop("action of another session or episode")
            return
        if action.kind == Action.STOP:
            self.counts["actions taken"] += 1
            self._planned, self._marked = [], -1
            self._held = None
            if self._gate.in_control:
                self._robot.begin_stop(time.monotonic())
            self._gate.let_go()
            if self._timing is not None:
                self._timing.stopped()
            self._publish_pictures()
            return
        now = time.monotonic()
        problem = self._problem(action, now)
        if problem:
            self.drop(problem)
            return
        try:
            taken = self._read_action(action)
        except SkmError as error:
            self.drop("unusable action", error)
            return
        self.counts["actions taken"] += 1
        if self._timing is not None:
            self._gate.take(taken, now)
            self._move = taken
            self._timing.arrived(action.step, now)
        elif self._paused:
            self._held = taken
        else:
            self._step(taken)

    def _problem(self, action: Action, now: float) -> str:
        """Return why an action is not obeyed; nothing if it is."""
        world = self._world
        if not self.active:
            return "action while the node is not active"
        if world.ended:
            return "action after the end of the episode"
        if not self._lockstep and (
            problem := self._gate.problem(action.step, world.step_number, now)
        ):
            return problem
        if self._gate.stopped:
            return "action while the robot is stopped"
        # A velocity may come a little late; a whole move is one from the place it was chosen for.
        whole = self._lockstep or world.can_wait
        return "action to another step" if whole and action.step != world.step_number else ""

    def _step(self, action: Any) -> None:  # noqa: ANN401 - an action of the domain
        self._world.step(action)
        self.counts["steps"] += 1
        self._publish_state()

    def _publish_state(self) -> None:
        """Publish a new state, and the time at which it is reached."""
        world, observation, labels = self._world, self._observation, self._labels
        self._nanoseconds += self._step_nanoseconds
        stamp = observation.header.stamp
        stamp.sec, stamp.nanosec = divmod(self._nanoseconds, 1_000_000_000)
        observation.episode = labels.episode = world.episode
        observation.step = labels.step = world.step_number
        observation.terminated, observation.truncated = world.terminated, world.truncated
        observation.stopped = self._gate.stopped
        labels.values = self._values_of(world.labels)
        fill_observation(observation, world.observation)
        self._all_labels.publish(labels)
        self._observations.publish(observation)
        self._robot_frame.publish(world.pose(), stamp)
        self._publish_clock()
        self._published += 1
        now = time.monotonic()
        self._gate.show(world.step_number, now)
        if self._timing is not None:
            self._timing.published(world.step_number, now)
        if self._pictures_of_all:
            self._publish_pictures()

    def _publish_again(self) -> None:
        """Publish the state once more: a sign of life, with what keeps the robot from moving."""
        stamp = self._observation.header.stamp
        stamp.sec, stamp.nanosec = divmod(self._nanoseconds, 1_000_000_000)
        self._observation.stopped = self._gate.stopped
        self._all_labels.publish(self._labels)
        self._observations.publish(self._observation)
        self._gate.show(self._world.step_number, time.monotonic())

    def _show_life(self) -> None:
        """Lock-step: publish the state again if nothing has been published for a while."""
        if self._lockstep:
            self._robot.watch(time.monotonic())
            if self._published == self._published_before:
                self._publish_again()
        self._published_before = self._published

    # Services

    def _on_reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        try:
            if request.seed < Reset.Request.NO_SEED:
                raise SkmError(f"the seed is {request.seed}; it must be 0 or more")
            self._world.reset(None if request.seed < 0 else request.seed, request.options)
        except SkmError as error:
            response.message = str(error)
            self.counts["resets refused"] += 1
            return response
        self._held = None
        self._gate.forget()
        if self._timing is not None:
            self._timing.stopped()
        self._publish_state()
        response.success = True
        response.session, response.episode = self._observation.session, self._world.episode
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        if self._lockstep and not self._paused and self._held is not None:
            held, self._held = self._held, None
            self._step(held)
        response.success = True
        response.message = "paused" if self._paused else "running"
        return response

    # Pictures

    def _set_up_pictures(self, render: str) -> None:
        self._images = self._markers = self._positions = None
        self._pictured = self._marked = -1
        if render in ("image", "all"):
            if self._world.draws:
                self._images = self.create_publisher(Image, "image", qos.LATCHED)
            else:
                self.get_logger().warning(f"{self._world.spec.name} draws no images")
        if render in ("markers", "all"):
            self._markers = self.create_publisher(MarkerArray, "markers", qos.MARKERS)
            self._positions = self._world.positions()
            if self._positions is not None:
                self.create_subscription(Leg, "leg", self._on_leg, qos.LATCHED)
        self._pictures_of_all = render != "none" and self.setting("render_rate") == 0
        if render != "none" and not self._pictures_of_all:
            period = 1 / self.setting("render_rate")
            self.create_timer(period, self._publish_pictures, clock=self.steady_clock)
            if self._markers is not None and self.setting("marker_rate") * period > 1:
                period = 1 / self.setting("marker_rate")
                self.create_timer(period, self._publish_markers, clock=self.steady_clock)

    def _publish_pictures(self) -> None:
        """Publish image and markers if the world has changed since the last ones."""
        self._publish_markers()
        if self._pictured == self._published:
            return
        self._pictured = self._published
        stamp = self._observation.header.stamp
        pixels = self._world.picture() if self._images is not None else None
        if self._images is not None and pixels is not None:
            image = Image()
            image.header.stamp, image.header.frame_id = stamp, self.frame(FRAME)
            fill_image(image, pixels)
            self._images.publish(image)

    def _publish_markers(self) -> None:
        if self._markers is not None and self._marked != self._published:
            self._marked = self._published
            stamp = self._observation.header.stamp
            scene = [*self._world.scene(), *self._way_left()]
            self._markers.publish(marker_array(scene, self.frame(MAP_FRAME), stamp))

    def _on_leg(self, leg: Leg) -> None:
        """Take the way ahead, to show it."""
        state = self._observation
        if (leg.session, leg.episode) == (state.session, state.episode):
            self._planned = list(leg.cells)
            self._marked = -1

    def _way_left(self) -> list[Shape]:
        """Return what is left of the way as shapes; none where the robot is not on it."""
        here = self._observation.discrete
        if self._positions is None or here not in self._planned:
            return []
        left = self._planned[self._planned.index(here) :]
        if not all(0 <= place < len(self._positions) for place in left):
            self.drop("leg through places that the world does not have")
            return []
        return way_shapes(self._positions[left])

    # Health

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        world = self._world
        values = {
            "domain": world.spec.name,
            "episode": world.episode,
            "step": world.step_number,
            **({} if self._timing is None else self._timing.report()),
            **self._robot.report(),
        }
        if world.ended:
            return WARN, "the episode has ended: reset", values
        if self._gate.stopped:
            return WARN, f"stopped: {self._gate.stopped}", values
        if not self.active:
            return OK, "not active", values
        if self._paused:
            return OK, "paused", values
        running = self._gate.in_control or (self._lockstep and self._held is not None)
        return OK, "running" if running else "waiting for an action", values

    def close(self) -> None:
        """Bring the robot to rest."""
        self._gate.let_go()

    def destroy_node(self) -> None:
        """Let the environment go."""
        self._world.close()
        super().destroy_node()


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(SimNode)


if __name__ == "__main__":
    sys.exit(main())
