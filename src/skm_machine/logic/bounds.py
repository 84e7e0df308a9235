"""Bounds in steps, `F[0,5] a`: formulas of plain LTL, built of next steps, and read back as bounds.

Position k is k steps after the one at which the formula is judged. `a U[i,j] b` is b at some position
from i to j and a at each before it; `F[i,j] b` is `true U[i,j] b`. `a W[i,j] b` is that, or a at every
position to j. G, R and M are the duals of F, U and W, so that they ask nothing of positions after the
end of a finite trace. Without j there is no upper bound.

Each level of the expansion uses the one below once, and formulas are interned: `F[0,n] a` has 2 n + 1
subformulas, however large a is. The text of a formula shows the bounds again.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from skm_machine.logic.formula import FLAT, Formula, negation
from skm_machine.logic.timed import NANOSECONDS, Window

MAX_BOUND: Final = 5000
"""Bounds of more steps than this are refused."""

_DUALS: Final = {"G": "F", "R": "U", "M": "W"}
_NAMES_OF_DUALS: Final = {dual: operator for operator, dual in _DUALS.items()}


class Bounded(NamedTuple):
    """What a formula says if it is written with bounds."""

    operator: str
    first: int
    last: int
    operands: tuple[Formula, ...]


def bounded(operator: str, first: int, last: int | None, operands: tuple[Formula, ...]) -> Formula:
    """Return `operator[first,last]` of `operands`, as a formula without bounds."""
    if operator in _DUALS:
        opposite = tuple(negation(operand) for operand in operands)
        return negation(bounded(_DUALS[operator], first, last, opposite))
    formula = _from_the_start(operator, None if last is None else last - first, operands)
    for _ in range(first):
        later = _later(operator, formula)
        formula = later if operator == "F" else Formula("&", (operands[0], later))
    return formula


def _from_the_start(operator: str, steps: int | None, operands: tuple[Formula, ...]) -> Formula:
    """Return `operator[0,steps]` of `operands`."""
    if steps is None:
        return Formula(operator, operands)
    left, right = operands[0], operands[-1]
    formula = Formula("|", (right, left)) if operator == "W" else right
    for _ in range(steps):
        later = _later(operator, formula)
        waiting = later if operator == "F" else Formula("&", (left, later))
        formula = Formula("|", (right, waiting))
    return formula


def _later(operator: str, formula: Formula) -> Formula:
    """Return `formula` one step later: the strong next, or the weak one for W."""
    if operator == "W":
        return negation(Formula("X", (negation(formula),)))
    return Formula("X", (formula,))


def written_with_bounds(formula: Formula) -> Bounded | None:
    """Return how `formula` is written with bounds, if it is."""
    return _written(formula).get(formula)


def with_short_bounds(formula: Formula, longest: int) -> Formula:
    """Return `formula` with positions after `longest` moved nearer: which comes first stays the same."""
    later = {end for bound in all_bounds(formula) for end in bound[1:3] if end > longest}
    nearer = {end: longest + 1 + rank for rank, end in enumerate(sorted(later))}
    if all(end == near for end, near in nearer.items()):
        return formula
    known = _written(formula)
    forms: dict[Formula, Formula] = {}
    stack = [formula]
    while stack:
        sub = stack[-1]
        bound = known.get(sub)
        operands = sub.operands if bound is None else bound.operands
        missing = [operand for operand in operands if operand not in forms]
        if missing:
            stack += missing
            continue
        stack.pop()
        inner = tuple(forms[operand] for operand in operands)
        if bound is None:
            forms[sub] = Formula(sub.operator, inner, sub.name)
        else:
            first, last = (nearer.get(end, end) for end in (bound.first, bound.last))
            forms[sub] = bounded(bound.operator, first, last, inner)
    return forms[formula]


def all_bounds(formula: Formula) -> list[Bounded]:
    """Return how its parts are written with bounds; not the steps that a longer bound is made of."""
    known = _written(formula)
    found: list[Bounded] = []
    stack, seen = [formula], {formula}
    while stack:
        sub = stack.pop()
        bound = known.get(sub)
        if bound is not None:
            found.append(bound)
        for operand in sub.operands if bound is None else bound.operands:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return found


def _written(formula: Formula) -> dict[Formula, Bounded]:
    known: dict[Formula, Bounded] = {}
    for sub in formula.subformulas():
        found = as_bounded(sub, known)
        if found is not None:
            known[sub] = found
    return known


def as_bounded(formula: Formula, known: dict[Formula, Bounded]) -> Bounded | None:
    """Return how `formula` is written with bounds, if it is; `known` has that of its subformulas."""
    operand = formula.operands[0] if formula.operands else formula
    if formula.operator == "!" and operand in known:
        return _dual(known[operand])
    if formula.operator == "X" and known.get(operand, (None,))[0] == "F":
        return _shifted(known[operand])
    if formula.operator not in FLAT or formula.operands[-1].is_boolean():
        return None
    before = Formula(formula.operator, formula.operands[:-1])
    if formula.operator == "&":
        return _delayed_until(before, formula.operands[-1], known)
    return _within(before, formula.operands[-1], known)


def _within(right: Formula, waiting: Formula, known: dict[Formula, Bounded]) -> Bounded | None:
    """Read `right | X(…)` as F[0,n], and `right | left & X(…)` as U[0,n] or W[0,n]."""
    if waiting.operator == "X":
        if waiting.operands[0] is right:
            return Bounded("F", 0, 1, (right,))
        longer = known.get(waiting.operands[0])
        if longer is not None and longer[:2] == ("F", 0) and longer.operands == (right,):
            return longer._replace(last=longer.last + 1)
    if waiting.operator != "&":
        return None
    left = Formula("&", waiting.operands[:-1])
    then, operator = _next_of(waiting.operands[-1])
    if then is None:
        return None
    start = Formula("|", (right, left)) if operator == "W" else right
    if then is start:
        return Bounded(operator, 0, 1, (left, right))
    longer = known.get(then)
    if longer is not None and longer[:2] == (operator, 0) and longer.operands == (left, right):
        return longer._replace(last=longer.last + 1)
    return None


def _delayed_until(left: Formula, later: Formula, known: dict[Formula, Bounded]) -> Bounded | None:
    """Read `left & X(left U[i,j] right)` as `left U[i+1,j+1] right`, and W alike."""
    then, operator = _next_of(later)
    found = None if then is None else known.get(then)
    if found is None or found.operator != operator or found.operands[0] is not left:
        return None
    return _shifted(found)


def _next_of(formula: Formula) -> tuple[Formula | None, str]:
    """Return what is next, and the operator to whose kind of next that belongs: U, or W if weak."""
    if formula.operator == "X":
        return formula.operands[0], "U"
    if formula.operator == "!" and formula.operands[0].operator == "X":
        operand = formula.operands[0].operands[0]
        if negation(negation(operand)) is operand:
            return negation(operand), "W"
    return None, ""


def _shifted(found: Bounded) -> Bounded:
    return found._replace(first=found.first + 1, last=found.last + 1)


def _dual(found: Bounded) -> Bounded | None:
    if found.operator not in _NAMES_OF_DUALS:
        return None
    opposite = tuple(negation(operand) for operand in found.operands)
    if any(negation(o) is not p for o, p in zip(opposite, found.operands, strict=True)):
        return None
    return Bounded(_NAMES_OF_DUALS[found.operator], found.first, found.last, opposite)


# Bounds as they are written after an operator: `[0,5]` in steps, `[0s,3s]` in seconds.


_BOUND: Final = re.compile(
    r"""\[\s* (?P<first>\d+(?:\.\d+)?) \s* (?P<first_unit>[a-z]*)
        (?P<comma>\s*(?:,|:|\.\.)\s* (?:(?P<last>\d+(?:\.\d+)?) \s* (?P<last_unit>[a-z]*))? )? \s*\]""",
    re.VERBOSE,
)
SECONDS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_REVERSED: Final = "the first number of a bound must not be above the second"
_EXAMPLES: Final = "as in F[0,5] a (steps), F[0s,3s] a (seconds) or F[2,] a (no upper bound)"
MAX_SECONDS: Final = 31_622_400.0
"""Bounds of more seconds than this, a year, are refused."""


class Bound(NamedTuple):
    """The positions that an operator speaks of: from the first to the last, if there is one."""

    first: int
    last: int | None


class BoundError(ValueError):
    """A bound that cannot be read, and why."""


def read_bound(text: str, operator: str, *, clock: bool) -> Bound | Window:
    """Return the bound that `text`, brackets and all, puts on `operator`: in steps, or on the clock.

    `clock` tells whether there is one: a world whose steps take no time that is known has none.
    """
    match = _BOUND.fullmatch(text)
    if match is None:
        raise BoundError(f"'{text}' is not a bound: write it {_EXAMPLES}")
    if operator == "X":
        if match["comma"] or match["first_unit"] or "." in match["first"]:
            raise BoundError("X takes one number of steps, as in X[3] a")
        return _checked(Bound(int(match["first"]), int(match["first"])))
    if not match["comma"]:
        n = match["first"] + match["first_unit"]
        raise BoundError(f"write {operator}[0,{n}] for 'within {n}', or {operator}[{n},{n}]")
    unit = match["last_unit"] or match["first_unit"]
    if not unit:
        for number in (match["first"], match["last"] or "0"):
            if "." in number:
                raise BoundError(f"{number} is not a number of steps; write {number}s for seconds")
        return _checked(Bound(int(match["first"]), int(match["last"]) if match["last"] else None))
    if not clock:
        raise BoundError(
            "there is no clock: nothing says how long a step takes here. Write the bound in steps, as"
            " in F[0,5] a"
        )
    first = _nanoseconds(match["first"], match["first_unit"] or unit)
    if not match["last"]:
        return Window(first, None)
    window = Window(first, _nanoseconds(match["last"], unit))
    if window.last is not None and window.last < first:
        raise BoundError(_REVERSED)
    return window


def _nanoseconds(number: str, unit: str) -> int:
    if unit not in SECONDS:
        raise BoundError(f"unknown unit '{unit}'. Known: {', '.join(SECONDS)}; steps have none")
    seconds = float(number) * SECONDS[unit]
    if seconds > MAX_SECONDS:
        raise BoundError(f"a bound of {seconds:g} seconds is too long: at most a year")
    return round(seconds * NANOSECONDS)


def _checked(bound: Bound) -> Bound:
    last = bound.first if bound.last is None else bound.last
    if last < bound.first:
        raise BoundError(_REVERSED)
    if last > MAX_BOUND:
        raise BoundError(f"a bound of {last} steps is too long: at most {MAX_BOUND}")
    return bound
