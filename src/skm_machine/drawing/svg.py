"""A small SVG canvas with the palette of the machines' pictures.

Colours are attributes, not style sheets, and no element has an id, so that several pictures can stand
in one page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Final

from skm_machine.drawing.lettering import (
    FONT,
    LINE_HEIGHT,
    text_width,
    words_broken,
    xml_attribute,
    xml_text,
)

Point = tuple[float, float]
MARGIN: Final = 22.0
TITLE_SIZE: Final = 15.0
ARROW_LENGTH: Final = 8.0
MUTED: Final = "#8491a3"


@dataclass(frozen=True)
class Tone:
    """The colours of one kind of state and of the edges that go with it."""

    line: str
    fill: str
    outline: str
    text: str


WORKING: Final = Tone(line="#64748b", fill="#f4f7fb", outline="#5f7896", text="#26364d")
ACCEPTED: Final = Tone(line="#2f8f63", fill="#eaf7f0", outline="#2f8f63", text="#1f6b49")
FAILED: Final = Tone(line="#c4746c", fill="#fbf0ef", outline="#bd6a62", text="#a24d45")


class Canvas:
    """Collects elements and how far they reach."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._xs: list[float] = []
        self._ys: list[float] = []

    def open(self, kind: str, data: Mapping[str, object]) -> None:
        """Begin a group of elements."""
        attributes = "".join(f" data-{key}={xml_attribute(str(data[key]))}" for key in data)
        self._parts.append(f'<g class="{kind}"{attributes}>')

    def close(self) -> None:
        """End the group."""
        self._parts.append("</g>")

    def tooltip(self, text: str) -> None:
        """Give the group a text that viewers show on hovering."""
        self._parts.append(f"<title>{xml_text(text)}</title>")

    def path(
        self,
        pieces: Sequence[Sequence[Point]],
        tone: Tone,
        *,
        dashed: bool = False,
        arrow: bool = False,
        width: float = 1.5,
        opacity: float = 1.0,
    ) -> None:
        """Draw a line through straight and cubic pieces, each beginning where the last one ended."""
        for piece in pieces:
            for x, y in piece:
                self._reach(x, y)
        pieces = [list(piece) for piece in pieces]
        head = _arrow_head(pieces[-1], tone.line) if arrow else ""
        if arrow:
            pieces[-1] = _shortened(pieces[-1])
        steps = [f"M{_pair(pieces[0][0])}"]
        for piece in pieces:
            steps.append(("L" if len(piece) == 2 else "C") + " ".join(map(_pair, piece[1:])))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        dash += f' opacity="{opacity:.2f}"' if opacity < 1 else ""
        self._parts.append(
            f'<path d="{"".join(steps)}" fill="none" stroke="{tone.line}" '
            f'stroke-width="{_number(width)}"{dash}/>{head}'
        )

    def circle(self, x: float, y: float, radius: float, tone: Tone, width: float = 1.6) -> None:
        """Draw the outline of a state."""
        self._reach(x - radius, y - radius)
        self._reach(x + radius, y + radius)
        self._parts.append(
            f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}" fill="{tone.fill}" '
            f'stroke="{tone.outline}" stroke-width="{_number(width)}"/>'
        )

    def dot(self, x: float, y: float, radius: float, colour: str) -> None:
        """Draw a filled dot."""
        self._reach(x - radius, y)
        self._parts.append(
            f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}" fill="{colour}"/>'
        )

    def card(self, x: float, y: float, half_width: float, half_height: float, tone: Tone) -> None:
        """Draw the outline of a state that has text in it."""
        self._reach(x - half_width, y - half_height)
        self._reach(x + half_width, y + half_height)
        self._parts.append(
            f'<rect x="{_number(x - half_width)}" y="{_number(y - half_height)}" '
            f'width="{_number(2 * half_width)}" height="{_number(2 * half_height)}" rx="14" '
            f'fill="{tone.fill}" stroke="{tone.outline}" stroke-width="1.6"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: str,
        *,
        words: str = "",
        bold: bool = False,
        halo: bool = False,
        anchor: str = "middle",
    ) -> None:
        """Write a line; `words` come before it in a lighter colour."""
        width = text_width(f"{words} {text}" if words else text, size, bold=bold)
        start = x - width / 2 if anchor == "middle" else x
        self._reach(start, y - size)
        self._reach(start + width, y + 0.3 * size)
        style = ' font-weight="600"' if bold else ""
        if halo:
            style += ' stroke="#fff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
        before = f'<tspan fill="{MUTED}">{xml_text(words)}</tspan> ' if words else ""
        self._parts.append(
            f'<text x="{_number(x)}" y="{_number(y)}" font-size="{_number(size)}" '
            f'text-anchor="{anchor}" fill="{colour}"{style}>{before}{xml_text(text)}</text>'
        )

    def document(self, title: str) -> str:
        """Return the document, as large as its content, on white with round corners."""
        left, right = min(self._xs, default=0.0), max(self._xs, default=0.0)
        top = min(self._ys, default=0.0)
        lines = words_broken(title, TITLE_SIZE, max(right - left, 420.0))
        top -= 14 if lines else 0
        for line in reversed(lines):
            self.text(left, top, line, TITLE_SIZE, WORKING.text, bold=True, anchor="start")
            top -= TITLE_SIZE * LINE_HEIGHT
        left, top = min(self._xs, default=0.0) - MARGIN, min(self._ys, default=0.0) - MARGIN
        width = max(self._xs, default=0.0) + MARGIN - left
        height = max(self._ys, default=0.0) + MARGIN - top
        box = " ".join(map(_number, (left, top, width, height)))
        place = f'x="{_number(left)}" y="{_number(top)}"'
        size = f'width="{_number(width)}" height="{_number(height)}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} role="img" '
            f'font-family="{FONT}">\n'
        )
        caption = f"<title>{xml_text(title)}</title>\n" if title else ""
        sheet = f'<rect {place} {size} rx="12" fill="#fff"/>\n'
        return f"{head}{caption}{sheet}" + "\n".join(self._parts) + "\n</svg>\n"

    def _reach(self, x: float, y: float) -> None:
        self._xs.append(x)
        self._ys.append(y)


def _shortened(piece: Sequence[Point]) -> list[Point]:
    """Return a piece that ends where its arrow head begins."""
    (x, y), (across, down) = piece[-1], _direction(piece)
    return [*piece[:-1], (x - across * ARROW_LENGTH * 0.8, y - down * ARROW_LENGTH * 0.8)]


def _direction(piece: Sequence[Point]) -> Point:
    (x0, y0), (x1, y1) = piece[-2:]
    length = hypot(x1 - x0, y1 - y0) or 1.0
    return (x1 - x0) / length, (y1 - y0) / length


def _arrow_head(piece: Sequence[Point], colour: str) -> str:
    (x, y), (across, down) = piece[-1], _direction(piece)
    back = (x - ARROW_LENGTH * across, y - ARROW_LENGTH * down)
    wings = [(back[0] + s * 3.6 * down, back[1] - s * 3.6 * across) for s in (1, -1)]
    return f'<path d="M{_pair((x, y))}L{_pair(wings[0])}L{_pair(wings[1])}Z" fill="{colour}"/>'


def _pair(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
