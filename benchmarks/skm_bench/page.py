"""What open pages cost: late actions with and without them in turn, in one run, and the server's CPU.

The pages here are WebSockets that read everything, as those of a browser do; each counts its updates.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from skm.action import ExecuteMission
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from skm_bench.processes import START_SECONDS, BenchSystem
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.graph import Value

REPORT_SECONDS: Final = 10.0
TURNS: Final = 4
"""Windows of each kind, in turn: what else the machine does meets both alike."""


class OpenPage:
    """A page that takes all that it is sent; use it in a `with` statement."""

    def __init__(self, address: str) -> None:
        self.updates = 0
        self.bytes = 0
        self._over = False
        origin = Origin(address.rstrip("/"))
        self._socket = connect(f"{origin.replace('http', 'ws', 1)}/socket", origin=origin)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> OpenPage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._socket.close()
        self._thread.join()

    def _read(self) -> None:
        try:
            for message in self._socket:
                self.bytes += len(message)
                if isinstance(message, str) and json.loads(message)["type"] == "news":
                    self.updates += 1
        except WebSocketException:
            if not self._over:
                raise


def measure_pages(
    domain: str,
    mission: str,
    rate: float,
    steps: int,
    seed: int,
    pages: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Run a mission without end; return what was late in windows of so many steps, of each kind."""
    arguments: dict[str, Value] = {
        "web": True,
        "web_port": 0,
        "render": "markers",
        "marker_rate": 15.0,
    }
    with BenchSystem(domain, rate, seed, arguments=arguments) as system:
        sent = MissionGoal(system.client, ExecuteMission.Goal(mission=mission))
        system.until(lambda: sent.machine_is_ready, START_SECONDS, "the nodes")
        sent.send(START_SECONDS)
        address = _address(system)
        without, with_pages = [], []
        for turn in range(TURNS):
            say(f"turn {turn + 1} of {TURNS}: without a page, then with {pages}")
            without.append(_window(system, steps, []))
            with ExitStack() as stack:
                opened = [stack.enter_context(OpenPage(address)) for _ in range(pages)]
                with_pages.append(_window(system, steps, opened))
        sent.cancel()
        system.until(lambda: sent.done, START_SECONDS, "the mission's end")
        sent.close()
    return {
        "pages": pages,
        "load": os.getloadavg()[0],
        "without": _summary(without),
        "with": _summary(with_pages),
    }


def _address(system: BenchSystem) -> str:
    def found() -> list[str]:
        return re.findall(r"the page is at (\S+)", "\n".join(system.children["web"].output))

    system.until(lambda: bool(found()), START_SECONDS, "the page's address")
    return found()[0]


def _window(system: BenchSystem, steps: int, pages: list[OpenPage]) -> dict[str, float]:
    """Return what was counted while the robot took so many steps."""
    first = _report(system)
    cpu, began = _cpu_seconds(system), time.monotonic()
    updates = [page.updates for page in pages]
    wanted = first[0] + steps
    deadline = START_SECONDS + steps
    system.until(lambda: _counted(system)[0] >= wanted, deadline, f"{steps} steps")
    last, seconds = _counted(system), time.monotonic() - began
    seen = [(page.updates - n) / seconds for page, n in zip(pages, updates, strict=True)]
    return {
        "steps": last[0] - first[0],
        "late": last[1] - first[1],
        "cpu": (_cpu_seconds(system) - cpu) / seconds,
        "updates": min(seen, default=0.0),
    }


def _report(system: BenchSystem) -> tuple[int, int]:
    """Return what the simulator counts in a report that is new."""
    system.diagnostics.pop("sim", None)
    system.until(lambda: "sim" in system.diagnostics, REPORT_SECONDS, "the simulator's report")
    return _counted(system)


def _counted(system: BenchSystem) -> tuple[int, int]:
    values = system.diagnostics["sim"]
    return int(values["steps in control"]), int(values["late actions"])


def _cpu_seconds(system: BenchSystem) -> float:
    """Return the CPU time that the web node has taken."""
    text = Path(f"/proc/{system.children['web'].pid}/stat").read_text(encoding="ascii")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _summary(windows: list[dict[str, float]]) -> dict[str, float]:
    steps, late = sum(w["steps"] for w in windows), sum(w["late"] for w in windows)
    return {
        "steps": steps,
        "late_steps": late,
        "late": late / steps,
        "server_cpu": sum(w["cpu"] for w in windows) / len(windows),
        "updates_per_second": min(w["updates"] for w in windows),
    }
