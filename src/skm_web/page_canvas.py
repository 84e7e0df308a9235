"""A machine's picture as plain data: the page makes its elements, and no text becomes markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skm_machine.drawing.lettering import text_width
from skm_machine.drawing.svg import ACCEPTED, FAILED, MARGIN, WORKING, Canvas, Point, Tone


class PageCanvas(Canvas):
    """Collects groups of parts, each a list: its kind, its tone, and its measures.

    Colours are left to the page, which is light or dark: a tone is `working`, `accepted` or `failed`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[dict[str, Any]] = []

    def content(self) -> dict[str, Any]:
        """Return the groups, and the box around them: left, top, width, height."""
        left, top = min(self._xs, default=0.0) - MARGIN, min(self._ys, default=0.0) - MARGIN
        width = max(self._xs, default=0.0) + MARGIN - left
        height = max(self._ys, default=0.0) + MARGIN - top
        return {"box": [round(n, 1) for n in (left, top, width, height)], "groups": self.groups}

    def open(self, kind: str, data: Mapping[str, object]) -> None:
        """Begin a group of elements."""
        self.groups.append({"kind": kind, **data, "parts": []})

    def close(self) -> None:
        """End the group."""

    def tooltip(self, text: str) -> None:
        """Give the group a text that is shown on hovering."""
        self.groups[-1]["tooltip"] = text

    def _add(self, *part: object) -> None:
        self.groups[-1]["parts"].append([round(p, 1) if isinstance(p, float) else p for p in part])

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
        """Draw a line through straight and cubic pieces."""
        for piece in pieces:
            for x, y in piece:
                self._reach(x, y)
        line = [[round(n, 1) for point in piece for n in point] for piece in pieces]
        self._add("path", _tone(tone), line, dashed, arrow, width, opacity)

    def circle(self, x: float, y: float, radius: float, tone: Tone, width: float = 1.6) -> None:
        """Draw the outline of a state."""
        self._reach(x - radius, y - radius)
        self._reach(x + radius, y + radius)
        self._add("circle", _tone(tone), x, y, radius, width)

    def dot(self, x: float, y: float, radius: float, colour: str) -> None:  # noqa: ARG002
        """Draw a filled dot."""
        self._reach(x - radius, y)
        self._add("dot", "working", x, y, radius)

    def card(self, x: float, y: float, half_width: float, half_height: float, tone: Tone) -> None:
        """Draw the outline of a state that has text in it."""
        self._reach(x - half_width, y - half_height)
        self._reach(x + half_width, y + half_height)
        self._add("card", _tone(tone), x, y, half_width, half_height)

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
        tone = next((t for t in (WORKING, ACCEPTED, FAILED) if t.text == colour), WORKING)
        self._add("text", _tone(tone), x, y, text, size, words, bold, halo, anchor)


def _tone(tone: Tone) -> str:
    names = {WORKING.line: "working", ACCEPTED.line: "accepted", FAILED.line: "failed"}
    return names[tone.line]
