"""What a machine is to do, and where its mission stands, in a file that outlives its process.

The file is written as a whole, beside the old one and then in its place, so that a reader finds one of
the two whatever happens. What is in it is plain data; a file that cannot be read, or is of another
version, is refused with a sentence and put aside: nothing is guessed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.execution.closed_places import write_atomically

FILE: Final = "missions.json"
FORMAT: Final = "skm missions"
VERSION: Final = 1
ENTRY: Final = {"number": int, "goal_id": str, "priority": int, "goal": dict}
UNDER_WAY: Final = {"domain": str, "digest": str, "states": int, "tracker": dict, "key": list}
TRACKER: Final = {
    "state": int,
    "status": str,
    "labels": list,
    "violated": list,
    "steps": int,
    "accepting_visits": int,
    "began": int,
    "time": int,
    "moves": int,
    "transitions": list,
}


class KeptMissions:
    """The file in one folder: `load` what was kept, `keep` what is to be, or `forget` it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def keep(self, document: dict[str, Any]) -> None:
        """Write all of it; what was written before stands until this does."""
        write_atomically(self.path, {"format": FORMAT, "version": VERSION, **document})

    def forget(self) -> None:
        """Keep nothing any more."""
        self.path.unlink(missing_ok=True)

    def load(self) -> dict[str, Any] | None:
        """Return what was kept; None if nothing was. A file that is none of ours is put aside."""
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise SkmError(self._aside(f"cannot be read ({error})")) from error
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SkmError(self._aside(f"is damaged ({error})")) from error
        problem = _problem(found)
        if problem:
            raise SkmError(self._aside(problem))
        return dict(found)

    def _aside(self, problem: str) -> str:
        beside = self.path.with_name(f"{FILE}.refused")
        try:
            self.path.replace(beside)
        except OSError:
            beside = self.path
        return (
            f"the missions of before are not gone on with: {self.path} {problem}. It is kept as"
            f" {beside.name}; send the missions again"
        )


def _problem(found: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return what is wrong with a document, for the end of a sentence; else nothing."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return "is not a file of missions"
    if found.get("version") != VERSION:
        return f"is of version {found.get('version')}, and this is {VERSION}"
    entries = found.get("waiting")
    if not isinstance(entries, list) or not isinstance(found.get("paused"), str):
        return "lacks the missions that wait"
    under_way = found.get("under_way")
    for entry in [*entries, *([] if under_way is None else [under_way])]:
        if not _has(entry, ENTRY) or len(entry["goal_id"]) != 32:
            return "has a mission that is not whole"
    stands = None if under_way is None else under_way.get("stands")
    if stands is not None and not (_has(stands, UNDER_WAY) and _has(stands["tracker"], TRACKER)):
        return "does not say where the mission under way stands"
    return ""


def _has(found: Any, fields: dict[str, type]) -> bool:  # noqa: ANN401
    return isinstance(found, dict) and all(
        isinstance(found.get(name), kind) for name, kind in fields.items()
    )
