"""What happens when a node dies or freezes while the robot moves: when it brakes, and what is said."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from skm.action import ExecuteMission
from skm.msg import Action, MachineState
from std_srvs.srv import Trigger

from skm_bench.processes import START_SECONDS, BenchSystem
from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_sim.robots.command_gate import SLACK

# Calls of `stop` while a robot is on a mission: after how long it brakes. It is let go again.


ANSWER_SECONDS: Final = 30.0
REPORT_SECONDS: Final = 3.0
"""How long until the diagnostics know of a stop."""
ATTEMPTS: Final = 5
"""How often the robot is stopped until it was not at rest just then."""
BEGAN: Final = "last stop began (s, steady clock)"


class StopCalls:
    """Stops the robot of a system by service, and lets it go on."""

    def __init__(self, system: BenchSystem, driver: str, moving: Callable[[], bool]) -> None:
        """`driver` is the node that brakes; `moving` tells whether the mission is under way."""
        self._system = system
        self._driver = driver
        self._moving = moving
        node = system.client.node
        self._stop = node.create_client(Trigger, "stop")
        self._resume = node.create_client(Trigger, "resume")

    def delay(self) -> float | None:
        """Return the seconds from a call to the beginning of braking; None if the robot always stood."""
        return next((found for _ in range(ATTEMPTS) if (found := self._once()) is not None), None)

    def _once(self) -> float | None:
        system = self._system
        for service in (self._stop, self._resume):
            system.until(
                service.service_is_ready, ANSWER_SECONDS, f"the service {service.srv_name}"
            )
        system.until(self._moving, ANSWER_SECONDS, "a robot that moves")
        called = time.monotonic()
        answer = self._stop.call_async(Trigger.Request())
        system.until(answer.done, ANSWER_SECONDS, "an answer of stop")
        if not answer.result().success:
            raise SkmError(f"stop was refused: {answer.result().message}")
        braked = system.client.spin_until(lambda: self._began() > called, REPORT_SECONDS)
        found = self._began() - called if braked else None
        answer = self._resume.call_async(Trigger.Request())
        system.until(answer.done, ANSWER_SECONDS, "an answer of resume")
        return found

    def _began(self) -> float:
        return float(self._system.diagnostics.get(self._driver, {}).get(BEGAN, "0"))


# What happens when a node dies or freezes while the robot moves: when it brakes, when it is at
# rest.
#
# The robot patrols in real time. A node is sent SIGKILL or SIGSTOP, and what follows is timed on
# the system's steady clock, which all processes share: the simulator reports when it began to
# brake, when the robot was at rest and how far it went; the client notes the machine's stop and
# its result.


SETTLE_SECONDS: Final = 10.0
MOVING_STEPS: Final = 8
MOVING_SPEED: Final = 0.15
"""Metres a second that a robot with odometry makes when the fault comes."""
HEARD_SECONDS: Final = 0.02
"""How long a command may have been on its way to the process that notes it here."""
ALREADY_PERIODS: Final = MOVING_STEPS // 2
"""A stop that began at most so many periods before the fault is not one from before the robot moved."""
OBEYED: Final = "oldest command obeyed (s)"
FAULTS: Final = {"SIGKILL": signal.SIGKILL, "SIGSTOP": signal.SIGSTOP}
NODES: Final = {
    "demo": ("machine", "primitives", "sim"),
    "robot": ("machine", "primitives", "bridge", "car"),
}
"""The nodes that are killed and frozen, by system; the last one is the robot itself."""
WITNESS: Final = {"car": "bridge"}
"""Who saw the stop where that node, the robot itself, could not."""


@dataclass(frozen=True)
class Fault:
    """One fault, and the seconds from it to what followed; None for what did not."""

    node: str
    signal: str
    braking: float | None
    """The simulator begins to bring the robot to rest; 0 if it was about to when the fault came."""
    at_rest: float | None
    way: float | None
    """Metres from the beginning of braking to rest."""
    machine_stop: float | None
    """The machine says that it has stopped the robot, or has ended the mission."""
    result: float | None
    """The client has its result."""
    reason: str = ""
    """What the client was told."""
    commands_after: int = 0
    """Commands to move that were sent to the robot after it was stopped: actions that are no stop, and
    of a robot that is driven by them, velocities other than zero."""
    obeyed: float | None = None
    """The greatest age of a command that was still carried out, by the clock of who did so."""


class FaultBench:
    """The nodes of a system as processes of their own, a client, and a mission without end."""

    def __init__(
        self, domain: str, mission: str, rate: float, seed: int, system: str = "demo"
    ) -> None:
        self._mission = mission
        self._robot = NODES[system][-1]
        self._period = 1 / rate
        self._random = random.Random(0)
        self._system = BenchSystem(domain, rate, seed, system)
        self._client = self._system.client
        self._children = self._system.children
        self._state: MachineState | None = None
        self._moved = 0
        self._speed: float | None = None
        """By the robot's odometry, where it has one."""
        self._commands: list[float] = []
        """When commands to move were heard, of the kind that the robot obeys."""
        node = self._client.node
        node.create_subscription(MachineState, "machine_state", self._on_machine, qos.ALIVE)
        node.create_subscription(Action, "action", self._on_action, qos.COMMAND)
        node.create_subscription(Twist, "cmd_vel", self._on_velocity, qos.COMMAND)
        node.create_subscription(Odometry, "odom", self._on_odometry, qos.COMMAND)
        self._goal: MissionGoal | None = None

    def _on_velocity(self, velocity: Twist) -> None:
        if velocity.linear.x or velocity.angular.z:
            self._commands.append(time.monotonic())

    def _on_odometry(self, reading: Odometry) -> None:
        self._speed = abs(reading.twist.twist.linear.x)

    def _on_machine(self, state: MachineState) -> None:
        self._state = state

    def _on_action(self, action: Action) -> None:
        moves = action.kind != Action.STOP
        self._moved = self._moved + 1 if moves else 0
        if moves and self._robot == "sim":
            self._commands.append(time.monotonic())

    def _drive(self) -> None:
        """See to it that the mission runs and the robot has moved for a few steps."""
        moving = False
        while not moving:
            goal = self._sent_goal()
            self._moved = 0
            self._system.until(
                lambda goal=goal: goal.done or self._is_moving(),  # type: ignore[misc]
                START_SECONDS,
                "a robot that moves",
            )
            moving = not goal.done  # else a node took longer to come back than its peers wait
        # A fault comes at any moment of a period.
        time.sleep(self._random.random() * self._period)

    def _sent_goal(self) -> MissionGoal:
        """Return the mission that is under way; one that is over is sent anew."""
        if self._goal is not None and self._goal.done:
            self._goal.close()
            self._goal = None
        if self._goal is None:
            self._goal = MissionGoal(self._client, ExecuteMission.Goal(mission=self._mission))
            # A machine that was frozen may still be on the last mission: this one takes its place.
            self._system.until(self._is_there, START_SECONDS, "a machine that is ready")
            self._goal.send(START_SECONDS)
        return self._goal

    def _is_moving(self) -> bool:
        drives = self._speed is None or self._speed > MOVING_SPEED
        return self._is_running() and self._moved >= MOVING_STEPS and drives

    def _is_running(self) -> bool:
        state, goal = self._state, self._goal
        if state is None or goal is None or state.phase != MachineState.RUNNING:
            return False
        return bytes(state.goal_id.uuid).hex() == goal.goal_id

    def _is_there(self) -> bool:
        return self._state is not None and self._state.phase != MachineState.WAITING

    def fault(self, name: str, kind: str) -> Fault:
        """Let one node die or freeze while the robot moves, time what follows, and fix it."""
        self._drive()
        assert self._goal is not None
        goal, child = self._goal, self._children[name]
        os.kill(child.pid, FAULTS[kind])
        began = time.monotonic()
        self._commands.clear()
        times: dict[str, float] = {}

        def note(key: str, happened: bool) -> None:
            if happened:
                times.setdefault(key, time.monotonic() - began)

        def stopped() -> bool:
            return not self._is_running()

        witness = WITNESS.get(name, self._robot)
        blind = witness == name

        def stop_value(what: str) -> float:
            return self._stop_value(witness, what)

        def rested() -> bool:
            lately = began - ALREADY_PERIODS * self._period
            return stop_value("began") > lately and stop_value("at rest") > began

        def all_seen() -> bool:
            note("result", goal.done)
            note("stop", name != "machine" and stopped())
            return (blind or rested()) and goal.done

        self._client.spin_until(all_seen, SETTLE_SECONDS)
        seen = not blind and rested()
        stopped_at = stop_value("began") if seen else began + 2 * self._period + SLACK
        found = Fault(
            name,
            kind,
            max(stop_value("began") - began, 0.0) if seen else None,
            stop_value("at rest") - began if seen else None,
            stop_value("way to rest") if seen else None,
            times.get("stop"),
            times.get("result"),
            goal.result.reason if goal.done else "",
            sum(when > stopped_at + HEARD_SECONDS for when in self._commands),
            self._oldest_obeyed(),
        )
        self._mend(name, kind)
        return found

    def _stop_value(self, node: str, what: str) -> float:
        report = self._system.diagnostics.get(node, {})
        return next(
            (float(v) for k, v in report.items() if k.startswith("last stop") and what in k), 0.0
        )

    def _oldest_obeyed(self) -> float | None:
        reports = self._system.diagnostics.values()
        return max((float(r[OBEYED]) for r in reports if OBEYED in r), default=None)

    def _mend(self, name: str, kind: str) -> None:
        if kind == "SIGSTOP":
            os.kill(self._children[name].pid, signal.SIGCONT)
        else:
            self._children[name].stop()
            self._system.start(name)
            if name == "machine":
                self._state = None  # what the dead one said last

    def close(self) -> None:
        """End everything."""
        if self._goal is not None:
            self._goal.close()
        self._system.__exit__()


def measure_faults(
    system: str,
    domain: str,
    mission: str,
    rate: float,
    seed: int,
    trials: int,
    say: Callable[[str], None],
) -> list[Fault]:
    """Return what followed each fault: every node, both signals, so many times.

    If it breaks off half-way, by SIGINT, SIGTERM or a node that does not come back, what was found until
    then is returned; `say` is told why.
    """
    bench = FaultBench(domain, mission, rate, seed, system)
    found: list[Fault] = []
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for _, name, kind in product(range(trials), NODES[system], FAULTS):
            found.append(bench.fault(name, kind))
            say(str(found[-1]))
    except (KeyboardInterrupt, SkmError) as error:
        if not found:
            raise
        say(f"ended after {len(found)} faults: {str(error) or 'interrupted'}")
    finally:
        bench.close()
        signal.signal(signal.SIGTERM, before)
    return found


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
        row["commands_after"] = sum(fault.commands_after for fault in those)
        rows.append(row)
    return rows
