"""Short, readable formulas: where only some label sets can show, only these must be told apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from skm_machine.logic.formula import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    proposition,
)

LabelSet = frozenset[str]
_Literals = dict[str, bool]


def telling(
    wanted: Collection[LabelSet], others: Collection[LabelSet], names: Sequence[str]
) -> Formula:
    """Return a short formula over some names that is true on the wanted label sets, on no others.

    An alternative for each kind of them, each with as little as tells it from the others: what must hold
    rather than what must not.
    """
    if not wanted:
        return FALSE
    if not others:
        return TRUE
    order = {name: place for place, name in enumerate(names)}
    kinds = dict.fromkeys(frozenset(labels.intersection(order)) for labels in wanted)
    unwanted = dict.fromkeys(frozenset(labels.intersection(order)) for labels in others)
    found: list[_Literals] = []
    for kind in sorted(kinds, key=lambda labels: (len(labels), sorted(labels))):
        if not any(_fits(literals, kind) for literals in found):
            found.append(_fewest(kind, unwanted, names))
    for literals in list(found):
        rest = [other for other in found if other is not literals]
        if all(any(_fits(other, kind) for other in rest) for kind in kinds):
            found = rest
    found.sort(key=lambda literals: [(order[name], not holds) for name, holds in literals.items()])
    return disjunction(*(_conjoined(literals) for literals in found))


def _fewest(kind: LabelSet, others: Collection[LabelSet], names: Sequence[str]) -> _Literals:
    """Return what tells one label set from the others, with nothing that could be left out."""
    literals = {name: name in kind for name in names}
    for name in sorted(names, key=lambda name: (name in kind, -names.index(name))):
        rest = {other: holds for other, holds in literals.items() if other != name}
        if not any(_fits(rest, labels) for labels in others):
            literals = rest
    return literals


def _fits(literals: _Literals, labels: LabelSet) -> bool:
    return all((name in labels) == holds for name, holds in literals.items())


def _conjoined(literals: _Literals) -> Formula:
    parts = ((proposition(name), holds) for name, holds in literals.items())
    return conjunction(*(part if holds else negation(part) for part, holds in parts))
