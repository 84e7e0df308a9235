"""Calls of `stop` while a robot is on a mission: after how long it brakes. It is let go again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from std_srvs.srv import Trigger

from skm_machine.errors import SkmError
from skm_ros.bench.bench_system import BenchSystem

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
