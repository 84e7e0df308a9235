"""Places that people have taken out of service: a file that outlives the nodes, with a note for each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError

FILE: Final = "closed_places.json"


def state_folder(given: str, namespace: str) -> Path:
    """Return the folder that a system keeps its state in: as given, or the user's usual one."""
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "skm" / (namespace.strip("/").replace("/", "_") or "root")


def write_atomically(path: Path, document: Any) -> None:  # noqa: ANN401 - JSON
    """Write a JSON document so that a reader finds the old one or the new one, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    with beside.open("w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


class ClosedPlaces:
    """What is out of service in each domain; `close` and `open` write the file before they return."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._by_domain: dict[str, dict[str, str]] = {}
        if self._path.is_file():
            try:
                found = json.loads(self._path.read_text("utf-8"))
                self._by_domain = {
                    str(domain): {str(name): str(note) for name, note in places.items()}
                    for domain, places in found.items()
                }
            except (OSError, ValueError, AttributeError) as error:
                raise SkmError(
                    f"{self._path} is not a list of closed places ({error}); delete it, or put right"
                    " what is wrong"
                ) from error

    def in_domain(self, domain: str) -> Mapping[str, str]:
        """Return the notes of the places of a domain that are out of service, by name."""
        return dict(sorted(self._by_domain.get(domain, {}).items()))

    def close(self, domain: str, name: str, note: str) -> None:
        """Take a place out of service."""
        self._by_domain.setdefault(domain, {})[name] = note
        write_atomically(self._path, self._by_domain)

    def open(self, domain: str, name: str) -> bool:
        """Put a place back into service; tell whether it was out of it."""
        was = self._by_domain.get(domain, {}).pop(name, None) is not None
        if was:
            write_atomically(self._path, self._by_domain)
        return was
