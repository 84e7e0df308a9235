"""The loop of the nodes measured against a bare loop with nothing in it, round by round in turn."""

from __future__ import annotations

import array
import gc
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final, Protocol, Self

import rclpy
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.task import Future
from skm.action import ExecuteMission
from skm.msg import Action, Labels, Observation
from skm.srv import QueryValues

from skm_bench.captured_process import CapturedProcess
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives import Primitives, load_primitives, make_policy, run_episode
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES
from skm_ros.executor import LeanExecutor
from skm_sim import DomainSpec, get_domain

# The loop of skm's nodes with nothing in it: the yardstick of `skm bench loop`.
#
# The same messages of the same sizes over the same four hops (observation and labels to the
# machine, a query and its answer, an action back), with no simulator, no mission and no
# decisions. The executor is that of the nodes, and publishers are set up as theirs. Each part is
# a process of its own, or all three are one:
#
#     python -m skm_bench.loop machine
#     python -m skm_bench.loop primitives
#     python -m skm_bench.loop sim        reads a number of steps per line, prints the
#       seconds
#     python -m skm_bench.loop apart      the same, with the other two as its children
#     python -m skm_bench.loop all
#
# Children of one parent, as the nodes of `skm up` are: where many want the CPU, Linux shares it
# out by sessions, and three sessions would have three shares.


NONE = SubscriptionEventCallbacks(use_default_callbacks=False)


def _publisher(node: Node, kind: type[Any], topic: str, qos: QoSProfile) -> Publisher:
    """Return a publisher without events, as skm's nodes have them: events cost time at every message."""
    events = PublisherEventCallbacks(use_default_callbacks=False)
    return node.create_publisher(kind, topic, qos, event_callbacks=events)


class BareSim:
    """Sends an observation with its labels, waits for the action, sends the next."""

    def __init__(self, node: Node, propositions: Sequence[str]) -> None:
        self._observation = Observation(session=1, episode=1, kind=Observation.DISCRETE)
        self._labels = Labels(session=1, episode=1, names=propositions)
        self._labels.values = [False] * len(propositions)
        self._observations = _publisher(node, Observation, "observation", qos.STATE)
        self._all_labels = _publisher(node, Labels, "labels", qos.STATE)
        node.create_subscription(
            Action, "action", self._on_action, qos.COMMAND, event_callbacks=NONE
        )
        self._last = 0
        self.finished = False

    @property
    def connected(self) -> bool:
        """Whether someone listens to both topics."""
        return bool(
            self._observations.get_subscription_count()
            and self._all_labels.get_subscription_count()
        )

    def start(self, steps: int) -> None:
        """Send the first observation of a round of so many steps."""
        self.finished = False
        self._last = self._observation.step + steps
        self._send()

    def _send(self) -> None:
        self._observation.step += 1
        self._labels.step = self._observation.step
        self._all_labels.publish(self._labels)
        self._observations.publish(self._observation)

    def _on_action(self, action: Action) -> None:
        if action.step < self._last:
            self._send()
        else:
            self.finished = True


class BareMachine:
    """Asks a query for each pair of observation and labels, and answers with an action."""

    def __init__(self, node: Node) -> None:
        self._query = node.create_client(QueryValues, "query")
        self._request = QueryValues.Request(digest="0" * 64)
        self._actions = _publisher(node, Action, "action", qos.COMMAND)
        self._action = Action(session=1, episode=1, kind=Action.DISCRETE)
        while not (self._query.service_is_ready() and self._actions.get_subscription_count()):
            time.sleep(0.01)  # discovery goes on by itself; the simulator waits for what follows
        node.create_subscription(
            Observation, "observation", self._on_observation, qos.STATE, event_callbacks=NONE
        )
        node.create_subscription(Labels, "labels", self._on_labels, qos.STATE, event_callbacks=NONE)
        self._observed = 0
        self._labelled = 0

    def _on_observation(self, observation: Observation) -> None:
        self._observed = observation.step
        self._request.observation = observation
        self._ask()

    def _on_labels(self, labels: Labels) -> None:
        self._labelled = labels.step
        self._ask()

    def _ask(self) -> None:
        if self._observed == self._labelled:
            self._query.call_async(self._request).add_done_callback(self._on_answer)

    def _on_answer(self, answer: Future) -> None:
        answer.result()
        self._action.step = self._observed
        self._actions.publish(self._action)


