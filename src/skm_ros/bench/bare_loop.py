"""The loop of skm's nodes with nothing in it: the yardstick of `skm bench loop`.

The same messages of the same sizes over the same four hops (observation and labels to the machine,
a query and its answer, an action back), with no simulator, no mission and no decisions. The executor is
that of the nodes, and publishers are set up as theirs. Each part is a process of its own, or all three
are one:

    python -m skm_ros.bench.bare_loop machine
    python -m skm_ros.bench.bare_loop primitives
    python -m skm_ros.bench.bare_loop sim        reads a number of steps per line, prints the seconds
    python -m skm_ros.bench.bare_loop apart      the same, with the other two as its children
    python -m skm_ros.bench.bare_loop all

Children of one parent, as the nodes of `skm up` are: where many want the CPU, Linux shares it out by
sessions, and three sessions would have three shares.
"""

from __future__ import annotations

import array
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import rclpy
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.task import Future
from skm.msg import Action, Labels, Observation
from skm.srv import QueryValues

from skm_ros import qos
from skm_ros.lean_executor import LeanExecutor

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
            command = [sys.executable, "-m", "skm_ros.bench.bare_loop", other, *sys.argv[2:]]
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
