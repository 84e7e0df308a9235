"""A canvas as an SVG document.

Colours are attributes, not style sheets, and no element has an id, so that several pictures can stand
in one page.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import Final

from skm_machine.drawing.canvas import (
    FONT,
    LINE_HEIGHT,
    WORKING,
    Canvas,
    Card,
    Circle,
    Dot,
    Group,
    Part,
    Path,
    Point,
    Text,
    words_broken,
    xml_attribute,
    xml_text,
)

TITLE_SIZE: Final = 15.0
ARROW_LENGTH: Final = 8.0
MUTED: Final = "#8491a3"


def svg_document(canvas: Canvas, title: str) -> str:
    """Return the document, as large as its content, on white with round corners; the title on top."""
    left, top, right, _ = canvas.extent
    lines = words_broken(title, TITLE_SIZE, max(right - left, 420.0))
    if lines:
        canvas.open("title", {})
        top -= 14
    for line in reversed(lines):
        canvas.add(Text(WORKING, left, top, line, TITLE_SIZE, bold=True, anchor="start"))
        top -= TITLE_SIZE * LINE_HEIGHT
    numbers = [_number(value) for value in canvas.box]
    place = f'x="{numbers[0]}" y="{numbers[1]}"'
    size = f'width="{numbers[2]}" height="{numbers[3]}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(numbers)}" {size} role="img" '
        f'font-family="{FONT}">\n'
    )
    caption = f"<title>{xml_text(title)}</title>\n" if title else ""
    sheet = f'<rect {place} {size} rx="12" fill="#fff"/>\n'
    return f"{head}{caption}{sheet}" + "\n".join(map(_group, canvas.groups)) + "\n</svg>\n"


def _group(group: Group) -> str:
    attributes = "".join(f" data-{key}={xml_attribute(str(group.data[key]))}" for key in group.data)
    lines = [f'<g class="{group.kind}"{attributes}>']
    if group.tooltip:
        lines.append(f"<title>{xml_text(group.tooltip)}</title>")
    return "\n".join([*lines, *map(_element, group.parts), "</g>"])


def _element(part: Part) -> str:
    match part:
        case Path():
            return _line(part)
        case Circle(tone, x, y, radius, width):
            return (
                f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}" '
                f'fill="{tone.fill}" stroke="{tone.outline}" stroke-width="{_number(width)}"/>'
            )
        case Dot(tone, x, y, radius):
            return (
                f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}" '
                f'fill="{tone.line}"/>'
            )
        case Card(tone, x, y, half_width, half_height):
            return (
                f'<rect x="{_number(x - half_width)}" y="{_number(y - half_height)}" '
                f'width="{_number(2 * half_width)}" height="{_number(2 * half_height)}" rx="14" '
                f'fill="{tone.fill}" stroke="{tone.outline}" stroke-width="1.6"/>'
            )
        case Text():
            return _text(part)


def _line(path: Path) -> str:
    pieces = [list(piece) for piece in path.pieces]
    head = _arrow_head(pieces[-1], path.tone.line) if path.arrow else ""
    if path.arrow:
        pieces[-1] = shortened(pieces[-1])
    steps = [f"M{_pair(pieces[0][0])}"]
    for piece in pieces:
        steps.append(("L" if len(piece) == 2 else "C") + " ".join(map(_pair, piece[1:])))
    dash = ' stroke-dasharray="5 4"' if path.dashed else ""
    dash += f' opacity="{path.opacity:.2f}"' if path.opacity < 1 else ""
    return (
        f'<path d="{"".join(steps)}" fill="none" stroke="{path.tone.line}" '
        f'stroke-width="{_number(path.width)}"{dash}/>{head}'
    )


def _text(text: Text) -> str:
    style = ' font-weight="600"' if text.bold else ""
    if text.halo:
        style += ' stroke="#fff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
    before = f'<tspan fill="{MUTED}">{xml_text(text.words)}</tspan> ' if text.words else ""
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}" '
        f'text-anchor="{text.anchor}" fill="{text.tone.text}"{style}>'
        f"{before}{xml_text(text.text)}</text>"
    )


def shortened(piece: Sequence[Point]) -> list[Point]:
    """Return a piece that ends where its arrow head begins."""
    (x, y), (across, down) = piece[-1], _direction(piece)
    return [*piece[:-1], (x - across * ARROW_LENGTH * 0.8, y - down * ARROW_LENGTH * 0.8)]


def _direction(piece: Sequence[Point]) -> Point:
    (x0, y0), (x1, y1) = piece[-2:]
    length = hypot(x1 - x0, y1 - y0) or 1.0
    return (x1 - x0) / length, (y1 - y0) / length


def arrow_corners(piece: Sequence[Point]) -> list[Point]:
    """Return the corners of the arrow head at the end of a piece."""
    (x, y), (across, down) = piece[-1], _direction(piece)
    back = (x - ARROW_LENGTH * across, y - ARROW_LENGTH * down)
    return [(x, y), *((back[0] + s * 3.6 * down, back[1] - s * 3.6 * across) for s in (1, -1))]


def _arrow_head(piece: Sequence[Point], colour: str) -> str:
    corners = "L".join(map(_pair, arrow_corners(piece)))
    return f'<path d="M{corners}Z" fill="{colour}"/>'


def _pair(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
