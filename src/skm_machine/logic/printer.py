"""Formulas and label sets as text: formulas print as text that parses to the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from skm_machine.logic.bounds import MAX_BOUND, Bounded, as_bounded
from skm_machine.logic.formula import (
    PRECEDENCE,
    RIGHT_ASSOCIATIVE,
    TEMPORAL_BINARY,
    TIMED,
    Formula,
    quoted,
)
from skm_machine.logic.timed import window_of

# Label sets as people write them.


def labels_text(labels: Collection[str]) -> str:
    """Return a label set as text: `{coffee, mail}`."""
    return "{" + ", ".join(sorted(labels)) + "}"


# Formulas as text that parses to the same: few parentheses, and bounds where they have them.
#
# `X X X X a` is written `X[4] a`, so that long delays can be read.


MANY_NEXTS: Final = 4
"""So many X in a row are written with a number."""


class _View(NamedTuple):
    """A formula as it is written: an operator, perhaps with a bound, and its operands."""

    operator: str
    bound: str
    operands: tuple[Formula, ...]
    name: str


def to_text(formula: Formula) -> str:
    """Return the formula as text that parses to the same formula."""
    views = _views(formula)
    texts: dict[Formula, str] = {}
    for sub, view in views.items():
        if view.operator == "prop":
            texts[sub] = quoted(view.name)
        elif not view.operands:
            texts[sub] = view.operator
        elif len(view.operands) == 1:
            texts[sub] = _unary_text(view, views, texts)
        else:
            wrapped = (
                _wrapped(texts[operand], _needs_parentheses(view, index, views[operand]))
                for index, operand in enumerate(view.operands)
            )
            texts[sub] = f" {view.operator}{view.bound} ".join(wrapped)
    return texts[formula]


def written_size(formula: Formula) -> int:
    """Return how many operators and propositions the text of `formula` has."""
    sizes: dict[Formula, int] = {}
    for sub, view in _views(formula).items():
        sizes[sub] = 1 + sum(sizes[operand] for operand in view.operands)
    return sizes[formula]


def _views(formula: Formula) -> dict[Formula, _View]:
    """Return how each subformula is written, after those of its operands."""
    views: dict[Formula, _View] = {}
    known: dict[Formula, Bounded] = {}
    delays: dict[Formula, tuple[int, Formula]] = {}
    for sub in formula.subformulas():
        found = as_bounded(sub, known)
        if found is None:
            views[sub] = _plain_view(sub, delays)
            continue
        known[sub] = found
        for operand in found.operands:
            if operand not in views:  # the negation of a subformula, since G is written for !F
                views[operand] = _View(operand.operator, "", operand.operands, "")
        views[sub] = _View(found.operator, f"[{found.first},{found.last}]", found.operands, "")
    return views


def _plain_view(sub: Formula, delays: dict[Formula, tuple[int, Formula]]) -> _View:
    """Return a formula without bounds as it is; `delays` has the X in a row of its subformulas."""
    if sub.operator == "X":
        steps, later = delays.get(sub.operands[0], (0, sub.operands[0]))
        if steps == MAX_BOUND:
            steps, later = 0, sub.operands[0]
        delays[sub] = steps + 1, later
        if steps + 1 >= MANY_NEXTS:
            return _View("X", f"[{steps + 1}]", (later,), "")
    if sub.operator in TIMED:
        return _View(TIMED[sub.operator], window_of(sub).text, sub.operands, "")
    return _View(sub.operator, "", sub.operands, sub.name)


def _unary_text(view: _View, views: dict[Formula, _View], texts: dict[Formula, str]) -> str:
    operand = view.operands[0]
    compound = len(views[operand].operands) > 1
    space = "" if compound or view.operator == "!" else " "
    return f"{view.operator}{view.bound}{space}{_wrapped(texts[operand], compound)}"


def _needs_parentheses(view: _View, index: int, operand: _View) -> bool:
    """Tell whether an operand must be wrapped; temporal operators always are, as people expect."""
    if len(operand.operands) < 2:
        return False
    if PRECEDENCE[operand.operator] == PRECEDENCE[view.operator]:
        return operand.operator in RIGHT_ASSOCIATIVE or index > 0
    return operand.operator in TEMPORAL_BINARY or (
        PRECEDENCE[operand.operator] < PRECEDENCE[view.operator]
    )


def _wrapped(text: str, parenthesised: bool) -> str:
    return f"({text})" if parenthesised else text
