"""Recordings as files: any MCAP file of ROS 2 messages, also one that was killed before its end.

    file = read_recording(Path("run.mcap"))
    for message in file.messages("labels", "action"):
        print(message.topic, message.publish_time, message.value.step)

`skm_primitives.recording.missions.recorded_missions(file)` puts the missions in it together, state by
state. No ROS is needed; the `record` extra is (mcap, zstandard).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import Codec, Message
from skm_primitives.recording.definitions import RecordingError, short_name

MAGIC: Final = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0C, 0x0F
_MESSAGE: Final = struct.Struct("<HIQQ")
_RECORD: Final = struct.Struct("<BQ")
MOST_CHUNK: Final = 1 << 30
"""The largest chunk that is unpacked: nobody can fill the memory with a small file."""


def require_mcap() -> None:
    """Raise an error that says what to install where the packages for recordings are missing."""
    try:
        import mcap  # noqa: F401, PLC0415
        import zstandard  # noqa: F401, PLC0415
    except ImportError as error:
        raise SkmError(
            f"recordings need the package '{error.name}': pip install 'skm[record]'"
        ) from None


@dataclass(frozen=True)
class Channel:
    """A topic of a recording, with what its messages look like."""

    topic: str
    """With its namespace: `/skm/labels`."""
    type: str
    """Such as `skm/Labels`."""
    schema: str
    encoding: str = "cdr"
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The topic without its namespace."""
        return self.topic.rpartition("/")[2]

    @cached_property
    def codec(self) -> Codec:
        """What reads its messages."""
        if self.encoding != "cdr":
            raise RecordingError(f"{self.topic} is not in CDR but in '{self.encoding}'")
        return Codec(self.type, self.schema)


@dataclass(frozen=True)
class Recorded:
    """One message of a recording, still in bytes; `value` reads it."""

    channel: Channel
    log_time: int
    """When it was recorded, in nanoseconds since 1970."""
    publish_time: int
    """When it was sent."""
    data: bytes
    sequence: int = 0

    @property
    def topic(self) -> str:
        """The topic with its namespace."""
        return self.channel.topic

    @property
    def name(self) -> str:
        """The topic without its namespace."""
        return self.channel.name

    @cached_property
    def value(self) -> Message:
        """The message, an attribute for each field."""
        return self.channel.codec.decode(self.data)


@dataclass
class RunFile:
    """What a recording holds, in the order in which it was written."""

    path: Path
    channels: dict[int, Channel] = field(default_factory=dict)
    recorded: list[Recorded] = field(default_factory=list)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    """Metadata records by name; where one came twice, the later values count."""
    complete: bool = False
    """Whether the file has its end: it was closed, not killed, and nothing was cut off."""
    lost_bytes: int = 0
    """What stands after the last whole record of a file without its end."""

    def messages(self, *names: str) -> Iterator[Recorded]:
        """Yield the messages of some topics (without namespace; all, if none is named), as recorded."""
        for message in self.recorded:
            if not names or message.name in names:
                yield message

    def topics(self) -> dict[str, str]:
        """Return the type of each topic, by its full name."""
        return {channel.topic: channel.type for channel in self.channels.values()}


def read_recording(path: Path, *, recover: bool = False) -> RunFile:
    """Return what a recording holds.

    A file without its end is an error, unless `recover` asks for what there is: all records up to the
    last whole one.
    """
    require_mcap()
    from mcap.exceptions import McapError  # noqa: PLC0415

    try:
        data = memoryview(path.read_bytes())
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror or error}") from error
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise RecordingError(f"{path} is no MCAP file")
    file = RunFile(path)
    try:
        end = _read_records(file, data, len(MAGIC))
    except (struct.error, ValueError, KeyError, MemoryError, McapError) as error:
        raise RecordingError(f"{path} is damaged: {error!r}") from error
    ended = end > 0 and bytes(data[-len(MAGIC) :]) == MAGIC and len(data) > 2 * len(MAGIC)
    file.complete = ended
    file.lost_bytes = 0 if ended else len(data) - abs(end)
    if not ended and not recover:
        raise RecordingError(
            f"{path} has no end: it was killed, cut, or is still being written; "
            "read what there is with --recover"
        )
    return file


def _read_records(file: RunFile, data: memoryview, start: int) -> int:
    """Take all records; return where the data end, negative where they end before they should."""
    at = start
    schemas: dict[int, tuple[str, str]] = {}
    opcode: int
    length: int
    while at + _RECORD.size <= len(data):
        opcode, length = _RECORD.unpack_from(data, at)
        first, after = at + _RECORD.size, at + _RECORD.size + length
        if after > len(data):
            break
        if opcode == DATA_END:
            return after
        _take(file, schemas, opcode, data[first:after])
        at = after
    return -at


def _take(
    file: RunFile, schemas: dict[int, tuple[str, str]], opcode: int, body: memoryview
) -> None:
    if opcode == MESSAGE:
        number, sequence, log_time, publish_time = _MESSAGE.unpack_from(body)
        content = bytes(body[_MESSAGE.size :])
        file.recorded.append(
            Recorded(file.channels[number], log_time, publish_time, content, sequence)
        )
    elif opcode == CHUNK:
        inside, at = _unpacked(body), 0
        while at + _RECORD.size <= len(inside):
            kind, length = _RECORD.unpack_from(inside, at)
            at += _RECORD.size + length
            _take(file, schemas, kind, inside[at - length : at])
    elif opcode in (SCHEMA, CHANNEL, METADATA):
        _take_description(file, schemas, opcode, body)


def _take_description(
    file: RunFile, schemas: dict[int, tuple[str, str]], opcode: int, body: memoryview
) -> None:
    from io import BytesIO  # noqa: PLC0415

    from mcap import records  # noqa: PLC0415
    from mcap.data_stream import ReadDataStream  # noqa: PLC0415

    stream = ReadDataStream(BytesIO(body))
    if opcode == SCHEMA:
        schema = records.Schema.read(stream)
        schemas[schema.id] = short_name(schema.name), schema.data.decode("utf-8")
    elif opcode == METADATA:
        found = records.Metadata.read(stream)
        file.metadata.setdefault(found.name, {}).update(found.metadata)
    else:
        made: Any = records.Channel.read(stream)
        kind, text = schemas.get(made.schema_id, ("", ""))
        file.channels[made.id] = Channel(
            made.topic, kind, text, made.message_encoding, dict(made.metadata)
        )


def _unpacked(body: memoryview) -> memoryview:
    """Return the records in a chunk."""
    from io import BytesIO  # noqa: PLC0415

    from mcap.data_stream import ReadDataStream  # noqa: PLC0415
    from mcap.exceptions import McapError  # noqa: PLC0415
    from mcap.records import Chunk  # noqa: PLC0415
    from mcap.stream_reader import get_chunk_data_stream  # noqa: PLC0415

    chunk = Chunk.read(ReadDataStream(BytesIO(body)))
    if chunk.uncompressed_size > MOST_CHUNK:
        raise RecordingError(f"a chunk of {chunk.uncompressed_size} bytes is not unpacked")
    try:
        stream, size = get_chunk_data_stream(chunk, validate_crc=True)
        return memoryview(stream.read(size))
    except (McapError, RuntimeError, ValueError) as error:
        raise RecordingError(f"a chunk is damaged: {error}") from error
    except Exception as error:
        raise RecordingError(f"a chunk cannot be unpacked: {error}") from error
