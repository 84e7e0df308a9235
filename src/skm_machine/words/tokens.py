"""Plain words as tokens with their places in the text; which words have a meaning, and which begin."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from typing import Final, NamedTuple

from skm_machine.errors import MissionError
from skm_machine.logic.syntax import TEMPORAL_BINARY, operator_prefix

BEGINNINGS: Final = (
    "visit",
    "patrol",
    "never",
    "avoid",
    "whenever",
    "exactly",
    "wait",
    "stay",
    "go",
)
"""The words that a clause begins with."""

JOINS: Final = {"and": "&", "or": "|", "not": "!"}
"""Words for the operators between propositions, which are understood as well."""

KEYWORDS: Final = frozenset(
    {
        *BEGINNINGS,
        *JOINS,
        "after",
        "any",
        "at",
        "be",
        "before",
        "do",
        "fairly",
        "in",
        "least",
        "most",
        "next",
        "once",
        "order",
        "sequence",
        "strict",
        "the",
        "then",
        "times",
        "to",
        "twice",
        "until",
        "when",
        "within",
    }
)
"""Words with a meaning; a proposition that is called so is written in quotes."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<word>\w+)
      | (?P<separator>[;,])
      | (?P<symbol>[()!~¬&∧|∨^⊕<>=→↔/\\-])""",
    re.VERBOSE,
)
_LIKE_A_BEGINNING: Final = 0.7


class Token(NamedTuple):
    """A piece of the text: a word with a meaning, a separator, a number, or part of a place."""

    kind: str
    """One of keyword, separator, number, end; or place, for what names places."""
    text: str
    position: int

    @property
    def end(self) -> int:
        """The position after the token."""
        return self.position + len(self.text)


def tokenise(text: str) -> list[Token]:
    """Return the tokens of `text`, with one at the end that is empty."""
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            problem = "this quote is never closed" if character == '"' else None
            raise MissionError(problem or f"unexpected character {character!r}", text, position)
        piece = match.group()
        if match.lastgroup == "word" and piece.lower() in KEYWORDS and piece not in JOINS:
            tokens.append(Token("keyword", piece.lower(), position))
        elif match.lastgroup in ("separator", "number"):
            tokens.append(Token(match.lastgroup, piece, position))
        elif match.lastgroup != "space":
            tokens.append(Token("place", piece, position))
        position = match.end()
    return [*tokens, Token("end", "", len(text))]


def looks_like_words(text: str, propositions: Collection[str] | None = None) -> bool:
    """Tell whether a text is meant as plain words: it begins with two words, the first as clauses do.

    No formula begins so: between two propositions there is an operator.
    """
    alone = text.strip().lower() in BEGINNINGS and text.strip() not in (propositions or ())
    match = re.match(r'\s*([^\W\d]\w*)\s+(?=([^\W\d]\w*)|["(!])', text)
    if match is None:
        return alone and propositions is not None
    first, second = match[1], match[2]
    if operator_prefix(first) == first or second in (*TEMPORAL_BINARY, "xor"):
        return False
    if propositions is not None and first in propositions and first.lower() not in BEGINNINGS:
        return False
    close = difflib.get_close_matches(first.lower(), BEGINNINGS, n=1, cutoff=_LIKE_A_BEGINNING)
    return bool(close)
