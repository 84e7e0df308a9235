"""The loop in real time: are the actions there when the steps are due?"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from skm.action import ExecuteMission

from skm_bench.captured_process import CapturedProcess
from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES

# How punctual the machine itself is: a thread that only sleeps, at a fixed rate.


class BareTimer:
    """Sleeps from one multiple of a period to the next while it is entered; notes how late it woke.

    What this shows beside a measurement in real time is not the doing of whatever was measured.
    """

    def __init__(self, rate: float) -> None:
        self._period = 1 / rate
        self._late: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bare timer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            due += self._period
            time.sleep(max(0.0, due - time.monotonic()))
            self._late.append(time.monotonic() - due)

    @property
    def late_ms(self) -> dict[str, float]:
        """By how many milliseconds it woke too late."""
        late = 1e3 * np.array(self._late or [0.0])
        median, p99, worst = np.percentile(late, [50, 99, 100]).round(3).tolist()
        return {"median": median, "p99": p99, "worst": worst}


# Measuring the loop in real time: are the actions there when the steps are due?
#
# What is late is counted by the simulator, where it matters, and read from its diagnostics.


START_SECONDS: Final = 60.0
REPORT_SECONDS: Final = 10.0
LATENCIES: Final = ("median", "95 %", "99 %", "worst")
KEYS: Final = ("median", "p95", "p99", "worst")


def measure_real_time(
    domain: str, mission: str, rate: float, steps: int, options: list[str]
) -> dict[str, Any]:
    """Run a mission for so many steps at a fixed rate; return how well the rate was held."""
    with ExitStack() as stack:
        domain_id = stack.enter_context(private_domain_id())
        command = [sys.executable, "-m", "skm_cli.main", "up", "demo", "--domain", domain]
        arguments = ["--mission", "", "--render", "none", "--mode", "realtime", "--rate", str(rate)]
        child = CapturedProcess([*command, *arguments, *options], private_environment(domain_id))
        stack.callback(child.stop)
        client = stack.enter_context(RosClient(domain_id=domain_id))
        return RealTime(client, child).measure(mission, rate, steps)


class RealTime:
    """A system in real time, and a client that sends it a mission and hears its diagnostics."""

    def __init__(self, client: RosClient, child: CapturedProcess) -> None:
        self._client = client
        self._child = child
        self._sim: dict[str, str] = {}
        client.node.create_subscription(
            DiagnosticArray, qos.DIAGNOSTICS_TOPIC, self._on_diagnostics, qos.DIAGNOSTICS
        )

    def measure(self, mission: str, rate: float, steps: int) -> dict[str, Any]:
        """Run one mission and return what the simulator counted."""
        load = os.getloadavg()[0]
        goal = ExecuteMission.Goal(mission=mission, max_steps=steps)
        sent = MissionGoal(self._client, goal)
        self._until(lambda: sent.machine_is_ready, START_SECONDS, "the nodes were not ready")
        sent.send(START_SECONDS)
        with BareTimer(rate) as timer:
            self._until(
                lambda: sent.done, START_SECONDS + 3 * steps / rate, "no end of the mission"
            )
        result = sent.result
        sent.close()
        if result.steps != steps:
            raise SkmError(
                f"the nodes were to take {steps} steps; they took {result.steps}: "
                f"{OUTCOMES[result.outcome]}, {result.reason}"
            )
        # A report from before the end does not know of the last steps.
        self._sim = {}
        self._until(lambda: bool(self._sim), REPORT_SECONDS, "no diagnostics of the simulator")
        # Steps that went by before the first action arrived are late, too.
        before = max(0, steps - int(self._sim["steps in control"]))
        late = before + int(self._sim["late actions"])
        return {
            "steps": steps,
            "late": late / steps,
            "late_steps": late,
            "late_before_first_action": before,
            "rate": result.steps / result.seconds,
            "latency_ms": {
                key: float(self._sim[f"action latency, {name} (ms)"])
                for key, name in zip(KEYS, LATENCIES, strict=True)
            },
            "bare_timer_late_ms": timer.late_ms,
            "load_before": load,
            "load_after": os.getloadavg()[0],
        }

    def _until(self, condition: Any, timeout: float, otherwise: str) -> None:  # noqa: ANN401
        def holds() -> bool:
            self._child.check_running()
            return bool(condition())

        if not self._client.spin_until(holds, timeout):
            raise SkmError(f"{otherwise} within {timeout:.0f} s")

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith("/sim"):
                self._sim = {entry.key: entry.value for entry in status.values}
