"""What an entry of a mission's log begins with, told from its bytes: for whoever keeps it as it is."""

from __future__ import annotations

import struct
from typing import Final

from skm_primitives.recording.cdr import LITTLE_ENDIAN, codec_of
from skm_primitives.recording.definitions import RecordingError
from skm_primitives.recording.missions import goal_id

KIND: Final = "skm/MissionLog"
_FRAME: Final = struct.Struct(f"<{len(LITTLE_ENDIAN)}x8xI")
"""The header's stamp, and how long the name of its frame is."""
_ID_BYTES: Final = 16


def entry_head(data: bytes) -> tuple[str, int]:
    """Return the mission's id, as hexadecimal digits, and the entry's kind; the rest is not read."""
    if not data.startswith(LITTLE_ENDIAN):
        entry = codec_of(KIND).decode(data)
        return goal_id(entry), int(entry.kind)
    try:
        first = _FRAME.size + _FRAME.unpack_from(data)[0]
        number = -(-(first + _ID_BYTES) // 4) * 4
        return data[first : first + _ID_BYTES].hex(), data[number + 4]
    except (struct.error, IndexError) as error:
        raise RecordingError(f"a {KIND} cannot be read: {error}") from error
