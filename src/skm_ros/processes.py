"""A few child processes that run together: output by line with the child's name, a common end."""

from __future__ import annotations

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
from typing import Final

from skm_primitives.interrupts import InterruptFlag

LAST_LINES: Final = 15
ASK_SECONDS: Final = 6.0
"""How long children are asked to end with SIGINT; then SIGTERM for half of that, then SIGKILL."""


DEAF_TO_CTRL_C: Final = ("/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""Put in front of a command, it lets that ignore SIGINT until it has a handler of its own. To ignore
the signal here while the child is made would lose one that comes just then."""


def say(name: str, line: str) -> None:
    """Print one line of a child with its name in front; where nothing can be printed, go on.

    Whoever reads a child's output must not stop, even on a full disk: the child would wait for it.
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
