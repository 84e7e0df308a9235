"""Recordings as files: any MCAP file of ROS 2 messages, also one that was killed before its end.

    file = read_recording(Path("run.mcap"))
    for message in file.messages("labels", "action"):
        print(message.topic, message.publish_time, message.value.step)

`skm_primitives.recording.files.recorded_missions(file)` puts the missions in it together, state by
state. No ROS is needed; the `record` extra is (mcap, zstandard).
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from skm_machine.errors import SkmError
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission, compile_mission
from skm_machine.version import __version__
from skm_primitives.recording.cdr import (
    BEGAN,
    CONTINUOUS,
    DISCRETE,
    ENDED,
    OUTCOMES,
    RESUMED,
    Codec,
    ExistingRecordingError,
    Message,
    RecordingError,
    codec_of,
    long_name,
    message_type,
    schema_text,
    short_name,
    word,
)

MAGIC: Final = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0C, 0x0F
_MESSAGE: Final = struct.Struct("<HIQQ")
_RECORD: Final = struct.Struct("<BQ")
MOST_CHUNK: Final = 1 << 30
"""The largest chunk that is unpacked: a small file cannot fill the memory."""


def require_mcap() -> None:
    """Raise an error that says what to install where the packages for recordings are missing."""
    try:
        import mcap  # noqa: F401, PLC0415
        import zstandard  # noqa: F401, PLC0415
    except ImportError as error:
        raise SkmError(
            f"recordings need the package '{error.name}': pip install 'skm[record]'"
        ) from None


RENAMED_FIELDS: Final[dict[str, dict[str, str]]] = {"decision": {"keep_off": "avoid"}}
"""By topic, fields of messages that had another name in recordings of older versions: 0.1 wrote
`keep_off`. Recordings outlive names, so readers ask for the present one only."""


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
        """The message, an attribute for each field, under the name that it has today."""
        value = self.channel.codec.decode(self.data)
        for old, new in RENAMED_FIELDS.get(self.name, {}).items():
            if hasattr(value, old):
                setattr(value, new, getattr(value, old))
        return value


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


def read_recording(path: Path, *, recover: bool = False, without: Collection[str] = ()) -> RunFile:
    """Return what a recording holds.

    A file without its end is an error, unless `recover` asks for what there is: all records up to the
    last whole one. `without` names topics (without namespace) that are passed over: pictures are most
    of a file, and take as much memory.
    """
    require_mcap()
    from mcap.exceptions import McapError  # noqa: PLC0415

    try:
        # Mapped, not read: recordings with pictures are larger than memory may be.
        data = _mapped(path)
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror or error}") from error
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise RecordingError(f"{path} is not an MCAP file")
    file = RunFile(path)
    try:
        end = _read_records(file, data, len(MAGIC), frozenset(without))
    # A damaged file may claim any length and any number, so all of these can come of reading it.
    except (struct.error, ValueError, KeyError, MemoryError, McapError) as error:
        raise RecordingError(f"{path} is damaged: {error!r}") from error
    # The data may end properly and the summary after them be cut off: both ends count.
    ended = end > 0 and bytes(data[-len(MAGIC) :]) == MAGIC and len(data) > 2 * len(MAGIC)
    file.complete = ended
    file.lost_bytes = 0 if ended else len(data) - abs(end)
    if not ended and not recover:
        raise RecordingError(
            f"{path} has no end: it was killed, cut, or is still being written; "
            "read what there is with --recover"
        )
    return file


def has_end(path: Path) -> bool:
    """Tell whether a recording was closed, by its last bytes alone."""
    with suppress(OSError), path.open("rb") as stream:
        stream.seek(-len(MAGIC), os.SEEK_END)
        return stream.tell() > 0 and stream.read() == MAGIC
    return False


def _mapped(path: Path) -> memoryview:
    """Return a file's content; what is passed over is not even read from the disk."""
    with path.open("rb") as stream:
        # An empty file cannot be mapped.
        if not os.fstat(stream.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _read_records(file: RunFile, data: memoryview, start: int, without: frozenset[str]) -> int:
    """Take all records; return where the data end, negative where they end before they should."""
    at = start
    schemas: dict[int, tuple[str, str]] = {}
    opcode: int
    length: int
    while at + _RECORD.size <= len(data):
        opcode, length = _RECORD.unpack_from(data, at)
        first, after = at + _RECORD.size, at + _RECORD.size + length
        # A record that was being written when the process was killed.
        if after > len(data):
            break
        if opcode == DATA_END:
            return after
        _take(file, schemas, opcode, data[first:after], without)
        at = after
    return -at


def _take(
    file: RunFile,
    schemas: dict[int, tuple[str, str]],
    opcode: int,
    body: memoryview,
    without: frozenset[str],
) -> None:
    if opcode == MESSAGE:
        number, sequence, log_time, publish_time = _MESSAGE.unpack_from(body)
        if file.channels[number].name in without:
            return
        # A copy: a view would keep the whole file mapped as long as one message lives.
        content = bytes(body[_MESSAGE.size :])
        file.recorded.append(
            Recorded(file.channels[number], log_time, publish_time, content, sequence)
        )
    elif opcode == CHUNK:
        inside, at = _unpacked(body), 0
        while at + _RECORD.size <= len(inside):
            kind, length = _RECORD.unpack_from(inside, at)
            at += _RECORD.size + length
            _take(file, schemas, kind, inside[at - length : at], without)
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
    # Some bytes of zstd can unpack to gigabytes; recordings come from anywhere.
    if chunk.uncompressed_size > MOST_CHUNK:
        raise RecordingError(f"a chunk of {chunk.uncompressed_size} bytes is not unpacked")
    try:
        stream, size = get_chunk_data_stream(chunk, validate_crc=True)
        return memoryview(stream.read(size))
    except (McapError, RuntimeError, ValueError) as error:
        raise RecordingError(f"a chunk is damaged: {error}") from error
    # The decompressors raise classes of their own, and which ones differs between their versions.
    except Exception as error:
        raise RecordingError(f"a chunk cannot be unpacked: {error}") from error


# An MCAP file that grows record by record, unchunked: what has been flushed is kept, whatever
# happens.
#
# The records are those of the `mcap` package, but for messages, which are most of them and come
# while a robot drives: they are put together here.


_MESSAGE_RECORD: Final = struct.Struct("<BQHIQQ")
_NEVER: Final = (1 << 64) - 1
_AHEAD: Final = 9
"""Bytes of a record before its content."""


class FlatFile:
    """A file under way; what is added is in it after `flush`."""

    def __init__(self, path: Path, profile: str, library: str, *, overwrite: bool = False) -> None:
        require_mcap()
        from mcap import records  # noqa: PLC0415

        self._records = records
        self._path = path
        self._descriptions: list[Any] = []
        self._metadata: list[Any] = []
        self._counts: Counter[int] = Counter()
        self._first, self._last = _NEVER, 0
        self._waiting = bytearray(MAGIC)
        self._size = len(MAGIC)
        """Of all that has been added, flushed or not."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer of Python's own: what `write` has taken is with the kernel, and
            # outlives the process. `xb` fails if the file is there, also if it came between a check
            # and here.
            self._stream = path.open("wb" if overwrite else "xb", buffering=0)
        except FileExistsError:
            raise ExistingRecordingError(f"{path} exists; --overwrite replaces it.") from None
        except OSError as error:
            raise self._cannot(error) from error
        self._add(records.Header(profile=profile, library=library))
        try:
            self.flush()
        except SkmError:
            self._stream.close()
            raise

    @property
    def closed(self) -> bool:
        """Whether the file has its end."""
        return self._stream.closed

    @property
    def waiting(self) -> int:
        """How many bytes have been added since what is in the file."""
        return len(self._waiting)

    def schema(self, number: int, name: str, encoding: str, text: str) -> None:
        """Add a description of messages; numbers are from 1."""
        record = self._records.Schema(id=number, name=name, encoding=encoding, data=text.encode())
        self._describe(record)

    def channel(self, number: int, topic: str, schema: int, about: dict[str, str]) -> None:
        """Add a topic, of messages in CDR; numbers are from 1."""
        self._describe(
            self._records.Channel(
                id=number, topic=topic, message_encoding="cdr", metadata=about, schema_id=schema
            )
        )

    def message(
        self, channel: int, data: bytes, log_time: int, publish_time: int, sequence: int
    ) -> None:
        """Add a message."""
        size = _MESSAGE_RECORD.size + len(data)
        self._waiting += _MESSAGE_RECORD.pack(
            MESSAGE, size - _AHEAD, channel, sequence, log_time, publish_time
        )
        self._waiting += data
        self._size += size
        self._counts[channel] += 1
        self._last = max(self._last, log_time)
        self._first = min(self._first, log_time)

    def metadata(self, name: str, values: dict[str, str]) -> None:
        """Add a metadata record."""
        start = self._size
        self._add(self._records.Metadata(name=name, metadata=values))
        self._metadata.append(
            self._records.MetadataIndex(offset=start, length=self._size - start, name=name)
        )

    def flush(self) -> None:
        """Put what has been added into the file: a process that is killed from now on keeps it.

        What cannot be written (a full disk) is kept, to be tried again.
        """
        while self._waiting:
            try:
                written = self._stream.write(self._waiting)
            except OSError as error:
                raise self._cannot(error) from error
            # A write may be partial, as on a disk that is nearly full: only what was taken goes.
            del self._waiting[:written]

    def close(self) -> None:
        """Add the file's end, with a summary of what it holds."""
        if self.closed:
            return
        # 0: there is no checksum. It would have to be worked out over all bytes, at the worst
        # moment.
        self._add(self._records.DataEnd(data_section_crc=0))
        summary = self._size
        schemas = sum(isinstance(one, self._records.Schema) for one in self._descriptions)
        statistics = self._records.Statistics(
            attachment_count=0,
            channel_count=len(self._descriptions) - schemas,
            channel_message_counts=self._counts,
            chunk_count=0,
            message_count=self._counts.total(),
            message_end_time=self._last,
            message_start_time=self._first if self._counts else 0,
            metadata_count=len(self._metadata),
            schema_count=schemas,
        )
        footer = self._records.Footer(summary_start=summary, summary_offset_start=0, summary_crc=0)
        # The summary repeats schemas and channels, so that readers need not go through the data.
        for record in (*self._descriptions, statistics, *self._metadata, footer):
            self._add(record)
        self._waiting += MAGIC
        try:
            self.flush()
        finally:
            self._stream.close()

    def _cannot(self, error: OSError) -> SkmError:
        return SkmError(f"cannot write {self._path}: {error.strerror or error}")

    def _describe(self, record: Any) -> None:  # noqa: ANN401 - of mcap.records
        self._descriptions.append(record)
        self._add(record)

    def _add(self, record: Any) -> None:  # noqa: ANN401
        from mcap.data_stream import RecordBuilder  # noqa: PLC0415

        builder = RecordBuilder()
        record.write(builder)
        content: bytes = builder.end()  # type: ignore[no-untyped-call]
        self._waiting += content
        self._size += len(content)


# Writing a recording so that a killed process loses nothing: unchunked, and flushed as messages
# come.
#
# On a clean close the file is compacted to zstd chunks with indices, which takes its place at
# once.


PROFILE: Final = "ros2"
LIBRARY: Final = f"skm {__version__}"
SUFFIX: Final = ".mcap"


class RunWriter:
    """One recording under way. Use it in a `with` statement, or `close` it.

    A file that is there is an `ExistingRecordingError`, unless it may be replaced.
    """

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        self.path = path
        self.count = 0
        """How many messages it holds."""
        self._file = FlatFile(path, PROFILE, LIBRARY, overwrite=overwrite)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}

    def metadata(self, name: str, values: Mapping[str, object]) -> None:
        """Add a metadata record; all values become text."""
        self._file.metadata(name, {key: str(value) for key, value in values.items()})

    def channel(self, topic: str, kind: str, qos: str = "") -> None:
        """Make a topic known, of a type such as `skm/Labels`; once is enough."""
        if topic in self._channels:
            return
        if kind not in self._schemas:
            self._schemas[kind] = len(self._schemas) + 1
            self._file.schema(self._schemas[kind], long_name(kind), "ros2msg", schema_text(kind))
        self._channels[topic] = number = len(self._channels) + 1
        self._file.channel(number, topic, self._schemas[kind], {"offered_qos_profiles": qos})

    def add(self, topic: str, data: bytes, log_time: int, publish_time: int = 0) -> None:
        """Add a message, as bytes, of a topic that is known; `flush` puts it into the file."""
        number = self._channels[topic]
        self._file.message(number, data, log_time, publish_time or log_time, self.count)
        self.count += 1

    @property
    def waiting(self) -> int:
        """How many bytes have been added since what is in the file."""
        return self._file.waiting

    def flush(self) -> None:
        """Put into the file what has been added: a process that is killed from now on keeps it."""
        self._file.flush()

    def write(self, topic: str, data: bytes, log_time: int, publish_time: int = 0) -> None:
        """Write a message; it is in the file when this returns."""
        self.add(topic, data, log_time, publish_time)
        self._file.flush()

    def encode(self, topic: str, kind: str, value: Mapping[str, Any], when: int = 0) -> None:
        """Write a message from its values."""
        self.channel(topic, kind)
        self.write(topic, codec_of(kind).encode(value), when or time.time_ns())

    def close(self, *, compacting: bool = True) -> None:
        """End the file, and compact it."""
        if self._file.closed:
            return
        self._file.close()
        if compacting:
            compact(self.path)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def compact(path: Path, target: Path | None = None) -> None:
    """Write a recording anew in zstd chunks; the old file is replaced by the new one at once.

    A file without its end is repaired: whole messages are kept.
    """
    require_mcap()
    from mcap.writer import CompressionType, Writer  # noqa: PLC0415

    file = read_recording(path, recover=True)
    # In the same folder: a rename is atomic only within a file system.
    made = (target or path).with_suffix(".mcap.part")
    try:
        with made.open("wb") as stream:
            writer = Writer(stream, compression=CompressionType.ZSTD)
            writer.start(PROFILE, LIBRARY)
            schemas: dict[str, int] = {}
            numbers: dict[str, int] = {}
            for channel in file.channels.values():
                if channel.type not in schemas:
                    text = channel.schema.encode()
                    schemas[channel.type] = writer.register_schema(
                        long_name(channel.type), "ros2msg", text
                    )
                numbers[channel.topic] = writer.register_channel(
                    channel.topic, channel.encoding, schemas[channel.type], channel.metadata
                )
            for message in file.recorded:
                writer.add_message(
                    numbers[message.topic],
                    message.log_time,
                    message.data,
                    message.publish_time,
                    message.sequence,
                )
            for name, values in file.metadata.items():
                writer.add_metadata(name, values)
            writer.finish()  # type: ignore[no-untyped-call]
            stream.flush()
            # Or after a power cut the new name could lead to an empty file, and the old one would
            # be gone.
            os.fsync(stream.fileno())
        made.replace(target or path)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise RecordingError(f"cannot write {made}: {error.strerror or error}") from error


