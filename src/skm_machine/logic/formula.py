"""Formulas of linear temporal logic: immutable values, printed as text that parses to the same.

Formulas are interned, so that equal formulas are the same object: comparing and hashing cost nothing,
and every algorithm walks a formula as a directed acyclic graph, in a loop and never by deep recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Mapping


UNARY: Final = ("!", "X", "F", "G")
TEMPORAL_BINARY: Final = ("U", "R", "W", "M")
TEMPORAL: Final = ("X", "F", "G", *TEMPORAL_BINARY)
TIMED: Final[Mapping[str, str]] = {
    f"{operator}@": operator for operator in ("F", "G", "U", "R", "W", "M")
}
"""Operators with a bound in seconds, and the plain operator of each: see `skm_machine.logic.timed`."""

FLAT: Final = ("&", "|")
"""Operators that are associative and kept as one node with many operands."""

PRECEDENCE: Final[Mapping[str, int]] = {
    "->": 1,
    "<->": 1,
    "|": 2,
    "xor": 3,
    "&": 4,
    **dict.fromkeys(TEMPORAL_BINARY, 5),
    **dict.fromkeys(UNARY, 6),
}
"""How tightly each operator binds; docs/reference/missions.md prints the grammar that follows."""

RIGHT_ASSOCIATIVE: Final = frozenset({"->", "<->", *TEMPORAL_BINARY})
RESERVED: Final = frozenset({*TEMPORAL_BINARY, "xor", "true", "false"})
_PLAIN_NAME: Final = re.compile(r"(?!\d)\w+(?:\.\w+)?")
_OPERATOR_PREFIX: Final = re.compile(r"[XFG]+(?=[^\W\d_]|$)")


class Formula:
    """One node of a formula: an operator with its operands, or a proposition with its name.

    An operator with a bound in seconds has its window as a name.

    Build formulas with `parse`, or with the functions of this module (`proposition`, `conjunction`, …).
    """

    __slots__ = ("__weakref__", "_boolean", "depth", "name", "operands", "operator")
    operator: str
    """The operator at its root, or that it is a proposition or a constant."""
    operands: tuple[Formula, ...]
    """What the operator is applied to."""
    name: str
    """The name of a proposition; the window of an operator with a bound in seconds."""
    depth: int
    """How many operators are nested in it."""
    _boolean: bool

    _interned: ClassVar[WeakValueDictionary[tuple[str, tuple[Formula, ...], str], Formula]] = (
        WeakValueDictionary()
    )

    def __new__(cls, operator: str, operands: tuple[Formula, ...] = (), name: str = "") -> Formula:
        """Return the one formula with this operator and these operands."""
        if operator in FLAT:
            operands = tuple(_flatten(operator, operands))
            if len(operands) == 1:
                return operands[0]
        key = (operator, operands, name)
        known = cls._interned.get(key)
        if known is not None:
            return known
        formula = super().__new__(cls)
        object.__setattr__(formula, "operator", operator)
        object.__setattr__(formula, "operands", operands)
        object.__setattr__(formula, "name", name)
        depth = 1 + max((operand.depth for operand in operands), default=0)
        object.__setattr__(formula, "depth", depth)
        boolean = (
            operator not in TEMPORAL
            and operator not in TIMED
            and all(operand._boolean for operand in operands)
        )
        object.__setattr__(formula, "_boolean", boolean)
        cls._interned[key] = formula
        return formula

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a Formula is immutable: cannot set '{attribute}'")

    def __reduce__(self) -> tuple[object, ...]:
        subformulas = list(self.subformulas())
        number = {sub: index for index, sub in enumerate(subformulas)}
        nodes = [
            (sub.operator, tuple(number[operand] for operand in sub.operands), sub.name)
            for sub in subformulas
        ]
        return (_restored, (nodes,))

    def __str__(self) -> str:
        from skm_machine.logic.printer import to_text  # noqa: PLC0415 - which knows of formulas

        return to_text(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def subformulas(self) -> Iterator[Formula]:
        """Yield every distinct subformula once, operands before the formulas that use them."""
        seen: set[Formula] = set()
        stack = [(self, False)]
        while stack:
            formula, operands_done = stack.pop()
            if operands_done:
                yield formula
            elif formula not in seen:
                seen.add(formula)
                stack.append((formula, True))
                stack.extend((operand, False) for operand in reversed(formula.operands))

    def propositions(self) -> tuple[str, ...]:
        """Return the names of the propositions, in order of first appearance."""
        return tuple(sub.name for sub in self.subformulas() if sub.operator == "prop")

    def is_boolean(self) -> bool:
        """Tell whether the formula has no temporal operator, so that one label set decides it."""
        return self._boolean


def _restored(nodes: list[tuple[str, tuple[int, ...], str]]) -> Formula:
    """Return a pickled formula: its subformulas in a row, so that depth is no problem."""
    formulas: list[Formula] = []
    for operator, operands, name in nodes:
        formulas.append(Formula(operator, tuple(formulas[index] for index in operands), name))
    return formulas[-1]


def _flatten(operator: str, operands: tuple[Formula, ...]) -> Iterator[Formula]:
    for operand in operands:
        if operand.operator == operator:
            yield from operand.operands
        else:
            yield operand


TRUE: Final = Formula("true")
FALSE: Final = Formula("false")


def proposition(name: str) -> Formula:
    """Return the proposition called `name`."""
    return Formula("prop", (), name)


def negation(formula: Formula) -> Formula:
    """Return `!formula`, without doubling a negation."""
    match formula.operator:
        case "true":
            return FALSE
        case "false":
            return TRUE
        case "!":
            return formula.operands[0]
        case _:
            return Formula("!", (formula,))


def conjunction(*operands: Formula) -> Formula:
    """Return the conjunction of `operands`; `true` if there are none."""
    return _chain("&", operands, unit=TRUE, zero=FALSE)


def disjunction(*operands: Formula) -> Formula:
    """Return the disjunction of `operands`; `false` if there are none."""
    return _chain("|", operands, unit=FALSE, zero=TRUE)


def _chain(operator: str, operands: tuple[Formula, ...], unit: Formula, zero: Formula) -> Formula:
    distinct = dict.fromkeys(operand for operand in operands if operand is not unit)
    if zero in distinct:
        return zero
    return Formula(operator, tuple(distinct)) if distinct else unit


def boolean_value(operator: str, operands: list[bool]) -> bool:
    """Return the truth of a Boolean operator applied to truth values."""
    match operator:
        case "true" | "false":
            return operator == "true"
        case "!":
            return not operands[0]
        case "&":
            return all(operands)
        case "|":
            return any(operands)
        case "->":
            return not operands[0] or operands[1]
        case "<->":
            return operands[0] == operands[1]
        case "xor":
            return operands[0] != operands[1]
        case _:
            raise ValueError(f"'{operator}' is not a Boolean operator")


def evaluate(formula: Formula, labels: frozenset[str] | set[str]) -> bool:
    """Return the truth of a Boolean formula where exactly the propositions in `labels` hold."""
    values: dict[Formula, bool] = {}
    for sub in formula.subformulas():
        if sub.operator == "prop":
            values[sub] = sub.name in labels
        else:
            values[sub] = boolean_value(sub.operator, [values[operand] for operand in sub.operands])
    return values[formula]


def quoted(name: str) -> str:
    """Return a proposition's name as it must be written: in quotes where it would be read otherwise."""
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in ("true", "false")
    if plain and name not in RESERVED and not _OPERATOR_PREFIX.match(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def operator_prefix(word: str) -> str:
    """Return the unary operators that `word` starts with, as Spot reads `GFa`: `GF`; else nothing.

    A name such as `F1` or `X_rate`, in which no letter follows, is a proposition.
    """
    match = _OPERATOR_PREFIX.match(word)
    return match.group() if match else ""