class BarePrimitives:
    """Answers each query with the same tables: those that the machine asks for."""

    def __init__(self, node: Node, goals: int, actions: int) -> None:
        table = array.array("f", bytes(4 * goals * actions))
        self._answer = QueryValues.Response(
            success=True, digest="0" * 64, goals=goals, actions=actions, move=table, stop=table
        )
        node.create_service(QueryValues, "query", lambda *_: self._answer)


def main() -> int:
    """Run one part, or all of them, until interrupted or until standard input ends."""
    part, goals, actions, *propositions = sys.argv[1:]
    children = []
    if part == "apart":
        part = "sim"
        for other in ("machine", "primitives"):
            command = [sys.executable, "-m", "skm_bench.loop", other, *sys.argv[2:]]
            children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
    rclpy.init()
    parts = ("sim", "primitives", "machine") if part == "all" else (part,)
    bare = {"enable_rosout": False, "start_parameter_services": False}
    nodes = {name: rclpy.create_node(f"bare_{name}", **bare) for name in parts}
    executors = {name: LeanExecutor() for name in parts}
    # An executor and a thread each, as `skm up --single-process` has it.
    threads = [threading.Thread(target=_spin, args=(executors[name],)) for name in parts[1:]]
    try:
        sim = BareSim(nodes["sim"], propositions) if "sim" in nodes else None
        if "primitives" in nodes:
            BarePrimitives(nodes["primitives"], int(goals), int(actions))
        if "machine" in nodes:
            BareMachine(nodes["machine"])
        for name, node in nodes.items():
            executors[name].add_node(node)
        gc.freeze()
        if sim is None:
            _spin(executors[part])
            return 0
        for thread in threads:
            thread.start()
        _measure(executors["sim"], sim)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
        for thread in threads:
            if thread.is_alive():
                thread.join()
        for child in children:
            child.send_signal(signal.SIGINT)
            child.wait()
    return 0


def _spin(executor: LeanExecutor) -> None:
    with suppress(ExternalShutdownException):
        while rclpy.ok():
            executor.spin_once(timeout_sec=1.0)


def _measure(executor: LeanExecutor, sim: BareSim) -> None:
    """Print the seconds that each round took, for each number of steps on standard input."""
    while not sim.connected:
        executor.spin_once(timeout_sec=0.05)
    for line in sys.stdin:
        sim.start(int(line))
        began = time.perf_counter()
        while not sim.finished:
            executor.spin_once(timeout_sec=1.0)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    sys.exit(main())


# Measuring the loop of the nodes against the bare loop, round by round in turn.


START_SECONDS: Final = 60.0
STEP_SECONDS: Final = 0.5
"""A loop that takes longer than this for a step, on average, is taken to be stuck."""
LOOK_SECONDS: Final = 0.05
"""How often it is looked whether a round is over: the same for both loops, and all that is done while
they run."""
SETTLE_SECONDS: Final = 0.25
"""How long the nodes have to get to know a new client before its mission begins: that is no step."""
HOPS: Final = 4
"""Messages one after the other in a step: observation (with labels), query, answer, action."""


VARIANTS: Final = {
    "three_processes": ((), "apart"),
    "single_process": (("--single-process",), "all"),
}
"""Options of `skm up`, and the form of the bare loop, by variant."""

Say = Callable[[str], None]


class Loop(Protocol):
    """Something that can be asked to take steps."""

    def seconds(self, steps: int) -> float:
        """Take so many steps and return how long they took."""
        ...


