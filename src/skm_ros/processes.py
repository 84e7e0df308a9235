"""A few child processes that run together: output by line with the child's name, a common end."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from skm_primitives.interrupts import InterruptFlag
from skm_ros.graph import NodeDescription, System, Value

LAST_LINES: Final = 15
ASK_SECONDS: Final = 6.0
"""How long children are asked to end with SIGINT; then SIGTERM for half of that, then SIGKILL."""


DEAF_TO_CTRL_C: Final = ("/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""Put in front of a command, it lets that ignore SIGINT until it has a handler of its own. To ignore
the signal here while the child is made would lose one that comes just then."""


def say(name: str, line: str) -> None:
    """Print one line of a child with its name in front; where nothing can be printed, go on.

    The reader of a child's output must not stop, even on a full disk: the child would wait for it.
    """
    with suppress(OSError, ValueError):
        print(f"[{name}] {line}", file=sys.stderr, flush=True)


class Child:
    """A process whose output is passed on line by line and whose last lines are kept."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        # A terminal's Ctrl-C reaches children, too: they must not break off while they still import.
        self.process = subprocess.Popen(
            [*DEAF_TO_CTRL_C, *command],
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.last_lines.append(line.rstrip("\n"))
                say(self.name, self.last_lines[-1])

    @property
    def exit_code(self) -> int | None:
        """The exit code, None while it runs."""
        return self.process.poll()

    def join(self) -> None:
        """Wait, not for long, until the last of its output has been passed on."""
        self._reader.join(1.0)

    def describe_end(self) -> str:
        """Return how it ended, with its last lines."""
        self.join()
        code = self.process.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        lines = "".join(f"\n    {line}" for line in self.last_lines)
        return f"{self.name} ended with {how}; its last lines:{lines or ' none'}"


class Processes:
    """Children with a common end. Use it in a `with` statement: whatever happens, all of them end.

    Interrupts (SIGINT, SIGTERM) are noted, not raised, for as long as it lasts.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = dict(os.environ if environment is None else environment)
        self.children: list[Child] = []
        self.interrupted = InterruptFlag()

    def __enter__(self) -> Processes:
        handled = (signal.SIGINT, signal.SIGTERM)
        self._handlers = {number: signal.signal(number, self._interrupt) for number in handled}
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.interrupted.set()

    def start(self, name: str, command: Sequence[str]) -> Child:
        """Start a child."""
        child = Child(name, command, self.environment)
        self.children.append(child)
        return child

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until something is so, or until an interrupt."""
        while not self.interrupted.wait(0.1) and not until():
            pass

    def stop(self) -> None:
        """Ask every child that still runs to end, ever more firmly; return when all have."""
        began = time.monotonic()
        asked = -1.0
        while running := [child for child in self.children if child.exit_code is None]:
            waited = time.monotonic() - began
            if waited - asked >= 1.0 or asked < 0:  # a child may have been deaf while it started
                asked = waited
                number = signal.SIGINT if waited < ASK_SECONDS else signal.SIGTERM
                number = signal.SIGKILL if waited > 1.5 * ASK_SECONDS else number
                for child in running:
                    child.process.send_signal(number)
            time.sleep(0.02)
        for child in self.children:
            child.join()


# Starting a system of nodes: as processes, or all in this one, with its mission sent by a client.


REFUSED: Final = 2
"""The exit code of a node that was started with what it cannot take."""
MOST_RESTARTS: Final = 5
RESTART_SECONDS: Final = 60.0
"""A system whose nodes die more often than that in so many seconds is ended."""


def node_command(node: NodeDescription) -> list[str]:
    """Return the command that starts a node in a process of its own."""
    return [sys.executable, "-m", node.module, *node.ros_arguments()]


def mission_command(system: System, given: Mapping[str, Value], namespace: str) -> list[str]:
    """Return the command that sends the system its mission; nothing if it has none."""
    mission, picture = system.mission(given), str(system.values(given)["picture"])
    if not mission:
        if "picture" in given and picture:
            say(
                "skm",
                f"no picture: --picture {picture} shows the run of --mission, and there is none;"
                " to draw a later one, `skm mission … --picture FILE.svg`",
            )
        return []
    client = [sys.executable, "-m", "skm_cli.main", "mission", mission, "--when-ready"]
    drawn = ["--picture", picture] if picture else []
    return [*client, "--namespace", namespace, "--timeout", "60", *drawn]


def node_environment() -> dict[str, str]:
    """Return the environment for nodes: under the wheels of PyPI, ROS finds its packages by it."""
    return {"AMENT_PREFIX_PATH": sys.prefix, **os.environ}


def run_processes(nodes: list[NodeDescription], mission: list[str], *, respawn: bool = True) -> int:
    """Run every node in a process of its own until an interrupt.

    A node that dies is started again, unless it was refused what it was started with, or dies again
    and again: then all end, and so with `respawn` off.
    """
    commands = {node.name: node_command(node) for node in nodes}
    restarts: list[float] = []
    with Processes(node_environment()) as processes:
        servers = {name: processes.start(name, command) for name, command in commands.items()}
        if mission:
            processes.start("mission", mission)
        while not processes.interrupted.is_set():
            processes.wait(lambda: any(child.exit_code is not None for child in servers.values()))
            if processes.interrupted.is_set():
                break
            dead = [name for name, child in servers.items() if child.exit_code is not None]
            hopeless = any(servers[name].exit_code == REFUSED for name in dead)
            recent = [when for when in restarts if time.monotonic() - when < RESTART_SECONDS]
            for name in dead:
                say("skm", servers[name].describe_end())
            if not respawn or hopeless or len(recent) + len(dead) > MOST_RESTARTS:
                say("skm", "shutting down")
                return 1
            for name in dead:
                say("skm", f"starting {name} again")
                servers[name] = processes.start(name, commands[name])
                restarts.append(time.monotonic())
        say("skm", "shutting down")
    return 0


def run_here(nodes: list[NodeDescription], mission: list[str]) -> int:
    """Run all nodes in this process; a mission is sent by a child, as a user would."""
    from skm_ros.nodes.node_process import run as run_nodes  # noqa: PLC0415 - with rclpy

    makers = []
    for node in nodes:
        maker = getattr(importlib.import_module(node.module), node.class_name)
        options: dict[str, Any] = {"cli_args": node.ros_arguments(), "use_global_arguments": False}
        makers.append((maker, options))
    client = None
    if mission:
        client = Child("mission", mission, node_environment())
    try:
        return run_nodes(makers, [])
    finally:
        if client is not None and client.exit_code is None:
            client.process.terminate()
            client.process.wait()
