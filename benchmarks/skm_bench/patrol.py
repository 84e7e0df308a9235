"""A patrol without end, minute by minute: rounds, stops, latency, memory and CPU time of the nodes.

The robot is stopped by service now and then, and let go again: how long does it take until it brakes?
What stands still, leaks or slows down shows as a row that is unlike the first ones.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from skm.action import ExecuteMission
from skm.msg import MachineState

from skm_bench.faults import StopCalls
from skm_bench.processes import START_SECONDS, BenchSystem
from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.conversions import OUTCOMES
from skm_sim.robots.command_gate import SLACK

TICKS: Final = os.sysconf("SC_CLK_TCK")
MINUTE: Final = 60.0
DRIVERS: Final = {"demo": "sim", "robot": "bridge"}
"""The node that obeys the machine's actions, by system."""


@dataclass(frozen=True)
class Minute:
    """What happened in one minute."""

    minute: int
    rounds: int
    steps: int
    late: int
    """Steps whose action was not there when it was due."""
    stops: int
    """Times that the robot was stopped."""
    stop_calls: int
    """Those of them that were asked for here, by the service `stop`."""
    worst_braking_ms: float | None
    """From such a call to the beginning of braking, the longest; None if the robot always stood."""
    latency_median_ms: float
    """From state to action; of the last 10,000 steps at most, as the next."""
    latency_p99_ms: float
    megabytes: Mapping[str, float]
    cpu: Mapping[str, float]
    """Share of a core, by node."""


def resident_megabytes(pid: int) -> float:
    """Return the memory that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1e3


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class PatrolBench:
    """A system on a mission without end."""

    def __init__(self, system: BenchSystem, mission: str, driver: str = "sim") -> None:
        """`driver` is the node that obeys the machine's actions."""
        self._system = system
        self._driver = driver
        self._state: MachineState | None = None
        system.client.node.create_subscription(
            MachineState, "machine_state", self._on_machine, qos.ALIVE
        )
        self.goal = MissionGoal(system.client, ExecuteMission.Goal(mission=mission))
        system.until(lambda: self.goal.machine_is_ready, START_SECONDS, "a machine that is ready")
        self.goal.send(START_SECONDS)
        system.until(
            lambda: self._value("steps in control") > 0, START_SECONDS, "a robot that moves"
        )
        self._stop_calls = StopCalls(system, driver, self._is_running)
        self._before = self._counts()
        self._began = time.monotonic()

    def _on_machine(self, state: MachineState) -> None:
        self._state = state

    def _is_running(self) -> bool:
        return self._state is not None and self._state.phase == MachineState.RUNNING

    def _value(self, key: str) -> float:
        return float(self._system.diagnostics.get(self._driver, {}).get(key, "0"))

    def _stops(self) -> int:
        """Return how often the robot was stopped so far, whatever for."""
        report = self._system.diagnostics.get(self._driver, {})
        return sum(int(count) for key, count in report.items() if key.startswith("stops"))

    def _counts(self) -> dict[str, Any]:
        children = self._system.children
        return {
            "rounds": 0 if self._state is None else self._state.accepted,
            "steps": int(self._value("steps in control")),
            "late": int(self._value("late actions")),
            "stops": self._stops(),
            "cpu": {name: cpu_seconds(child.pid) for name, child in children.items()},
            "time": time.monotonic(),
        }

    def _wait_until(self, end: float) -> None:
        while (left := end - time.monotonic()) > 0:
            self._system.client.spin_until(lambda: self.goal.done, left)
            self._system.check_running()
            if self.goal.done:
                result = self.goal.result
                raise SkmError(f"the patrol ended: {OUTCOMES[result.outcome]}, {result.reason}")

    def minute(self, number: int, stops: int = 0) -> Minute:
        """Return what the minute with this number, from 1, brought; stop the robot so often in it."""
        began, delays = self._began + MINUTE * (number - 1), []
        for each in range(stops):
            self._wait_until(began + MINUTE * (each + 0.5) / stops)
            delay = self._stop_calls.delay()
            delays += [] if delay is None else [delay]
        self._wait_until(began + MINUTE)
        before, now = self._before, self._counts()
        self._before = now
        seconds = now["time"] - before["time"]
        return Minute(
            number,
            now["rounds"] - before["rounds"],
            now["steps"] - before["steps"],
            now["late"] - before["late"],
            now["stops"] - before["stops"],
            stops,
            1e3 * max(delays) if delays else None,
            self._value("action latency, median (ms)"),
            self._value("action latency, 99 % (ms)"),
            {n: resident_megabytes(c.pid) for n, c in self._system.children.items()},
            {n: (used - before["cpu"][n]) / seconds for n, used in now["cpu"].items()},
        )


def measure_patrol(
    system_name: str,
    domain: str,
    mission: str,
    rate: float,
    seed: int,
    minutes: int,
    stops: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Return every minute of a patrol, how its client was told of the end, and the exit codes.

    `stops` is how often a minute the robot is stopped by service, and let go again.
    """
    with BenchSystem(domain, rate, seed, system_name) as system:
        bench = PatrolBench(system, mission, DRIVERS[system_name])
        found = []
        for number in range(1, minutes + 1):
            found.append(bench.minute(number, stops))
            say(str(found[-1]))
        bench.goal.cancel()
        system.until(lambda: bench.goal.done, START_SECONDS, "a result")
        outcome = OUTCOMES[bench.goal.result.outcome]
        bench.goal.close()
        codes = system.stop()
    delays = [row.worst_braking_ms for row in found if row.worst_braking_ms is not None]
    return {
        "minutes": [asdict(row) for row in found],
        "stop_calls": stops * minutes,
        "worst_braking_ms": max(delays, default=None),
        "braking_bound_ms": 1e3 * (2 / rate + SLACK),
        "outcome": outcome,
        "exit_codes": codes,
    }
