"""A machine's picture as plain data: the page makes its elements, and no text becomes markup."""

from __future__ import annotations

from typing import Any

from skm_machine.drawing.canvas import Canvas, Card, Circle, Dot, Part, Path, Text


def page_content(canvas: Canvas) -> dict[str, Any]:
    """Return the groups, and the box around them: left, top, width, height.

    A part is a list: its kind, its tone, and its measures. Colours are left to the page, which is light
    or dark: a tone is `working`, `accepted` or `failed`.
    """
    groups = []
    for group in canvas.groups:
        tooltip = {"tooltip": group.tooltip} if group.tooltip else {}
        parts = [[_rounded(item) for item in _listed(part)] for part in group.parts]
        groups.append({"kind": group.kind, **group.data, **tooltip, "parts": parts})
    return {"box": [_rounded(number) for number in canvas.box], "groups": groups}


def _listed(part: Part) -> tuple[Any, ...]:
    match part:
        case Path(tone, pieces, dashed, arrow, width, opacity):
            line = [[_rounded(n) for point in piece for n in point] for piece in pieces]
            return "path", tone.name, line, dashed, arrow, width, opacity
        case Circle(tone, x, y, radius, width):
            return "circle", tone.name, x, y, radius, width
        case Dot(tone, x, y, radius):
            return "dot", tone.name, x, y, radius
        case Card(tone, x, y, half_width, half_height):
            return "card", tone.name, x, y, half_width, half_height
        case Text(tone, x, y, text, size, words, bold, halo, anchor):
            return "text", tone.name, x, y, text, size, words, bold, halo, anchor


def _rounded(item: object) -> object:
    return round(item, 1) if isinstance(item, float) else item
