"""A picture as plain parts, and how far they reach; `svg` makes a document of it, a page elements."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from skm_machine.logic.formula import FLAT, Formula
from skm_machine.logic.printer import to_text

# Text in pictures: symbols for operators, line breaks, the room that text takes, and XML escapes.
#
# Widths follow DejaVu Sans, the widest of the usual sans-serif faces, so that what is measured
# here fits whichever face a viewer has.


FONT: Final = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
LINE_HEIGHT: Final = 1.3
"""The distance between lines, in units of the font size."""

_SYMBOLS: Final = {"&": "∧", "|": "∨", "!": "¬", "xor": "⊕", "->": "→", "<->": "↔"}
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<->|->|\bxor\b|[&|!]', re.DOTALL)
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTHS: Final = {
    character: width
    for width, characters in {
        0.30: "'IJijl",
        0.35: " ,-./:;\\f|",
        0.40: "!()[]rt",
        0.47: '"*`',
        0.50: "_",
        0.55: "?Lcsz",
        0.60: "FPTYakovxy",
        0.65: "$0123456789EKSbdeghnpqu{}",
        0.70: "ABCRVXZ",
        0.77: "HNU∧∨&DGOQ",
        0.85: "#+<=>M^w~¬→↔⊕",
        1.00: "★@Wm…%",
    }.items()
    for character in characters
}


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return about how wide `text` is at a font size, rather too wide than too narrow."""
    face = 1.13 if bold else 1.0
    return (
        size * face * sum(_WIDTHS.get(character) or _other_width(character) for character in text)
    )


def _other_width(character: str) -> float:
    return 1.05 if unicodedata.east_asian_width(character) in "WF" else 0.75


def symbolic(formula: Formula) -> str:
    """Return the formula with the paper's symbols ∧ ∨ ¬; names in quotes stay as they are."""
    return _TOKEN.sub(lambda token: _SYMBOLS.get(token[0], token[0]), to_text(formula))


def broken(formula: Formula, widest: int = 26, most: int = 4) -> list[str]:
    """Break a formula before its ∧ and ∨ into the narrowest lines that keep it low.

    Lines have at most about `widest` characters and there are at most `most` of them; what does not
    fit is left out, which an ellipsis shows.
    """
    for limit, height in ((14, 2), (18, 3), (22, 3), (widest, most)):
        lines = _filled(_units(formula, limit), limit)
        if len(lines) <= height and all(len(line) <= limit for line in lines):
            return lines
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return [line if len(line) <= widest + 2 else f"{line[: widest - 1]}…" for line in lines]


def _units(formula: Formula, limit: int, nested: bool = False) -> list[str]:
    """Return the parts of a formula that stay on one line: as large as fit, each with its operator."""
    text = " ".join(symbolic(formula).split())
    if len(text) <= limit - 2 * nested or formula.operator not in FLAT:
        return [text]
    units: list[str] = []
    for operand in formula.operands:
        parts = _units(operand, limit, nested=True)
        if len(operand.operands) > 1 and operand.operator != "&":
            parts = [f"({parts[0]}", *parts[1:]]
            parts[-1] += ")"
        if units:
            parts[0] = f"{_SYMBOLS[formula.operator]} {parts[0]}"
        units += parts
    return units


def words_broken(text: str, size: float, width: float) -> list[str]:
    """Break bold running text at its spaces into lines of at most `width`, where its words allow."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size, bold=True) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _filled(units: list[str], limit: int) -> list[str]:
    lines: list[str] = []
    for unit in units:
        fits = lines and len(lines[-1]) + 1 + len(unit) <= limit
        if fits and _balanced(lines[-1]) and _balanced(unit):
            lines[-1] += f" {unit}"
        else:
            lines.append(unit)
    return lines


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")")


def xml_text(text: str) -> str:
    """Return `text` as the content of an XML element, with what XML cannot hold replaced."""
    # Not `xml.sax.saxutils`: it imports urllib, and with it HTTP and SSL.
    whole = _NOT_XML.sub("\ufffd", text)
    return whole.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def xml_attribute(text: str) -> str:
    """Return `text` as an XML attribute's value, quotes included."""
    value = xml_text(text).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
    if '"' in value and "'" not in value:
        return f"'{value}'"
    return '"' + value.replace('"', "&quot;") + '"'


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