# Recordings at a glance: what a folder has, what one file holds.


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


# The missions in a recording, each put together state by state from the messages of several
# topics.
#
#     (mission,) = recorded_missions(read_recording(path))
#     for state in mission.states:
#         print(state.step, sorted(state.labels), state.action)
#
# Messages count by what they say (session, episode, step), not by their order: a world that waits
# repeats its states, and topics overtake each other.


Key: TypeAlias = tuple[int, int, int]
"""Session, episode and step of a state."""


@dataclass(frozen=True)
class RecordedAction:
    """What the robot was told."""

    key: Key
    """The state that it answers."""
    time: int
    kind: int
    """STOP, DISCRETE or CONTINUOUS."""
    value: Any
    """A number, an array, or None for a stop."""


@dataclass(frozen=True)
class RecordedState:
    """A state of the world during a mission."""

    step: int
    """Actions of the mission taken until then: 0 in the state in which it began."""
    key: Key
    time: int
    """When its labels were first sent, in nanoseconds since 1970."""
    labels: frozenset[str]
    """With the events that were true."""
    observation: Message | None
    action: RecordedAction | None
    """The first thing that it was answered with."""
    stamp: int = 0
    """The stamp of its labels: the world's time, in nanoseconds."""
    clock: int | None = None
    """The time by which bounds in seconds are judged, in nanoseconds; None: nothing says it."""
    versions: int = 1
    """How many different label sets were recorded for it: more than 1 makes no sense."""


