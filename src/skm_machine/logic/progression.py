"""What is left of a formula once a label set was read: progression (Bacchus and Kabanza, 2000).

`progress(φ, l)` holds on a trace of at least one state exactly if φ holds on l followed by that trace.
So of a mission that is neither accepted nor lost, what is left is a formula again: it can be joined with
another mission, and planned as any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.formula import (
    FALSE,
    TIMED,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
)


def progress(formula: Formula, labels: Collection[str]) -> Formula:
    """Return what is left of a formula after a state with these labels, if another state follows."""
    left: dict[Formula, Formula] = {}
    for sub in formula.subformulas():
        left[sub] = _progressed(sub, [left[operand] for operand in sub.operands], labels)
    return left[formula]


def what_is_left(formula: Formula, trace: Iterable[Collection[str]]) -> Formula:
    """Return what is left of a formula after these states."""
    known: dict[tuple[Formula, frozenset[str]], Formula] = {}
    for labels in trace:
        key = formula, frozenset(labels)
        if key not in known:
            known[key] = progress(formula, labels)
        formula = known[key]
    return formula


def _progressed(  # noqa: PLR0912 - a case for each operator
    sub: Formula, left: list[Formula], labels: Collection[str]
) -> Formula:
    match sub.operator:
        case "true" | "false":
            return sub
        case "prop":
            return TRUE if sub.name in labels else FALSE
        case "!":
            return negation(left[0])
        case "&":
            return _all(*left)
        case "|":
            return _any(*left)
        case "->":
            return _any(negation(left[0]), left[1])
        case "<->":
            return _any(_all(*left), _all(*map(negation, left)))
        case "xor":
            return _any(_all(left[0], negation(left[1])), _all(negation(left[0]), left[1]))
        case "X":
            return sub.operands[0]
        case "F":
            return _any(left[0], sub)
        case "G":
            return _all(left[0], sub)
        case "U" | "W":
            return _any(left[1], _all(left[0], sub))
        case "R" | "M":
            return _all(left[1], _any(left[0], sub))
    assert sub.operator in TIMED
    raise UnsupportedMissionError(
        "what is left of a mission with bounds in seconds depends on the clock, and is not a formula"
    )


# Disjuncts that others follow from are left out, and so are conjuncts that follow from others: else a
# sequence, `F(a & X F(b & …))`, would grow with each of its goals that is reached.


def _any(*operands: Formula) -> Formula:
    joined = disjunction(*operands)
    if joined.operator != "|":
        return joined
    kept = list(joined.operands)
    for one in joined.operands:
        if any(one is not other and _follows(other, one) for other in kept):
            kept.remove(one)
    return disjunction(*kept)


def _all(*operands: Formula) -> Formula:
    joined = conjunction(*operands)
    if joined.operator != "&":
        return joined
    kept = list(joined.operands)
    for one in joined.operands:
        if any(one is not other and _follows(one, other) for other in kept):
            kept.remove(one)
    return conjunction(*kept)


def _follows(wanted: Formula, given: Formula, depth: int = 40) -> bool:
    """Tell whether one formula is seen to follow from another, by its form; False: it may or may not."""
    if wanted is given or wanted is TRUE or given is FALSE:
        return True
    if depth == 0:
        return False

    def follows(wanted: Formula, given: Formula) -> bool:
        return _follows(wanted, given, depth - 1)

    if given.operator == "|":
        return all(follows(wanted, one) for one in given.operands)
    if wanted.operator == "&":
        return all(follows(one, given) for one in wanted.operands)
    if wanted.operator == "F":
        eventual = wanted.operands[0]
        if given.operator in ("F", "X") and follows(wanted, given.operands[0]):
            return True
        if follows(eventual, given):
            return True
    if given.operator == "G":
        below = wanted.operands[0] if wanted.operator == "G" else wanted
        if follows(below, given.operands[0]):
            return True
    if given.operator == "&" and any(follows(wanted, one) for one in given.operands):
        return True
    return wanted.operator == "|" and any(follows(one, given) for one in wanted.operands)
