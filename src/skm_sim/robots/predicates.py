"""Conditions on the fields of messages, as text: parsed, never evaluated as code.

    percentage < 0.2 and not power_supply_status == 1
    ranges[0] > 1.5 or abs(pose.position.z) >= 0.3

A field is a path of names and indices; a value is a number, a text in quotes, true or false. Comparisons
are joined by `and`, `or`, `not` and parentheses; `abs`, `len`, `min` and `max` take one field. There is
no ROS here: a message is anything with attributes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from skm_machine.errors import SkmError

TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign><=|>=|==|!=|<|>|\(|\)|\[|\]|\.))"
)
MOST_TEXT: Final = 1000
MOST_DEPTH: Final = 50
"""Parentheses and `not` within each other: no real condition has more."""
FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {"abs": abs, "len": len, "min": min, "max": max}
COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

Path: TypeAlias = tuple[str | int, ...]


class PredicateError(SkmError):
    """A condition that cannot be read, or that does not fit the message."""


@dataclass(frozen=True)
class Field:
    """A field of a message, or a function of one."""

    path: Path
    function: str = ""

    def __str__(self) -> str:
        text = ""
        for part in self.path:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return f"{self.function}({text})" if self.function else text

    def of(self, message: Any) -> Any:  # noqa: ANN401
        """Return its value in a message."""
        value = message
        for part in self.path:
            try:
                value = value[part] if isinstance(part, int) else _attribute(value, part)
            except (AttributeError, IndexError, TypeError):
                raise PredicateError(f"the message has no field {self}") from None
        return FUNCTIONS[self.function](value) if self.function else value


def _attribute(value: Any, name: str) -> Any:  # noqa: ANN401
    if name.startswith("_") or callable(found := getattr(value, name)):
        raise AttributeError(name)
    return found


@dataclass(frozen=True)
class Comparison:
    """A field that is compared with a value; `slack` moves the border, for hysteresis."""

    field: Field
    sign: str
    value: float | str | bool

    def holds(self, message: Any, slack: float = 0.0) -> bool:  # noqa: ANN401
        """Tell whether it holds; with slack, also where it is missed by no more than that."""
        found, wanted = self.field.of(message), self.value
        if isinstance(found, bool) or isinstance(wanted, bool | str):
            if self.sign not in ("==", "!="):
                raise PredicateError(
                    f"{self.field} is not a number: it can only be == or != to a value"
                )
            return COMPARISONS[self.sign](found, wanted)
        try:
            number = float(found)
        except (TypeError, ValueError):
            raise PredicateError(f"{self.field} is not a number") from None
        if math.isnan(number):
            return False  # Unknown: `stale` decides what to do.
        border = float(wanted)
        if self.sign in ("<", "<="):
            border += slack
        elif self.sign in (">", ">="):
            border -= slack
        return COMPARISONS[self.sign](number, border)


@dataclass(frozen=True)
class Joined:
    """Conditions joined by `and`, `or` or `not`."""

    word: str
    parts: tuple[Predicate, ...]

    def holds(self, message: Any, slack: float = 0.0) -> bool:  # noqa: ANN401
        """Tell whether it holds; with slack, the border of each comparison is moved in its favour."""
        if self.word == "not":
            return not self.parts[0].holds(message, -slack)
        found = (part.holds(message, slack) for part in self.parts)
        return all(found) if self.word == "and" else any(found)


Predicate: TypeAlias = Comparison | Joined


def parse_predicate(text: str) -> Predicate:
    """Read a condition, or say what is wrong with it."""
    if len(text) > MOST_TEXT:
        raise PredicateError(f"a condition of {len(text)} characters; {MOST_TEXT} at most")
    return _Parser(text).predicate()


class _Parser:
    """Reads by descent: or, and, not, comparison."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, at = text, list[tuple[str, str]](), 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if found is None:
                raise PredicateError(f"condition '{text}': what is '{text[at:].strip()[:20]}'?")
            kind = str(found.lastgroup)
            self._tokens.append((kind, found.group(kind)))
            at = found.end()
        self._next = self._depth = 0

    def predicate(self) -> Predicate:
        found = self._joined("or")
        if self._next < len(self._tokens):
            raise self._error(f"nothing goes with '{self._tokens[self._next][1]}' there")
        return found

    def _joined(self, word: str) -> Predicate:
        parts = [self._part(word)]
        while self._takes(word):
            parts.append(self._part(word))
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _part(self, word: str) -> Predicate:
        """Return what the word joins: `and` binds closer than `or`."""
        return self._joined("and") if word == "or" else self._single()

    def _single(self) -> Predicate:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error("too many parentheses")
        try:
            if self._takes("not"):
                return Joined("not", (self._single(),))
            if self._takes("("):
                found = self._joined("or")
                self._need(")")
                return found
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Comparison:
        field = self._field()
        if self._peek() not in COMPARISONS:
            return Comparison(field, "==", True)  # a field that is true or false by itself
        sign = self._take()[1]
        return Comparison(field, sign, self._value())

    def _field(self) -> Field:
        kind, name = self._take()
        if kind != "name" or name in ("and", "or", "not", "true", "false"):
            raise self._error(f"a field is missing where '{name}' is")
        if name in FUNCTIONS and self._takes("("):
            inner = self._field()
            self._need(")")
            return Field(inner.path, name)
        path: list[str | int] = [name]
        while True:
            if self._takes("."):
                kind, name = self._take()
                if kind == "number" or kind != "name":
                    raise self._error(f"a name is missing where '{name}' is")
                path.append(name)
            elif self._takes("["):
                kind, number = self._take()
                if kind != "number" or not number.isdigit():
                    raise self._error(f"an index is missing where '{number}' is")
                path.append(int(number))
                self._need("]")
            else:
                return Field(tuple(path))

    def _value(self) -> float | str | bool:
        kind, text = self._take()
        if kind == "number":
            return float(text)
        if kind == "text":
            return text[1:-1]
        if text in ("true", "false"):
            return text == "true"
        raise self._error(f"a number, a text in quotes, true or false is missing where '{text}' is")

    def _peek(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise self._error("it ends too early")
        self._next += 1
        return self._tokens[self._next - 1]

    def _takes(self, word: str) -> bool:
        found = self._peek() == word and self._tokens[self._next][0] != "text"
        self._next += found
        return found

    def _need(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._error(f"'{sign}' is missing")

    def _error(self, what: str) -> PredicateError:
        return PredicateError(f"condition '{self._text}': {what}, such as in 'percentage < 0.2'")
