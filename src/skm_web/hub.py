"""What the pages show: documents, of which only the newest counts, and streams, which only grow.

Producers put documents here, from any thread, and never wait; each page is sent what it has not
seen yet whenever it can take it. A slow page misses states in between, and slows nobody.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

MOST_ITEMS: Final = 5000
"""Items of a stream that are kept, for pages that come later."""


class Document:
    """A value with its version; it is written as text once, for all pages."""

    def __init__(self, value: Any, version: int) -> None:  # noqa: ANN401 - whatever JSON can say
        self.value = value
        self.version = version
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The value as JSON."""
        if self._text is None:
            self._text = json.dumps(self.value, separators=(",", ":"), allow_nan=False)
        return self._text


@dataclass
class Stream:
    """Items in order, the oldest of which may be gone; a new epoch begins with none."""

    epoch: int = 0
    first: int = 0
    items: list[str] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The number that the next item will have."""
        return self.first + len(self.items)


@dataclass
class Seen:
    """What a page has been sent."""

    documents: dict[str, int] = field(default_factory=dict)
    streams: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each stream its epoch, and the number of the next item."""


class Hub:
    """The newest of everything."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, Document] = {}
        self._streams: dict[str, Stream] = {}
        self._version = 0
        self.image: Document | None = None
        """The newest picture of the world, as the bytes of a PNG file."""

    def put(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Set a document; what equals the one before is no news."""
        with self._lock:
            before = self._documents.get(name)
            if before is None or before.value != value:
                self._version += 1
                self._documents[name] = Document(value, self._version)

    def put_image(self, png: bytes) -> None:
        """Set the picture of the world."""
        with self._lock:
            self._version += 1
            self.image = Document(png, self._version)

    def value(self, name: str) -> Any:  # noqa: ANN401
        """Return a document's value; None if there is none."""
        with self._lock:
            document = self._documents.get(name)
            return None if document is None else document.value

    def append(self, name: str, items: Iterable[Any]) -> None:
        """Add items to a stream."""
        texts = [json.dumps(item, separators=(",", ":"), allow_nan=False) for item in items]
        with self._lock:
            stream = self._streams.setdefault(name, Stream())
            stream.items += texts
            if len(stream.items) > MOST_ITEMS:
                surplus = len(stream.items) - MOST_ITEMS * 3 // 4
                del stream.items[:surplus]
                stream.first += surplus

    def restart(self, name: str, items: Iterable[Any] = ()) -> None:
        """Begin a stream anew."""
        with self._lock:
            epoch = self._streams[name].epoch if name in self._streams else 0
            self._streams[name] = Stream(epoch + 1)
        self.append(name, items)

    def news(self, seen: Seen) -> str:
        """Return what a page has not seen as the inside of a JSON object, and note that it has."""
        with self._lock:
            fresh = {
                name: document
                for name, document in self._documents.items()
                if seen.documents.get(name) != document.version
            }
            tails = {
                name: self._tail(stream, seen.streams.get(name, (-1, 0)))
                for name, stream in self._streams.items()
                if seen.streams.get(name) != (stream.epoch, stream.end)
            }
            seen.streams.update({n: (s.epoch, s.end) for n, s in self._streams.items()})
        seen.documents.update({name: document.version for name, document in fresh.items()})
        parts = []
        if fresh:
            inside = ",".join(f"{json.dumps(name)}:{d.text}" for name, d in fresh.items())
            parts.append(f'"documents":{{{inside}}}')
        if tails:
            inside = ",".join(f"{json.dumps(name)}:{text}" for name, text in tails.items())
            parts.append(f'"streams":{{{inside}}}')
        return ",".join(parts)

    @staticmethod
    def _tail(stream: Stream, seen: tuple[int, int]) -> str:
        """Return the items after those that were seen; `from` says where they go."""
        epoch, number = seen
        start = max(number, stream.first) if epoch == stream.epoch else stream.first
        items = ",".join(stream.items[start - stream.first :])
        return f'{{"epoch":{stream.epoch},"from":{start},"items":[{items}]}}'


OTHER: Final = "other."
"""What the names of a second run's documents and streams begin with."""


class OtherHub(Hub):
    """A second run in the hub of a first one."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._first = hub

    def put(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Set a document."""
        super().put(name, value)
        self._first.put(OTHER + name, value)

    def put_image(self, png: bytes) -> None:
        """Leave pictures out: a page has one place for them."""

    def append(self, name: str, items: Iterable[Any]) -> None:
        """Add items to a stream."""
        self._first.append(OTHER + name, items)

    def restart(self, name: str, items: Iterable[Any] = ()) -> None:
        """Begin a stream anew."""
        self._first.restart(OTHER + name, items)
