"""The one parser of missions: text to `Formula`, by operator precedence, in time linear in the text.

The grammar is printed in docs/reference/missions.md. No recursion: no text can overflow the stack.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from skm_machine.errors import MissionError, did_you_mean
from skm_machine.logic.bounds import MAX_BOUND, Bound, BoundError, bounded, read_bound
from skm_machine.logic.formula import (
    FALSE,
    FLAT,
    PRECEDENCE,
    RIGHT_ASSOCIATIVE,
    TEMPORAL,
    TEMPORAL_BINARY,
    TRUE,
    UNARY,
    Formula,
    operator_prefix,
    proposition,
)
from skm_machine.logic.printer import written_size
from skm_machine.logic.timed import Window, timed

MAX_DEPTH: Final = 3200
"""Formulas nested deeper than this are refused."""

MAX_BOUND_DEPTH: Final = 2 * MAX_BOUND + 100
"""The same for formulas with bounds: each step of a bound nests twice at most."""

MAX_SIZE: Final = 20_000
"""Formulas with more steps in bounds, or with bounds that take more operators to write, are refused."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<symbol><->|<=>|->|=>|&&|\|\||\[\]|<>|/\\|\\/|[!~¬&∧|∨^⊕()→↔□◇○])
      | (?P<bound>\[[^\[\]]*\])
      | (?P<word>\w+(?:\.\w+)?)""",
    re.VERBOSE,
)
_SYMBOLS: Final = {
    **dict.fromkeys(("!", "~", "¬"), "!"),
    **dict.fromkeys(("&", "&&", "∧", "/\\"), "&"),
    **dict.fromkeys(("|", "||", "∨", "\\/"), "|"),
    **dict.fromkeys(("^", "⊕"), "xor"),
    **dict.fromkeys(("->", "=>", "→"), "->"),
    **dict.fromkeys(("<->", "<=>", "↔"), "<->"),
    **dict.fromkeys(("[]", "□"), "G"),
    **dict.fromkeys(("<>", "◇"), "F"),
    "○": "X",
    "(": "(",
    ")": ")",
}
_WORDS: Final = {
    **dict.fromkeys(("true", "True", "TRUE", "1"), TRUE),
    **dict.fromkeys(("false", "False", "FALSE", "0"), FALSE),
}
_ENGLISH: Final = {"and": "&", "or": "|", "not": "!", "AND": "&", "OR": "|", "NOT": "!"}


class _Token(NamedTuple):
    """An operator, a parenthesis, a bound (`kind` says which) or an operand (`kind` is "operand")."""

    kind: str
    position: int
    text: str
    operand: Formula | None = None
    bound: Bound | Window | None = None


def parse(text: str, propositions: Collection[str] | None = None, *, clock: bool = True) -> Formula:
    """Return the formula that `text` says, or raise a `MissionError` that shows where it goes wrong.

    Where the known `propositions` are given, any other name is an error, and a name such as `Goal`
    among them is that proposition (without them, it reads `G oal`, as in Spot; quote it to be sure).
    Without a `clock`, bounds in seconds are errors.
    """
    return _Parser(text, propositions, clock).parse()


class _Parser:
    """The two stacks of an operator-precedence parser: operators waiting, and operands done."""

    def __init__(self, text: str, propositions: Collection[str] | None, clock: bool) -> None:
        self.text = text
        self.known = propositions
        self.clock = clock
        self.operators: list[_Token] = []
        self.operands: list[Formula] = []
        self.bound_steps = 0
        self.last_bound: _Token | None = None
        self.open_levels = 0
        """How many of the waiting operators nest: all but the links of a chain such as `a & b & c`."""

    def parse(self) -> Formula:
        previous: _Token | None = None
        for token in self._tokens():
            if token.kind == "bound":
                previous = self.operators[-1] = self._bounded(previous, token)
                continue
            self._check_neighbours(previous, token)
            self._take(token)
            previous = token
        if previous is None:
            raise self._error("the mission is empty", 0)
        if previous.kind not in ("operand", ")"):
            raise self._error(f"nothing follows '{previous.text}'", previous.position)
        while self.operators:
            if self.operators[-1].kind == "(":
                raise self._error("this '(' is never closed", self.operators[-1].position)
            self._apply_last()
        formula = self.operands[0]
        if self.last_bound is not None and written_size(formula) > MAX_SIZE:
            raise self._error(
                "bounds within bounds: written out, too long", self.last_bound.position
            )
        return formula

    def _take(self, token: _Token) -> None:
        if token.operand is not None:
            self.operands.append(token.operand)
        elif token.kind == ")":
            while self.operators and self.operators[-1].kind != "(":
                self._apply_last()
            if not self.operators:
                raise self._error("this ')' closes nothing", token.position)
            self.operators.pop()
            self.open_levels -= 1
        else:
            if token.kind not in UNARY and token.kind != "(":
                while self.operators and self._binds_first(self.operators[-1], token):
                    self._apply_last()
            self.operators.append(token)
            self.open_levels += token.kind not in FLAT
            if self.open_levels > MAX_DEPTH:
                raise self._error(f"nested more than {MAX_DEPTH} deep", token.position)

    def _apply_last(self) -> None:
        """Replace the operands of the last waiting operator by the formula that it makes of them."""
        token = self.operators.pop()
        self.open_levels -= token.kind not in FLAT
        count = 1 if token.kind in UNARY else 2
        while token.kind in FLAT and self.operators and self.operators[-1].kind == token.kind:
            self.operators.pop()
            count += 1
        operands = tuple(self.operands[-count:])
        formula = Formula(token.kind, operands) if token.bound is None else _within(token, operands)
        if formula.depth > self._max_depth:
            raise self._too_deep(token)
        self.operands[-count:] = [formula]

    def _bounded(self, operator: _Token | None, token: _Token) -> _Token:
        """Return the operator with the bound that follows it."""
        if operator is None or operator.kind not in TEMPORAL or operator.bound is not None:
            raise self._error(
                f"a bound such as '{token.text}' stands behind one of {', '.join(TEMPORAL)}",
                token.position,
            )
        try:
            bound = read_bound(token.text, operator.kind, clock=self.clock)
        except BoundError as error:
            raise self._error(str(error), token.position) from error
        if isinstance(bound, Window):
            return operator._replace(bound=bound)
        self.bound_steps += bound.last or bound.first
        self.last_bound = token
        if self.bound_steps > MAX_SIZE:
            raise self._error(f"more than {MAX_SIZE} steps in bounds", token.position)
        return operator._replace(bound=bound)

    @staticmethod
    def _binds_first(waiting: _Token, new: _Token) -> bool:
        if waiting.kind == "(":
            return False
        if PRECEDENCE[waiting.kind] == PRECEDENCE[new.kind]:
            return new.kind not in RIGHT_ASSOCIATIVE and new.kind not in FLAT
        return PRECEDENCE[waiting.kind] > PRECEDENCE[new.kind]

    def _check_neighbours(self, previous: _Token | None, token: _Token) -> None:
        """Refuse operands with nothing between them, and a binary operator with nothing before it."""
        after_operand = previous is not None and previous.kind in ("operand", ")")
        if token.kind == "operand" or token.kind in UNARY or token.kind == "(":
            if after_operand and previous is not None:
                hint = _ENGLISH.get(token.text) or _ENGLISH.get(previous.text)
                hint = f"; write '{hint}'" if hint else ", such as '&'"
                raise self._error(
                    f"expected an operator before '{token.text}'{hint}", token.position
                )
        elif not after_operand:
            where = f"after '{previous.text}'" if previous else "at the start"
            raise self._error(f"expected a proposition {where}, not '{token.text}'", token.position)

    def _tokens(self) -> Iterator[_Token]:
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                character = self.text[position]
                problem = f"unexpected character {character!r}"
                if character in '"[':
                    what = "quote" if character == '"' else "'['"
                    problem = f"this {what} is never closed"
                raise self._error(problem, position)
            text = match.group()
            match match.lastgroup:
                case "symbol":
                    yield _Token(_SYMBOLS[text], position, text)
                case "bound":
                    yield _Token("bound", position, text)
                case "quoted":
                    name = re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
                    yield self._proposition(name, position, text)
                case "word":
                    yield from self._word(text, position)
            position = match.end()

    def _word(self, word: str, position: int) -> Iterator[_Token]:
        """Read a word: a constant, an operator, a proposition, or operators run together with one."""
        if self.known is not None and word in self.known:
            yield _Token("operand", position, word, proposition(word))
        elif word in _WORDS:
            yield _Token("operand", position, word, _WORDS[word])
        elif word == "xor" or word in TEMPORAL_BINARY:
            yield _Token(word, position, word)
        elif prefix := operator_prefix(word):
            for offset, operator in enumerate(prefix):
                yield _Token(operator, position + offset, operator)
            rest = word[len(prefix) :]
            if rest in _WORDS:
                yield _Token("operand", position + len(prefix), rest, _WORDS[rest])
            elif rest:
                yield self._proposition(rest, position + len(prefix), rest, split_from=word)
        elif word[0].isdigit():
            raise self._error(f"a proposition's name cannot start with a digit: '{word}'", position)
        else:
            yield self._proposition(word, position, word)

    def _proposition(self, name: str, position: int, text: str, split_from: str = "") -> _Token:
        if self.known is not None and name not in self.known:
            operators = split_from.removesuffix(name)
            read_as = (
                f" ('{split_from}' reads '{operators} {name}', as in Spot)" if operators else ""
            )
            hint = did_you_mean(split_from or name, self.known)
            raise self._error(f"unknown proposition '{name}'{read_as}{hint}", position)
        return _Token("operand", position, text, proposition(name))

    @property
    def _max_depth(self) -> int:
        return MAX_DEPTH if self.last_bound is None else MAX_BOUND_DEPTH

    def _too_deep(self, token: _Token) -> MissionError:
        counted = "" if self.last_bound is None else ", where each step of a bound counts"
        return self._error(f"nested more than {self._max_depth} deep{counted}", token.position)

    def _error(self, message: str, position: int) -> MissionError:
        return MissionError(message, self.text, position)


def _within(token: _Token, operands: tuple[Formula, ...]) -> Formula:
    """Return what an operator with a bound says of its operands."""
    assert token.bound is not None
    if isinstance(token.bound, Window):
        return timed(token.kind, token.bound, operands)
    if token.kind != "X":
        return bounded(token.kind, token.bound.first, token.bound.last, operands)
    return bounded("F", token.bound.first, token.bound.first, operands)
