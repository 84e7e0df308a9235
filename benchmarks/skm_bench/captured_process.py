"""A child process whose output is kept and whose end is waited for: for benchmarks and tests."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from skm_machine.errors import SkmError
from skm_ros.client.private_domain import held_locks


class CapturedProcess:
    """A process in a group of its own, with both outputs read as they come."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.command = tuple(command)
        self.output: list[str] = []
        """Lines of standard error so far."""
        self.answers: list[str] = []
        """Lines of standard output so far."""
        self._process = subprocess.Popen(
            self.command,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            pass_fds=held_locks(),
        )
        self._readers = [
            threading.Thread(target=_read, args=(stream, lines), daemon=True)
            for stream, lines in (
                (self._process.stdout, self.answers),
                (self._process.stderr, self.output),
            )
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def check_running(self) -> None:
        """Raise an error with its last lines if the process has ended."""
        if self.returncode is not None:
            last = "\n".join([*self.answers[-5:], *self.output[-20:]])
            raise SkmError(f"{' '.join(self.command)} ended with {self.returncode}:\n{last}")

    def send_line(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the process and everything that it has started, as a terminal does."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def stop(self, timeout: float = 10.0) -> int:
        """Interrupt the group and return the exit code; kill it, and return −9, if it does not end."""
        if self.returncode is None:
            self.signal_group(signal.SIGINT)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.signal_group(signal.SIGKILL)
        code = self._process.wait()
        for reader in self._readers:
            reader.join(timeout)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        return code


def _read(stream: IO[str] | None, lines: list[str]) -> None:
    assert stream is not None
    with suppress(ValueError):  # closed while reading
        for line in stream:
            lines.append(line.rstrip("\n"))
