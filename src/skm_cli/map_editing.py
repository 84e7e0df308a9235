"""`skm map --edit`: the map editor in a browser, and the robot system that is started from it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from skm_cli.options import serve_until_interrupted
from skm_machine.errors import SkmError
from skm_web.hub import Hub
from skm_web.map_editor import MapEditor, Starter
from skm_web.server import PageServer

ADDRESS: Final = re.compile(r"the page is at (\S+)")
END_SECONDS: Final = 15.0


class RobotSystem(Starter):
    """A simulated robot on a domain, with its page: `skm up robot`, one at a time."""

    def __init__(self, host: str, runs: Path) -> None:
        self._host, self._runs = host, runs
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def start(self, domain: Path, tell: Callable[[dict[str, Any]], None]) -> None:
        """Start it in a process of its own; the one before ends."""
        self.stop()
        about = {"domain": domain.name}
        tell({**about, "starting": True})
        command = [sys.executable, "-m", "skm_cli.main", "up", "robot", "--domain", str(domain)]
        command += ["--web", "--host", self._host, "--port", "0", "--record", str(self._runs)]
        with self._lock:
            self._process = process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        threading.Thread(target=self._watch, args=(process, about, tell), daemon=True).start()

    def _watch(
        self,
        process: subprocess.Popen[str],
        about: dict[str, Any],
        tell: Callable[[dict[str, Any]], None],
    ) -> None:
        """Tell where the page is, and when the system has ended by itself."""
        last: deque[str] = deque(maxlen=4)
        for line in process.stdout or ():
            last.append(line.strip())
            found = ADDRESS.search(line)
            if found:
                tell({**about, "url": found[1]})
        code = process.wait()
        with self._lock:
            ours = self._process is process
        if ours:
            said = " ".join(last)[-600:]
            tell({**about, "problem": f"the robot system has ended (exit code {code}): {said}"})

    def stop(self) -> None:
        """End it as Ctrl-C would; what does not end is killed."""
        with self._lock:
            process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def edit_maps(first: Path | None, folder: Path, host: str, port: int, public_url: str = "") -> None:
    """Serve the editor until Ctrl-C; domains go into the folder."""
    if folder.exists() and not folder.is_dir():
        raise SkmError(f"{folder} is a file; --out names the folder that domains are saved in.")
    hub = Hub()
    editor = MapEditor(hub, folder, RobotSystem(host, folder / "runs"))
    try:
        if first is not None:
            editor.open_file(first)
        server = PageServer(
            hub,
            editor.handle,
            host,
            port,
            source=str(folder),
            public_url=public_url,
            root="editor.html",
            downloads=editor.file,
        )
        with server:
            serve_until_interrupted(server.url)
    finally:
        editor.stop()
