"""Text in pictures: symbols for operators, line breaks, the room that text takes, and XML escapes.

Widths follow DejaVu Sans, the widest of the usual sans-serif faces, so that what is measured here fits
whichever face a viewer has.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from skm_machine.logic.syntax import FLAT, Formula
from skm_machine.logic.text import to_text

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
    return escape(_NOT_XML.sub("\ufffd", text))


def xml_attribute(text: str) -> str:
    """Return `text` as an XML attribute's value, quotes included."""
    return quoteattr(_NOT_XML.sub("\ufffd", text))