@dataclass
class RecordedMission:
    """One mission of a recording. What was not recorded is missing here, too."""

    file: RunFile
    goal_id: str
    log: list[tuple[int, Message]] = field(default_factory=list)
    """The entries of its log in order, with the times at which they were sent."""
    machine_states: list[tuple[int, Message]] = field(default_factory=list)
    actions: list[RecordedAction] = field(default_factory=list)
    """All from its beginning to the end of the recording, or to the next mission; in order."""
    states: list[RecordedState] = field(default_factory=list)
    """In order of their steps; gaps are gaps."""
    names: tuple[str, ...] = ()
    """The propositions that the labels are about."""
    info: Message | None = None
    """The primitives in use: PrimitivesInfo."""
    _latest: int = 0

    @property
    def began(self) -> Message | None:
        """The log's first entry, if it was recorded."""
        return next((entry for _, entry in self.log if entry.kind == BEGAN), None)

    @property
    def ended(self) -> Message | None:
        """The log's last entry, if it was recorded."""
        return next((entry for _, entry in self.log if entry.kind == ENDED), None)

    @property
    def began_at(self) -> int | None:
        """When it began, in nanoseconds since 1970: its first state may have been shown long before."""
        return next((at for at, entry in self.log if entry.kind == BEGAN), None)

    @property
    def about(self) -> Message | None:
        """Any entry of the log: all of them say what was asked for."""
        return self.log[0][1] if self.log else None

    @property
    def text(self) -> str:
        """The mission's text."""
        if self.about is not None:
            return str(self.about.mission)
        return str(self.machine_states[0][1].mission) if self.machine_states else ""

    @property
    def domain(self) -> str:
        """The name of the domain; empty if nothing says it."""
        if self.about is not None:
            return str(self.about.domain)
        return "" if self.info is None else str(self.info.domain)

    @property
    def outcome(self) -> str:
        """How it ended, in words; `unknown` if the recording does not say."""
        return "unknown" if self.ended is None else word(OUTCOMES, self.ended.outcome)

    @property
    def ended_at(self) -> int | None:
        """When it ended, by the clock of `RecordedState.clock`; None where nothing says it."""
        last = self.states[-1] if self.states else None
        if self.ended is None or last is None or last.clock is None:
            return None
        said = stamp_of(self.ended.header)
        return said if self._real_time and last.clock <= said <= self._latest else last.clock

    @property
    def _real_time(self) -> bool:
        """Whether time went by itself, so that the stamps of states say when they were entered."""
        return any(s.observation is not None and s.observation.period > 0 for s in self.states[:2])

    def set_clocks(self, stamps: Sequence[int], latest: int) -> None:
        """Give every state its time: in real time its stamp, in lock-step its number of steps.

        A mission begins while its first state lasts, and its log says when: if it goes by the world's
        clock, as the logs of before did not. `stamps` are those with which that state was shown, and
        `latest` is the last one of all.
        """
        self._latest = latest + NANOSECONDS
        step = 0.0 if self.about is None else float(self.about.step_seconds)
        if self._real_time:
            began = stamps[0] if self.began is None else stamp_of(self.began.header)
            until = self.states[1].stamp if len(self.states) > 1 else self._latest
            # A log stamped by another clock than the states' (recordings of 0.1): the first state's
            # stamp is nearest.
            if not stamps[0] - NANOSECONDS <= began <= until:
                began = stamps[0]
            times = _going_on([began, *(state.stamp for state in self.states[1:])], self.states)
        elif step > 0:
            times = [round(state.step * step * NANOSECONDS) for state in self.states]
        else:
            return
        self.states = [
            replace(state, clock=time) for state, time in zip(self.states, times, strict=True)
        ]

    @cached_property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that a mission can name: those of the labels, and the events."""
        events = () if self.about is None else tuple(self.about.events)
        return tuple(dict.fromkeys((*self.names, *events)))

    def compiled(self, text: str | None = None, parts: str = "if too large") -> Mission:
        """Return the mission, compiled as the machine did, or another one about the same labels."""
        about = self.about
        options: dict[str, Any] = {
            "propositions": self.propositions,
            "clock": True,
            "parts": parts,
        }
        if about is not None:
            options |= {"events": tuple(about.events)}
            if text is None:
                options |= {
                    "format": about.format or "auto",
                    "horizon": about.horizon or "auto",
                    "repeat": bool(about.repeat),
                }
        return compile_mission(self.text if text is None else text, **options)


def _going_on(times: list[int], states: Sequence[RecordedState]) -> list[int]:
    """Return times that go on where a world, and its clock, was started again: no time went by then."""
    behind = 0
    found = times[:1]
    for before, state, shown in zip(states, states[1:], times[1:], strict=False):
        # Another session or episode with an earlier stamp: its clock began anew.
        if before.key[:2] != state.key[:2] and shown + behind < found[-1]:
            behind = found[-1] - shown
        found.append(shown + behind)
    return found


def recorded_missions(file: RunFile) -> list[RecordedMission]:
    """Return the missions of a recording whose beginning or states it holds, in order.

    A mission that only the tail of the recording mentions, since it came next, is not among them.
    """
    log = _sent(file, "mission_log")
    by_goal: dict[str, RecordedMission] = {}
    for message in log:
        goal = goal_id(message.value)
        by_goal.setdefault(goal, RecordedMission(file, goal)).log.append(
            (message.publish_time, message.value)
        )
    for message in _sent(file, "machine_state"):
        state, goal = message.value, goal_id(message.value)
        # A recording without a log (cut off at its beginning) still has missions by their states.
        if state.state >= 0 and (goal in by_goal or not log):
            by_goal.setdefault(goal, RecordedMission(file, goal)).machine_states.append(
                (message.publish_time, state)
            )
    wanted = file.metadata.get("skm.mission", {}).get("goal_id")
    missions = [m for m in by_goal.values() if wanted in (None, m.goal_id)]
    begins = sorted(m.log[0][0] for m in by_goal.values() if m.began is not None)
    world = _World(file)
    for mission in missions:
        mission.log = _in_order(mission.log)
        mission.machine_states = _that_counted(mission)
        _fill(mission, world, begins)
    return missions


def goal_id(message: Message) -> str:
    """Return the id of a mission, as hexadecimal digits."""
    return bytes(message.goal_id.uuid).hex()


class _World:
    """What the recording says about states and actions, whatever the mission."""

    def __init__(self, file: RunFile) -> None:
        self.labels: dict[Key, list[tuple[int, int, frozenset[str]]]] = {}
        self.observations: dict[Key, Message] = {}
        self.names: tuple[str, ...] = ()
        for message in _sent(file, "labels"):
            value = message.value
            self.names = tuple(value.names)
            true = frozenset(
                n for n, holds in zip(value.names, value.values, strict=False) if holds
            )
            # All that was shown for a state is kept: two different label sets for one state are a
            # finding of `verify`.
            shown = message.publish_time, stamp_of(value.header), true
            self.labels.setdefault(_key(value), []).append(shown)
        for message in _sent(file, "observation"):
            self.observations[_key(message.value)] = message.value
        self.actions = [_action(message) for message in _sent(file, "action")]
        infos = list(file.messages("primitives_info"))
        self.infos = {str(message.value.digest): message.value for message in infos}


def _fill(mission: RecordedMission, world: _World, begins: Sequence[int]) -> None:
    mission.names = world.names
    about = mission.about
    if about is not None:
        mission.info = world.infos.get(str(about.digest))
    elif world.infos:
        mission.info = next(iter(world.infos.values()))
    first, last = _span(mission, world)
    if first is None:
        return
    spans = _spans(mission, first, last)
    start = mission.log[0][0] if mission.log else 0
    later = [begin for begin in begins if begin > start]
    # Actions after the end are kept, up to the next mission: `verify` looks for motion after a
    # stop.
    until = min(later, default=1 << 63)
    worlds = {span.first[:2] for span in spans}
    mission.actions = [a for a in world.actions if start <= a.time < until and a.key[:2] in worlds]
    answers: dict[Key, RecordedAction] = {}
    for action in mission.actions:
        # A second action for the same state is a repeat by a machine that had not heard of its
        # effect.
        answers.setdefault(action.key, action)
    events = _events(mission)
    for key, step in _steps_of(world, spans):
        shown = world.labels[key]
        mission.states.append(
            RecordedState(
                step,
                key,
                shown[0][0],
                shown[0][2] | _true_at(events, step),
                world.observations.get(key),
                answers.get(key),
                shown[0][1],
                versions=len({labels for *_, labels in shown}),
            )
        )
    if mission.states:
        # A world that waits shows its state again with new stamps, so a state has many.
        stamps = [stamp for _, stamp, _ in world.labels[mission.states[0].key]]
        same = [shown for key, shown in world.labels.items() if _same(key, spans[-1].first)]
        heard = [stamp for shown in same for _, stamp, _ in shown]
        mission.set_clocks(stamps, max(heard, default=stamps[-1]))  # none, of one being written


# A mission that has outlived a restart: its log says from where it went on, with which step. What was
# shown in between is no part of it.


class _Span(NamedTuple):
    """A part of a mission without a restart."""

    first: Key
    step: int
    """Of the mission, in that state."""
    until: int
    """The mission's step with which the next part begins."""


