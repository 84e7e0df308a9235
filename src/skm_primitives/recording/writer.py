"""Writing a recording so that a killed process loses nothing: unchunked, flushed message by message.

On a clean close the file is compacted to zstd chunks with indices, which takes its place at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_machine.version import __version__
from skm_primitives.recording.cdr import codec_of
from skm_primitives.recording.definitions import RecordingError, long_name, schema_text
from skm_primitives.recording.files import read_recording, require_mcap

PROFILE: Final = "ros2"
LIBRARY: Final = f"skm {__version__}"
SUFFIX: Final = ".mcap"


class RunWriter:
    """One recording under way. Use it in a `with` statement, or `close` it."""

    def __init__(self, path: Path) -> None:
        require_mcap()
        from mcap.writer import Writer  # noqa: PLC0415

        self.path = path
        self.count = 0
        """How many messages it holds."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Buffered, flushed by hand: over an unbuffered file the library leaves its tail unwritten.
            self._stream: Any = path.open("wb")
        except OSError as error:
            raise SkmError(f"cannot write {path}: {error.strerror or error}") from error
        self._writer = Writer(self._stream, use_chunking=False)
        self._writer.start(PROFILE, LIBRARY)
        self._stream.flush()
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._metadata: dict[str, dict[str, str]] = {}

    def metadata(self, name: str, values: Mapping[str, object]) -> None:
        """Write a metadata record; all values become text."""
        self._writer.add_metadata(name, {key: str(value) for key, value in values.items()})
        self._stream.flush()

    def channel(self, topic: str, kind: str, qos: str = "") -> None:
        """Make a topic known, of a type such as `skm/Labels`; once is enough."""
        if topic in self._channels:
            return
        if kind not in self._schemas:
            text = schema_text(kind).encode()
            self._schemas[kind] = self._writer.register_schema(long_name(kind), "ros2msg", text)
        about = {"offered_qos_profiles": qos}
        self._channels[topic] = self._writer.register_channel(
            topic, "cdr", self._schemas[kind], about
        )

    def write(self, topic: str, data: bytes, log_time: int, publish_time: int = 0) -> None:
        """Write a message, as bytes, of a topic that is known; it is in the file when this returns."""
        self._writer.add_message(
            self._channels[topic], log_time, data, publish_time or log_time, self.count
        )
        self._stream.flush()
        self.count += 1

    def encode(self, topic: str, kind: str, value: Mapping[str, Any], when: int = 0) -> None:
        """Write a message from its values."""
        self.channel(topic, kind)
        self.write(topic, codec_of(kind).encode(value), when or time.time_ns())

    def close(self, *, compacting: bool = True) -> None:
        """End the file, and compact it."""
        if self._stream.closed:
            return
        self._writer.finish()  # type: ignore[no-untyped-call]
        self._stream.flush()
        self._stream.close()
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
