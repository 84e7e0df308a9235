"""The recordings of a folder on the page: find, open, compare, judge again, take home, delete them.

A recording that is deleted is put aside, in a folder `.deleted`, and can be brought back until the
server ends.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.execution.german import in_german
from skm_primitives.recording.files import (
    RunFile,
    has_end,
    read_recording,
    recorded_missions,
    summary,
)
from skm_primitives.recording.retention import QUIET_SECONDS, Retention
from skm_primitives.recording.verification import verify_mission
from skm_web.hub import Hub, OtherHub
from skm_web.player import Replay, replay_file
from skm_web.views import SAID_IN_WORDS

RECORDINGS: Final = "recordings/"
"""Below it recordings are downloaded."""
DELETED: Final = ".deleted"
SHOWN: Final = ("started", "domain", "mission", "outcome", "reason", "steps", "rounds", "seconds")
"""What is said of a recording, besides its name and its size."""
TIMES: Final = ("pause_replay", "seek", "speed")
"""Requests that both of two recordings follow."""
BULKY: Final = ("image", "markers")
"""Topics that lists are not made from: most of what a recording holds."""
BEING_RECORDED: Final = "being recorded"
GOOD: Final = ("accepted", "satisfied so far")
MOST_JUDGED: Final = 50
"""Recordings that are judged again without being asked, the newest ones."""


class RunLibrary:
    """The recordings of a folder. Each page that looks at them has a `RunViewer` of its own."""

    def __init__(self, folder: Path, keep: str = "", *, below: bool = False) -> None:
        """`keep` says how much is kept (`Retention`).

        Empty: everything. `below`: a robot's page is one level up.
        """
        if not folder.is_dir():
            raise SkmError(f"{folder} is not a folder with recordings")
        self._folder = folder
        self._retention = Retention.parse(keep) if keep else None
        self._known: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._beginnings: dict[str, dict[str, Any]] = {}
        """Of recordings that are being written, what they are of."""
        self._verified: dict[str, str] = {}
        self._viewers: list[RunViewer] = []
        self._lock = threading.RLock()
        self._judge = ThreadPoolExecutor(1, thread_name_prefix="judge")
        self._judging: set[str] = set()
        self._listed: dict[str, Any] = {}
        self.hub = Hub()
        """What every page shows: the list."""
        self.about = {"runs": str(folder), "below": below}
        self.hub.put("server", self.about)
        self.hub.put("controls", {})
        self.refresh()

    def visit(self) -> RunViewer:
        """Return what a page that comes sees of the folder."""
        viewer = RunViewer(self)
        with self._lock:
            self._viewers.append(viewer)
            self.refresh()
        return viewer

    def leave(self, viewer: RunViewer) -> None:
        """Let a page go."""
        with self._lock:
            if viewer in self._viewers:
                self._viewers.remove(viewer)

    def refresh(self) -> None:
        """Look what is in the folder; only what is new is read."""
        with self._lock:
            if self._retention is not None:
                self._retention.apply(self._folder, self._put_aside)
            rows = [self._row(path) for path in self._folder.glob("*.mcap")]
            rows.sort(key=lambda row: (row["started"], row["file"]), reverse=True)
            deleted = sorted(path.name for path in (self._folder / DELETED).glob("*.mcap"))
            self._listed = {
                "folder": str(self._folder),
                "open": "",
                "beside": "",
                "keep": "" if self._retention is None else self._retention.text,
                "bytes": sum(row["bytes"] for row in rows),
                "rows": rows,
                "deleted": deleted,
            }
            self.hub.put("runs", self._listed)
            for viewer in self._viewers:
                self.tell(viewer)
            for row in rows[:MOST_JUDGED]:
                readable = row["outcome"] not in ("unreadable", BEING_RECORDED)
                if readable and row["file"] not in self._judging:
                    self._judging.add(row["file"])
                    self._judge.submit(self._judged, row["file"])

    def tell(self, viewer: RunViewer) -> None:
        """Put the list into the hub of a page, with what is open there."""
        with self._lock:
            viewer.hub.put("runs", {**self._listed, "open": viewer.shown, "beside": viewer.beside})

    def outcome(self, name: str) -> str:
        """Return how a recording that is listed ended."""
        rows = self._listed["rows"]
        return next((str(row["outcome"]) for row in rows if row["file"] == name), "")

    def _judged(self, name: str) -> None:
        with suppress(SkmError):  # deleted meanwhile
            self.verify({"file": name})

    def _row(self, path: Path) -> dict[str, Any]:
        about = path.stat()
        key = path.name, about.st_mtime_ns, about.st_size
        if self._is_being_written(path, about.st_mtime):
            return {**self._beginning(path), "bytes": about.st_size, "verified": ""}
        self._beginnings.pop(path.name, None)
        if key not in self._known:
            words = ""
            try:
                recording = read_recording(path, recover=True, without=BULKY)
                found, words = summary(recording), _ending(recording)
            except SkmError as error:
                found = {**dict.fromkeys(SHOWN, ""), "outcome": "unreadable", "reason": str(error)}
            shown = {name: found.get(name) for name in SHOWN}
            reason = str(found.get("reason") or "")
            reason = SAID_IN_WORDS.sub("", reason) if words else reason
            both = {"reason": reason, "reason_de": in_german(reason)}
            self._known[key] = {**shown, **both, "words": words}
        verified = self._verified.get(path.name, "")
        about_file = {"file": path.name, "bytes": about.st_size, "verified": verified}
        return {**self._known[key], **about_file, "started": self._known[key]["started"] or ""}

    @staticmethod
    def _is_being_written(path: Path, written: float) -> bool:
        return time.time() - written < QUIET_SECONDS and not has_end(path)

    def _beginning(self, path: Path) -> dict[str, Any]:
        """Return what is known of a recording under way; it is not read again until it is finished."""
        known = self._beginnings.get(path.name, {})
        if not known.get("mission"):  # what it is a recording of may come later than the file
            found: dict[str, Any] = {}
            with suppress(SkmError):
                found = summary(read_recording(path, recover=True, without=BULKY))
            known = {name: found.get(name) for name in SHOWN}
            known |= {"outcome": BEING_RECORDED, "reason": "", "words": "", "file": path.name}
            self._beginnings[path.name] = {**known, "started": known["started"] or ""}
        return self._beginnings[path.name]

    def path(self, request: dict[str, Any], folder: Path | None = None) -> Path:
        """Return the recording that a request names: one of the folder's own, and no other file."""
        name = request.get("file")
        known = {path.name: path for path in (folder or self._folder).glob("*.mcap")}
        if not isinstance(name, str) or name not in known:
            raise SkmError("there is no such recording in the folder")
        return known[name]

    def file(self, path: str) -> tuple[str, bytes] | None:
        """Return a recording for download; None if there is none of that name."""
        if not path.startswith(RECORDINGS):
            return None
        try:
            name = path.removeprefix(RECORDINGS)
            return "application/octet-stream", self.path({"file": name}).read_bytes()
        except (SkmError, OSError):
            return None

    def verify(self, request: dict[str, Any]) -> None:
        """Judge a recording again by its labels, as `skm verify` does."""
        path = self.path(request)
        try:
            missions = recorded_missions(read_recording(path, recover=True, without=("image",)))
            said = verify_mission(missions[0], None).result if missions else "no mission"
        except SkmError as error:
            said = str(error)
        self._verified[path.name] = said
        self.refresh()

    def delete(self, request: dict[str, Any]) -> None:
        """Put a recording aside."""
        path = self.path(request)
        if self._is_being_written(path, path.stat().st_mtime):
            raise SkmError("this recording is still being written")
        self._put_aside(path)
        self.refresh()

    def _put_aside(self, path: Path) -> None:
        aside = self._folder / DELETED
        aside.mkdir(exist_ok=True)
        path.replace(aside / path.name)

    def restore(self, request: dict[str, Any]) -> None:
        """Bring a recording back."""
        path = self.path(request, self._folder / DELETED)
        target = self._folder / path.name
        if target.exists():
            raise SkmError(f"{path.name} is there again already")
        path.replace(target)
        self.refresh()

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of a page about the folder."""
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "verify_run": self.verify,
            "delete_run": self.delete,
            "restore_run": self.restore,
            "runs": lambda _: self.refresh(),
        }
        action = actions.get(request["type"])
        if action is None:
            return {"ok": False, "message": "open a recording first"}
        await asyncio.to_thread(action, request)
        return {"ok": True}

    def stop(self) -> None:
        """Let the pages go, and what was deleted."""
        self._judge.shutdown(wait=False, cancel_futures=True)
        for viewer in list(self._viewers):
            viewer.close()
        aside = self._folder / DELETED
        for path in aside.glob("*.mcap"):
            path.unlink(missing_ok=True)
        if aside.is_dir() and not any(aside.iterdir()):
            aside.rmdir()


class RunViewer:
    """What one page sees: the list, and the recordings that are open there, played for it alone."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library
        self.hub = Hub()
        self.replay: Replay | None = None
        self.other: Replay | None = None
        """The one beside it, on the same time line."""
        self.shown = self.beside = ""
        self._lock = threading.RLock()
        self.hub.put("server", library.about)
        self.hub.put("controls", {})

    def open(self, request: dict[str, Any]) -> None:
        """Play another recording; none: the list alone."""
        path = None if request.get("file") is None else self._library.path(request)
        with self._lock:
            for name, empty in (("words", {}), ("health", {}), ("why", None)):
                self.hub.put(name, empty)
            replay = None if path is None else replay_file(path, self.hub, recover=True)
            self._close_replay()
            if path is None or replay is None:
                self.hub.put("replay", None)
                self.hub.put("server", self._library.about)
            else:
                self.replay, self.shown = replay, path.name
                about = {"began": replay.began, "file": path.name}
                server = {"replay": about, "source": path.name, **self._library.about}
                self.hub.put("server", server)
                if self._library.outcome(path.name) not in GOOD:
                    replay.seek(replay.length)  # where it says what went wrong
                replay.start()
        self._library.tell(self)

    def compare(self, request: dict[str, Any]) -> None:
        """Show another recording beside the open one, on the same time line; none: alone again."""
        with self._lock:
            if request.get("file") is None:
                self._close_other()
            else:
                path = self._library.path(request)
                if self.replay is None or path.name == self.shown:
                    raise SkmError("open a recording first, then another one beside it")
                self._close_other()
                other = replay_file(path, OtherHub(self.hub), recover=True)
                self.other, self.beside = other, path.name
                other.start()
                for replay in (self.replay, other):
                    replay.pause()
                    replay.seek(0.0)
        self._library.tell(self)

    def _play(self) -> None:
        """Play both, where there are two: from the beginning if both have ended."""
        both = [replay for replay in (self.replay, self.other) if replay is not None]
        at_end = all(replay.at_end for replay in both)
        for replay in both:
            if at_end or not replay.at_end:
                replay.play()

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of the page."""
        kind = request["type"]
        action = {"open_run": self.open, "compare_run": self.compare}.get(kind)
        if action is not None:
            await asyncio.to_thread(action, request)
            return {"ok": True}
        if kind in ("runs", "verify_run", "delete_run", "restore_run") or self.replay is None:
            return await self._library.handle(request)
        if kind == "play":
            await asyncio.to_thread(self._play)
            return {"ok": True}
        if self.other is not None and kind in TIMES:
            await self.other.handle(request)
        return await self.replay.handle(request)

    def _close_other(self) -> None:
        if self.other is not None:
            self.other.stop()
            self.other = None
        self.beside = ""

    def _close_replay(self) -> None:
        self._close_other()
        if self.replay is not None:
            self.replay.stop()
            self.replay = None
        self.shown = ""

    def close(self) -> None:
        """Let the recordings go: the page has gone."""
        self._library.leave(self)
        with self._lock:
            self._close_replay()


def _ending(recording: RunFile) -> str:
    """Return how a run ended, in the words that were recorded; older recordings have none.

    A recording may go on into the next mission: only what is said of an end counts.
    """
    for message in reversed(recording.recorded):
        if message.name == "machine_state" and message.value.outcome:
            return str(getattr(message.value, "words", ""))
    return ""
