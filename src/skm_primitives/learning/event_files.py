"""Event files that TensorBoard reads, of scalars only: so no package has to be installed to write them.

A file is a row of records: length, its checksum, content, its checksum. A content is an `Event` of
protocol buffers: wall time (1), step (2), the version in the first one (3), a summary (5) of values with
tag (1) and number (2).
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

CASTAGNOLI: Final = 0x82F63B78
"""The polynomial of CRC-32C, reflected."""
MASK: Final = 0xA282EAD8
VERSION: Final = b"brain.Event:2"


class EventFile:
    """Appends scalars to a file of its own in a folder; a resumed run begins another one there."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self._append(struct.pack("<Bd", 0x09, now) + _bytes(3, VERSION))

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """Note numbers by tag."""
        values = b"".join(
            _bytes(1, _bytes(1, tag.encode()) + struct.pack("<Bf", 0x15, value))
            for tag, value in scalars.items()
        )
        head = struct.pack("<Bd", 0x09, time.time()) + b"\x10" + _varint(step)
        self._append(head + _bytes(5, values))

    def _append(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        with self.path.open("ab") as file:
            file.write(length + _checksum(length) + event + _checksum(event))


def _varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _bytes(field: int, content: bytes) -> bytes:
    """Return a field of a length and so many bytes."""
    return bytes([field << 3 | 2]) + _varint(len(content)) + content


@cache
def _table() -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        rest = byte
        for _ in range(8):
            rest = rest >> 1 ^ (CASTAGNOLI if rest & 1 else 0)
        rows.append(rest)
    return tuple(rows)


def crc32c(content: bytes) -> int:
    """Return the CRC-32C of some bytes."""
    table, rest = _table(), 0xFFFFFFFF
    for byte in content:
        rest = rest >> 8 ^ table[(rest ^ byte) & 0xFF]
    return rest ^ 0xFFFFFFFF


def _checksum(content: bytes) -> bytes:
    """Return the masked checksum, as records have it."""
    rest = crc32c(content)
    return struct.pack("<I", ((rest >> 15 | rest << 17) + MASK) & 0xFFFFFFFF)
