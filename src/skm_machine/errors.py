"""Errors that are meant for people: every one says what is wrong, and where it can, what is right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SkmError(Exception):
    """Base of every error that skm raises on bad input; the command line prints it and exits with 2."""


class MissionError(SkmError):
    """A mission that cannot be read: its text, the offending position, and a caret under it."""

    def __init__(self, message: str, text: str = "", position: int | None = None) -> None:
        self.message = message
        self.text = text
        self.position = position
        super().__init__(message if position is None else f"{message}\n{_caret(text, position)}")


class UnsupportedMissionError(MissionError):
    """A mission that means something, but not something that this translator can turn into a machine."""


class NondeterministicError(SkmError):
    """A machine of which one label set takes two edges."""


class UnachievableMissionError(SkmError):
    """A mission that the robot provably cannot achieve; the message names the clause that blocks it."""


def _caret(text: str, position: int, width: int = 72) -> str:
    """Return the line of `text` around `position` with a caret under that character."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    column = position - start
    left = max(0, column - width // 2)
    shown = line[left : left + width]
    prefix = "…" if left > 0 else ""
    suffix = "…" if left + width < len(line) else ""
    blank = "".join("\t" if character == "\t" else " " for character in shown[: column - left])
    return f"  {prefix}{shown}{suffix}\n  {' ' * len(prefix)}{blank}^"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` was most likely meant to be, or None."""
    candidates = sorted(known)
    folded = {candidate.casefold(): candidate for candidate in candidates}
    matches = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    return folded[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'? Known: …`, for the end of a message on an unknown name."""
    names = sorted(known)
    guess = nearest(name, names)
    hint = f"; did you mean '{guess}'?" if guess else "."
    return f"{hint} Known: {', '.join(names) or 'none'}."