def _in_order(log: list[tuple[int, Message]]) -> list[tuple[int, Message]]:
    """Return the entries by their numbers; of two with the same, the one after a restart."""
    by_number: dict[int, tuple[int, Message]] = {}
    for at, entry in sorted(log, key=lambda pair: (pair[1].number, pair[0])):
        if entry.number not in by_number or entry.kind == RESUMED:
            by_number[int(entry.number)] = at, entry
        else:
            by_number[-1 - len(by_number)] = at, entry  # It is one too many, and counts as such.
    return sorted(by_number.values(), key=lambda pair: (pair[1].number, pair[0]))


def _that_counted(mission: RecordedMission) -> list[tuple[int, Message]]:
    """Return what the machine said of itself, without the steps that a restart has undone."""
    resumed = [(at, int(e.mission_steps)) for at, e in mission.log if e.kind == RESUMED]
    return [
        (at, state)
        for at, state in mission.machine_states
        if not any(at < when and int(state.mission_steps) >= step for when, step in resumed)
    ]


def _spans(mission: RecordedMission, first: Key, last: int) -> list[_Span]:
    resumed = [entry for _, entry in mission.log if entry.kind == RESUMED]
    begins = [(first, 0), *((_key(entry), int(entry.mission_steps)) for entry in resumed)]
    # The last part ends with the mission's last state, which counts, hence + 1.
    key, step = begins[-1]
    ends = [*(step for _, step in begins[1:]), step + last - key[2] + 1]
    return [_Span(key, step, end) for (key, step), end in zip(begins, ends, strict=True)]


