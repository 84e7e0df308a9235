"""A picture as plain parts, and how far they reach; `svg` makes a document of it, a page elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from skm_machine.drawing.lettering import text_width

Point: TypeAlias = tuple[float, float]
MARGIN: Final = 22.0


@dataclass(frozen=True)
class Tone:
    """The colours of one kind of state and of the edges that go with it."""

    name: str
    line: str
    fill: str
    outline: str
    text: str


WORKING: Final = Tone("working", "#64748b", fill="#f4f7fb", outline="#5f7896", text="#26364d")
ACCEPTED: Final = Tone("accepted", "#2f8f63", fill="#eaf7f0", outline="#2f8f63", text="#1f6b49")
FAILED: Final = Tone("failed", "#c4746c", fill="#fbf0ef", outline="#bd6a62", text="#a24d45")


@dataclass(frozen=True)
class Path:
    """A line through straight and cubic pieces, each beginning where the last one ended."""

    tone: Tone
    pieces: Sequence[Sequence[Point]]
    dashed: bool = False
    arrow: bool = False
    width: float = 1.5
    opacity: float = 1.0


@dataclass(frozen=True)
class Circle:
    """The outline of a state."""

    tone: Tone
    x: float
    y: float
    radius: float
    width: float = 1.6


@dataclass(frozen=True)
class Dot:
    """A filled dot."""

    tone: Tone
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Card:
    """The outline of a state that has text in it."""

    tone: Tone
    x: float
    y: float
    half_width: float
    half_height: float


@dataclass(frozen=True)
class Text:
    """A line of text; `words` come before it in a lighter colour."""

    tone: Tone
    x: float
    y: float
    text: str
    size: float
    words: str = ""
    bold: bool = False
    halo: bool = False
    anchor: str = "middle"


Part: TypeAlias = Path | Circle | Dot | Card | Text


@dataclass
class Group:
    """Parts that belong together, what they stand for, and a text that is shown on hovering."""

    kind: str
    data: Mapping[str, object]
    tooltip: str = ""
    parts: list[Part] = field(default_factory=list)


class Canvas:
    """Collects groups of parts."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self._xs: list[float] = []
        self._ys: list[float] = []

    def open(self, kind: str, data: Mapping[str, object], tooltip: str = "") -> None:
        """Begin a group: what is drawn from now on belongs to it."""
        self.groups.append(Group(kind, data, tooltip))

    def add(self, part: Part) -> None:
        """Draw a part."""
        self.groups[-1].parts.append(part)
        for x, y in _corners(part):
            self._xs.append(x)
            self._ys.append(y)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """How far the parts reach: left, top, right, bottom."""
        xs, ys = self._xs or [0.0], self._ys or [0.0]
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The picture with a margin around it: left, top, width, height."""
        left, top, right, bottom = self.extent
        return left - MARGIN, top - MARGIN, right - left + 2 * MARGIN, bottom - top + 2 * MARGIN


def _corners(part: Part) -> Sequence[Point]:
    """Return points within whose bounds a part lies."""
    if isinstance(part, Path):
        return [point for piece in part.pieces for point in piece]
    x, y = part.x, part.y
    if isinstance(part, Text):
        line = f"{part.words} {part.text}" if part.words else part.text
        width = text_width(line, part.size, bold=part.bold)
        start = x - width / 2 if part.anchor == "middle" else x
        return (start, y - part.size), (start + width, y + 0.3 * part.size)
    if isinstance(part, Card):
        across, down = part.half_width, part.half_height
    else:
        across = down = part.radius
    return (x - across, y - down), (x + across, y + down)
