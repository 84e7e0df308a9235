"""Writing a recording so that a killed process loses nothing: unchunked, and flushed as messages come.

On a clean close the file is compacted to zstd chunks with indices, which takes its place at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skm_machine.version import __version__
from skm_primitives.recording.cdr import codec_of
from skm_primitives.recording.definitions import RecordingError, long_name, schema_text
from skm_primitives.recording.files import read_recording, require_mcap
from skm_primitives.recording.flat_file import FlatFile

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

    One without its end is mended by it: what is whole is kept.
    """
    require_mcap()
    from mcap.writer import CompressionType, Writer  # noqa: PLC0415

    file = read_recording(path, recover=True)
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
            os.fsync(stream.fileno())
        made.replace(target or path)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise RecordingError(f"cannot write {made}: {error.strerror or error}") from error
