"""What happens when a node dies or freezes while the robot moves: when it brakes, when it is at rest.

The robot patrols in real time. A node is sent SIGKILL or SIGSTOP, and what follows is timed on the
system's steady clock, which all processes share: the simulator reports when it began to brake, when the
robot was at rest and how far it went; the client notes the machine's stop and its result.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from diagnostic_msgs.msg import DiagnosticArray
from skm.action import ExecuteMission
from skm.msg import Action, MachineState

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.bench.captured_process import CapturedProcess
from skm_ros.bench.private_domain import private_domain_id, private_environment
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.ros_client import RosClient
from skm_ros.graph import NodeDescription, Value, get_system
from skm_ros.running import node_command, node_environment

START_SECONDS: Final = 60.0
SETTLE_SECONDS: Final = 10.0
MOVING_STEPS: Final = 8
FAULTS: Final = {"SIGKILL": signal.SIGKILL, "SIGSTOP": signal.SIGSTOP}
NODES: Final = ("machine", "primitives", "sim")


@dataclass(frozen=True)
class Fault:
    """One fault, and the seconds from it to what followed; None for what did not."""

    node: str
    signal: str
    braking: float | None
    """The simulator begins to bring the robot to rest."""
    at_rest: float | None
    way: float | None
    """Metres from the beginning of braking to rest."""
    machine_stop: float | None
    """The machine says that it has stopped the robot, or has ended the mission."""
    result: float | None
    """The client has its result."""
    reason: str = ""
    """What the client was told."""


class FaultBench:
    """Three nodes as processes of their own, a client, and a mission without end."""

    def __init__(self, domain: str, mission: str, rate: float) -> None:
        self._mission = mission
        self._period = 1 / rate
        self._random = random.Random(0)
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        self._environment = {**node_environment(), **private_environment(domain_id)}
        given: dict[str, Value] = {"domain": domain, "mission": "none", "mode": "realtime"}
        given |= {"rate": rate, "render": "none", "picture": ""}
        self._nodes = {node.name: node for node in get_system("demo").nodes(given)}
        self._children = {name: self._start(node) for name, node in self._nodes.items()}
        self._client = self._stack.enter_context(RosClient(domain_id=domain_id))
        self._sim: Mapping[str, str] = {}
        self._state: MachineState | None = None
        self._moved = 0
        node = self._client.node
        node.create_subscription(
            DiagnosticArray, qos.DIAGNOSTICS_TOPIC, self._on_diagnostics, qos.DIAGNOSTICS
        )
        node.create_subscription(MachineState, "machine_state", self._on_machine, qos.ALIVE)
        node.create_subscription(Action, "action", self._on_action, qos.COMMAND)
        self._goal: MissionGoal | None = None

    def _start(self, node: NodeDescription) -> CapturedProcess:
        return CapturedProcess(node_command(node), self._environment)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith("/sim"):
                self._sim = {entry.key: entry.value for entry in status.values}

    def _on_machine(self, state: MachineState) -> None:
        self._state = state

    def _on_action(self, action: Action) -> None:
        self._moved = 0 if action.kind == Action.STOP else self._moved + 1

    def _until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        if not self._client.spin_until(condition, timeout):
            last = {name: child.output[-5:] for name, child in self._children.items()}
            raise SkmError(f"{what} did not come within {timeout:g} s: {last}")

    def _drive(self) -> None:
        """See to it that the mission runs and the robot has moved for a few steps."""
        if self._goal is not None and self._goal.done:
            self._goal.close()
            self._goal = None
        if self._goal is None:
            self._goal = MissionGoal(self._client, ExecuteMission.Goal(mission=self._mission))
            # A machine that was frozen may still be on the last mission: this one takes its place.
            self._until(self._is_there, START_SECONDS, "a machine that is ready")
            self._goal.send(START_SECONDS)
        self._moved = 0
        self._until(
            lambda: self._is_running() and self._moved >= MOVING_STEPS,
            START_SECONDS,
            "a robot that moves",
        )
        # A fault comes at any moment of a period.
        time.sleep(self._random.random() * self._period)

    def _is_running(self) -> bool:
        state, goal = self._state, self._goal
        if state is None or goal is None or state.phase != MachineState.RUNNING:
            return False
        return bytes(state.goal_id.uuid).hex() == goal.goal_id

    def _is_there(self) -> bool:
        return self._state is not None and self._state.phase != MachineState.WAITING

    def fault(self, name: str, kind: str) -> Fault:
        """Let one node die or freeze while the robot moves, time what follows, and mend it."""
        self._drive()
        assert self._goal is not None
        goal, child = self._goal, self._children[name]
        os.kill(child.pid, FAULTS[kind])
        began = time.monotonic()
        times: dict[str, float] = {}

        def note(key: str, happened: bool) -> None:
            if happened:
                times.setdefault(key, time.monotonic() - began)

        def stopped() -> bool:
            return not self._is_running()

        def rested() -> bool:
            return self._stop_value("began") > began and self._stop_value("at rest") > began

        def all_seen() -> bool:
            note("result", goal.done)
            note("stop", name != "machine" and stopped())
            return (name == "sim" or rested()) and goal.done

        self._client.spin_until(all_seen, SETTLE_SECONDS)
        seen = name != "sim" and rested()
        found = Fault(
            name,
            kind,
            self._stop_value("began") - began if seen else None,
            self._stop_value("at rest") - began if seen else None,
            self._stop_value("way to rest") if seen else None,
            times.get("stop"),
            times.get("result"),
            goal.result.reason if goal.done else "",
        )
        self._mend(name, kind)
        return found

    def _stop_value(self, what: str) -> float:
        return next(
            (float(v) for k, v in self._sim.items() if k.startswith("last stop") and what in k), 0.0
        )

    def _mend(self, name: str, kind: str) -> None:
        if kind == "SIGSTOP":
            os.kill(self._children[name].pid, signal.SIGCONT)
        else:
            self._children[name].stop()
            self._children[name] = self._start(self._nodes[name])
            if name == "machine":
                self._state = None  # what the dead one said last

    def close(self) -> None:
        """End everything."""
        if self._goal is not None:
            self._goal.close()
        for child in self._children.values():
            child.stop()
        self._stack.close()


def measure_faults(
    domain: str, mission: str, rate: float, trials: int, say: Callable[[str], None]
) -> list[Fault]:
    """Return what followed each fault: every node, both signals, so many times."""
    bench = FaultBench(domain, mission, rate)
    try:
        found = []
        for _ in range(trials):
            for name in NODES:
                for kind in FAULTS:
                    found.append(bench.fault(name, kind))
                    say(str(found[-1]))
        return found
    finally:
        bench.close()


def summary(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """Return median and worst of everything, for each node and signal."""
    rows = []
    for name, kind in dict.fromkeys((fault.node, fault.signal) for fault in faults):
        those = [fault for fault in faults if (fault.node, fault.signal) == (name, kind)]
        row: dict[str, Any] = {"node": name, "signal": kind, "trials": len(those)}
        for key in ("braking", "at_rest", "way", "machine_stop", "result"):
            values = sorted(v for fault in those if (v := getattr(fault, key)) is not None)
            row[key] = {
                "median": values[len(values) // 2] if values else None,
                "worst": values[-1] if values else None,
                "missing": len(those) - len(values),
            }
        rows.append(row)
    return rows
