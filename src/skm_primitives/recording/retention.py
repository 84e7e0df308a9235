"""How much is kept of a folder of recordings: a number, bytes, or days; the oldest go first."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError

UNITS: Final = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
QUIET_SECONDS: Final = 60.0
"""A recording that was written to later than this ago may not be finished: it stays."""
DAY: Final = 86_400.0


@dataclass(frozen=True)
class Retention:
    """What is kept; None: no limit of that kind."""

    text: str
    runs: int | None = None
    size: float | None = None
    """Bytes, of all recordings together."""
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Retention:
        """Read `200` (recordings), `2GB` (in all), `30d` (days), or several of them: `200,30d`."""
        found = cls(text)
        for part in text.lower().split(","):
            match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(|d|kb|mb|gb|tb)\s*", part)
            number = float(match[1]) if match else 0.0
            if match is None or number <= 0 or (not match[2] and number != int(number)):
                raise SkmError(
                    f"'{text}' says nothing about what to keep: 200 (recordings), 2GB (in all), 30d "
                    "(days), or several: 200,30d"
                )
            runs, size, seconds = found.runs, found.size, found.seconds
            if not match[2]:
                runs = int(number)
            elif match[2] == "d":
                seconds = number * DAY
            else:
                size = number * UNITS[match[2]]
            found = cls(text, runs, size, seconds)
        return found

    def surplus(self, folder: Path, now: float | None = None) -> list[Path]:
        """Return the recordings that are too many, too large together, or too old; the oldest first."""
        now = time.time() if now is None else now
        files = []
        for path in folder.glob("*.mcap"):
            with suppress(OSError):  # gone meanwhile
                about = path.stat()
                files.append((about.st_mtime, path, about.st_size))
        files.sort(key=lambda entry: entry[:2])
        count, total = len(files), sum(size for _, _, size in files)
        found = []
        for written, path, size in files:
            many = self.runs is not None and count > self.runs
            large = self.size is not None and total > self.size
            old = self.seconds is not None and now - written > self.seconds
            if now - written < QUIET_SECONDS or not (many or large or old):
                continue
            found.append(path)
            count, total = count - 1, total - size
        return found

    def apply(self, folder: Path, delete: Callable[[Path], None] | None = None) -> list[Path]:
        """Delete what is too much, and return it."""
        gone = self.surplus(folder)
        for path in gone:
            with suppress(OSError):
                path.unlink() if delete is None else delete(path)
        return gone