class BareLoop:
    """`skm_bench.loop` in one of its forms, with messages of the sizes of these primitives."""

    def __init__(self, primitives: Primitives, form: str) -> None:
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        sizes = [str(len(primitives.goals)), str(primitives.action_space.n)]  # type: ignore[attr-defined]
        command = [sys.executable, "-m", "skm_bench.loop", form, *sizes]
        environment = private_environment(domain_id)
        self._child = CapturedProcess([*command, *primitives.propositions], environment)
        self._stack.callback(self._child.stop)

    def seconds(self, steps: int) -> float:
        """Ask the simulator's part for a round."""
        sim = self._child
        before = len(sim.answers)
        sim.send_line(str(steps))
        deadline = time.monotonic() + START_SECONDS + STEP_SECONDS * steps
        while len(sim.answers) == before:
            sim.check_running()
            if time.monotonic() > deadline:
                raise SkmError(f"the bare loop took no {steps} steps in time")
            time.sleep(LOOK_SECONDS)
        return float(sim.answers[before])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class NodeLoop:
    """A system started by `skm up`, and a client that sends it missions."""

    def __init__(self, domain: str, mission: str, options: Sequence[str]) -> None:
        self._mission = mission
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        command = [sys.executable, "-m", "skm_cli.main", "up", "demo", "--domain", domain]
        quiet = ["--mission", "", "--render", "none", "--mode", "lockstep"]
        environment = private_environment(domain_id)
        self._child = CapturedProcess([*command, *quiet, *options], environment)
        self._stack.callback(self._child.stop)
        self._client = self._stack.enter_context(RosClient(domain_id=domain_id))

    def seconds(self, steps: int) -> float:
        """Run the mission over and over for so many steps; the machine tells how long it took."""
        goal = ExecuteMission.Goal(mission=self._mission, repeat=True, max_steps=steps)
        mission = MissionGoal(self._client, goal)
        self._client.spin_until(lambda: False, SETTLE_SECONDS)
        mission.send(START_SECONDS)

        def ended() -> bool:
            self._child.check_running()
            if not mission.done:  # what is said on the way is taken at once, then
                time.sleep(LOOK_SECONDS)
            return mission.done

        in_time = self._client.spin_until(ended, START_SECONDS + STEP_SECONDS * steps)
        result = mission.result if in_time else None
        mission.close()
        if result is None or result.steps != steps:
            what = "nothing" if result is None else f"{OUTCOMES[result.outcome]}: {result.reason}"
            raise SkmError(f"the nodes were to take {steps} steps; instead, {what}")
        return float(result.seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def compare(loop: Loop, bare: Loop, steps: int, rounds: int) -> dict[str, Any]:
    """Return the rates of both from rounds in turn, after a short one to warm up.

    The median round counts: a shared machine has slow moments, and both loops are in them. The fastest
    rounds, of which the machine disturbed least, are compared as well.
    """
    for each in (loop, bare):
        each.seconds(max(1, steps // 10))
    pairs = [(loop.seconds(steps), bare.seconds(steps)) for _ in range(rounds)]
    loop_seconds, bare_seconds = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "steps_per_second": steps / loop_seconds,
        "bare_steps_per_second": steps / bare_seconds,
        "overhead": loop_seconds / bare_seconds,
        "overhead_of_fastest_rounds": min(ours for ours, _ in pairs)
        / min(bare for _, bare in pairs),
        "rounds": [{"seconds": ours, "bare_seconds": bare} for ours, bare in pairs],
    }


def measure_loops(domain: str, mission: str, steps: int, rounds: int, say: Say) -> dict[str, Any]:
    """Return the rates of the nodes as three processes and as one, and of the loop in process."""
    spec = get_domain(domain)
    primitives = load_primitives(spec)
    document: dict[str, Any] = {
        "domain": spec.name,
        "mission": mission,
        "steps_per_round": steps,
        "hops": HOPS,
        "goals": len(primitives.goals),
    }
    for variant, (options, form) in VARIANTS.items():
        say(f"measuring {variant.replace('_', ' ')}")
        with NodeLoop(spec.name, mission, options) as loop, BareLoop(primitives, form) as bare:
            document[variant] = compare(loop, bare, steps, rounds)
    rate = in_process_rate(spec, primitives, mission, steps)
    return {**document, "in_process": {"steps_per_second": rate}}


def in_process_rate(spec: DomainSpec, primitives: Primitives, text: str, steps: int) -> float:
    """Return the steps per second of the same mission with no ROS at all, planning left out."""
    mission = compile_mission(text, propositions=spec.propositions, repeat=True)
    policy = make_policy(mission, primitives)
    env = spec.make()
    began = time.perf_counter()
    episode = run_episode(env, primitives, policy, max_steps=steps, seed=0)
    seconds = time.perf_counter() - began
    env.close()
    return episode.steps / seconds
