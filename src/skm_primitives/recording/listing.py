"""Recordings at a glance: what a folder has, what one file holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from skm_machine.errors import SkmError
from skm_primitives.recording.files import RunFile, read_recording


def listed(folder: Path) -> list[dict[str, Any]]:
    """Return what there is to say about each recording of a folder, in order of their names."""
    rows = []
    for path in sorted(folder.glob("*.mcap")):
        try:
            rows.append(summary(read_recording(path, recover=True)))
        except SkmError as error:
            rows.append({**_EMPTY, "file": str(path), "outcome": f"unreadable: {error}"})
    return rows


_EMPTY: dict[str, Any] = {
    "file": "",
    "started": "",
    "source": "",
    "domain": "",
    "mission": "",
    "outcome": "unknown",
    "reason": "",
    "steps": None,
    "rounds": None,
    "seconds": None,
    "digest": "",
    "complete": False,
    "messages": 0,
    "bytes": 0,
}


def summary(file: RunFile) -> dict[str, Any]:
    """Return mission, outcome and length of a recording, from its metadata."""
    about, mission = file.metadata.get("skm.run", {}), file.metadata.get("skm.mission", {})
    outcome = file.metadata.get("skm.outcome", {})
    return {
        **_EMPTY,
        "file": str(file.path),
        "started": about.get("started", ""),
        "source": about.get("source", ""),
        "domain": mission.get("domain", ""),
        "mission": mission.get("mission", ""),
        "outcome": outcome.get("outcome", "unknown"),
        "reason": outcome.get("reason", ""),
        "steps": _number(outcome.get("steps")),
        "rounds": _number(outcome.get("accepted")),
        "seconds": _number(outcome.get("seconds")),
        "digest": mission.get("digest", ""),
        "complete": file.complete,
        "messages": len(file.recorded),
        "bytes": file.path.stat().st_size,
    }


def _number(text: str | None) -> float | int | None:
    try:
        return None if text is None else float(text) if "." in text else int(text)
    except ValueError:
        return None


def details(path: Path) -> dict[str, Any]:
    """Return all that one recording says about itself."""
    file = read_recording(path, recover=True)
    counts = Counter(message.topic for message in file.recorded)
    return {
        **summary(file),
        "metadata": file.metadata,
        "topics": {
            topic: {"type": kind, "messages": counts[topic]}
            for topic, kind in sorted(file.topics().items())
        },
    }
