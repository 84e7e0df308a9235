"""Negation normal form: an equal formula in which only propositions are negated."""

from __future__ import annotations

from typing import Final

from skm_machine.logic.syntax import TIMED, Formula, conjunction, disjunction, negation

_DUAL: Final = {"X": "X", "F": "G", "G": "F", "U": "R", "R": "U", "W": "M", "M": "W"}
DUALS: Final = {**_DUAL, **{timed: f"{_DUAL[operator]}@" for timed, operator in TIMED.items()}}
"""The operator of the negation, with its operands negated."""


def negation_normal_form(formula: Formula) -> Formula:
    """Return `formula` with `->`, `<->` and `xor` resolved and negations at the propositions only.

    On infinite traces, where `!X a` is `X !a`; Boolean formulas mean the same on any trace.
    """
    return normal_forms(formula)[formula]


def normal_forms(formula: Formula) -> dict[Formula, Formula]:
    """Return the negation normal form of each subformula, those of operands first."""
    forms: dict[tuple[Formula, bool], Formula] = {}
    for sub in formula.subformulas():
        for positive in (True, False):
            forms[sub, positive] = _form(sub, positive, forms)
    return {sub: form for (sub, positive), form in forms.items() if positive}


def _form(formula: Formula, positive: bool, forms: dict[tuple[Formula, bool], Formula]) -> Formula:
    """Return the form of `formula`, or of its negation, from the forms of its operands."""
    operands = formula.operands
    match formula.operator:
        case "prop" | "true" | "false":
            return formula if positive else negation(formula)
        case "!":
            return forms[operands[0], not positive]
        case "&" | "|" as operator:
            join = conjunction if (operator == "&") == positive else disjunction
            return join(*(forms[operand, positive] for operand in operands))
        case "->":
            join = disjunction if positive else conjunction
            return join(forms[operands[0], not positive], forms[operands[1], positive])
        case "<->" | "xor" as operator:
            same = (operator == "<->") == positive
            left, right = operands
            return disjunction(
                conjunction(forms[left, True], forms[right, same]),
                conjunction(forms[left, False], forms[right, not same]),
            )
        case operator:
            dual = operator if positive else DUALS[operator]
            inner = tuple(forms[operand, positive] for operand in operands)
            return Formula(dual, inner, formula.name)


def chains_of_next(formula: Formula) -> dict[Formula, int]:
    """Return what stands below two X or more, with only Boolean operators between: and how many.

    Such subformulas are Boolean, or F, G, U, … of others; of a Boolean one, only the whole is named.
    """
    delays: dict[Formula, int] = {}
    for sub in reversed(list(formula.subformulas())):
        if not _is_base(sub):
            below = delays.get(sub, 0) + (sub.operator == "X")
            for operand in sub.operands:
                delays[operand] = max(delays.get(operand, 0), below)
    return {sub: delay for sub, delay in delays.items() if delay > 1 and _is_base(sub)}


def _is_base(formula: Formula) -> bool:
    temporal = ("F", "G", "U", "R", "W", "M", *TIMED)
    return formula.is_boolean() or formula.operator in temporal