def _steps_of(world: _World, spans: Sequence[_Span]) -> list[tuple[Key, int]]:
    """Return the states of a mission with their steps, in order."""
    found = [
        (key, span.step + key[2] - span.first[2])
        for span in spans
        for key in sorted(world.labels)
        if _same(key, span.first) and key[2] >= span.first[2]
        if span.step + key[2] - span.first[2] < span.until
    ]
    return sorted(found, key=lambda pair: pair[1])


def _span(mission: RecordedMission, world: _World) -> tuple[Key | None, int]:
    """Return the first state of a mission and the last step that it went to."""
    began, ended = mission.began, mission.ended
    entries: Iterable[Message] = [entry for _, entry in mission.log if entry.state >= 0]
    if began is not None:
        first = _key(began)
    else:
        known = [*entries, *(state for _, state in mission.machine_states)]
        if not known:
            return None, 0
        session, episode, step = _key(known[0])
        # The beginning was not recorded: it lies as many steps back as the machine says.
        first = session, episode, step - int(known[0].mission_steps)
    if ended is not None and ended.state >= 0:
        return first, int(ended.step)
    resumed = [_key(entry) for _, entry in mission.log if entry.kind == RESUMED]
    latest = resumed[-1] if resumed else first
    steps = [key[2] for key in world.labels if _same(key, latest)]
    return first, max(steps, default=latest[2])


