"""Negation normal form: an equal formula in which only propositions are negated."""

from __future__ import annotations

from typing import Final

from skm_machine.logic.formula import TIMED, Formula, conjunction, disjunction, negation

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


def seen_through(formula: Formula) -> Formula:
    """Return a formula, equal on infinite traces, of which a finite trace skips nothing at its end.

    On finite traces, `!X !a` asks nothing of a step that does not come, so that `G[0,9] a` would hold at
    the first step. Where a is still to be brought about, or to be seen through, the next step must come:
    `X a`. Only what lasts forever (G, R, W) is judged by what came so far.
    """
    forms: dict[tuple[Formula, bool], Formula] = {}
    changed = False

    def weak_next(later: Formula) -> Formula:
        """Return the next step of a form: the strong one, but for what lasts."""
        nonlocal changed
        if not open_ended[later]:
            changed = True
            return Formula("X", (later,))
        if later.operator in ("&", "|"):
            return Formula(later.operator, tuple(map(weak_next, later.operands)))
        return negation(Formula("X", (negation(later),)))

    open_ended = _OpenEnded()
    signs = _signs(formula)
    for sub in formula.subformulas():
        for positive in signs[sub]:
            if sub.operator == "X" and not positive:
                forms[sub, positive] = weak_next(forms[sub.operands[0], False])
            else:
                forms[sub, positive] = _form(sub, positive, forms)
    return forms[formula, True] if changed else formula


def _signs(formula: Formula) -> dict[Formula, frozenset[bool]]:
    """Return of each part whether it is said (True), denied (False), or both."""
    signs = {formula: frozenset({True})}
    for sub in reversed(list(formula.subformulas())):  # a part comes after all that it is in
        said = signs[sub]
        denied = frozenset(not sign for sign in said)
        for place, operand in enumerate(sub.operands):
            if sub.operator in ("<->", "xor"):
                sign = said | denied
            elif sub.operator == "!" or (sub.operator == "->" and place == 0):
                sign = denied
            else:
                sign = said
            signs[operand] = signs.get(operand, frozenset()) | sign
    return signs


class _OpenEnded(dict[Formula, bool]):
    """Whether each formula has a G, R or W in it, or a next step that need not come."""

    def __missing__(self, formula: Formula) -> bool:
        stack = [formula]
        while stack:
            sub = stack[-1]
            missing = [operand for operand in sub.operands if operand not in self]
            if missing:
                stack += missing
                continue
            weak = sub.operator == "!" and not sub.operands[0].is_boolean()
            below = any(self[operand] for operand in sub.operands)
            self[sub] = weak or below or sub.operator in ("G", "R", "W")
            stack.pop()
        return self[formula]


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
