"""Errors with messages for users: every one says what is wrong, and where it can, what is right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

MOST_QUOTED: Final = 100
"""Characters that an error or a line of a log quotes of what somebody sent."""
MOST_TEXT: Final = 4000
"""Characters of a whole error."""
_KEPT: Final = MOST_QUOTED - 1 - 30, 30
"""Characters of a quotation's two ends."""
_LONG_QUOTE: Final = re.compile(rf"(?<!\w)'(?![\s.,;:)?])([^'\n]{{{MOST_QUOTED + 1},}})'")
_LONG_WORD: Final = re.compile(r"(\S{500})\S+")


def concise(text: str) -> str:
    """Return a text to show with what it quotes, its longest words and itself cut to size.

    What is sent to skm may be of any length, and ends up in errors, results and logs.
    """
    if len(text) <= MOST_QUOTED:
        return text
    before, after = _KEPT
    text = _LONG_QUOTE.sub(lambda m: f"'{m[1][:before]}…{m[1][-after:]}'", text)
    text = _LONG_WORD.sub(r"\1…", text)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


class SkmError(Exception):
    """Base of every error that skm raises on bad input; the command line prints it and exits with 2."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(concise(a) if isinstance(a, str) else a for a in arguments))


class MissionError(SkmError):
    """A mission that cannot be read: its text, the offending position, and a caret under it."""

    def __init__(self, message: str, text: str = "", position: int | None = None) -> None:
        self.message = concise(message)
        """What is wrong, without where."""
        self.text = text
        """The mission that could not be read."""
        self.position = position
        """Where in the text it is wrong, counted from 0; None if nowhere in particular."""
        where = "" if position is None else f"\n{_caret(text, position)}"
        super().__init__(self.message + where)


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
    if len(name) > MOST_QUOTED:
        return None
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