def _events(mission: RecordedMission) -> list[tuple[int, frozenset[str]]]:
    """Return which events were true, from which step of the mission on."""
    return [
        (int(entry.mission_steps), frozenset(entry.true_events))
        for _, entry in mission.log
        if entry.kind != ENDED
    ]


def _true_at(events: list[tuple[int, frozenset[str]]], step: int) -> frozenset[str]:
    true: frozenset[str] = frozenset()
    for since, names in events:
        if since <= step:
            true = names
    return true


def _action(message: Recorded) -> RecordedAction:
    value = message.value
    kind = int(value.kind)
    taken = int(value.discrete) if kind == DISCRETE else None
    return RecordedAction(
        _key(value), message.publish_time, kind, value.continuous if kind == CONTINUOUS else taken
    )


def _sent(file: RunFile, name: str) -> list[Recorded]:
    """Return the messages of a topic in the order in which they were sent."""
    return sorted(file.messages(name), key=lambda message: message.publish_time)


def _key(message: Message) -> Key:
    return int(message.session), int(message.episode), int(message.step)


def stamp_of(header: Message) -> int:
    """Return the stamp of a header in nanoseconds."""
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _same(key: Key, first: Key) -> bool:
    return key[:2] == first[:2]


def constants(kind: str) -> dict[str, int]:
    """Return the constants of one of skm's messages that are numbers."""
    return {n: v for n, v in message_type(kind).constants.items() if isinstance(v, int)}
