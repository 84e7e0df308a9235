"""An MCAP file that grows record by record, unchunked: what has been flushed is kept, whatever happens.

The records are those of the `mcap` package, but for messages, which are most of them and come while a
robot drives: they are put together here.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.recording.definitions import ExistingRecordingError
from skm_primitives.recording.files import MAGIC, MESSAGE, require_mcap

_MESSAGE: Final = struct.Struct("<BQHIQQ")
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
        size = _MESSAGE.size + len(data)
        self._waiting += _MESSAGE.pack(
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
            del self._waiting[:written]

    def close(self) -> None:
        """Add the file's end, with a summary of what it holds."""
        if self.closed:
            return
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
