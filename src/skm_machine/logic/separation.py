"""Short Boolean formulas that tell some label sets from some others, whatever they say of the rest."""

from __future__ import annotations

from collections.abc import Collection

from skm_machine.logic.syntax import FALSE, Formula, conjunction, disjunction, negation, proposition


def separating(inside: Collection[frozenset[str]], outside: Collection[frozenset[str]]) -> Formula:
    """Return a disjunction of short conjunctions that holds on all of `inside`, on none of `outside`.

    Literals are dropped from each label set as long as no set outside satisfies what is left, negative
    ones first: of things that never show together, `magenta` is enough where `magenta & !blue` would do.
    """
    names = sorted(frozenset[str]().union(*inside, *outside))
    terms: list[tuple[frozenset[str], frozenset[str]]] = []
    for labels in sorted(inside, key=lambda each: (len(each), sorted(each))):
        if any(_holds(term, labels) for term in terms):
            continue
        term = labels, frozenset(names) - labels
        for kept in (1, 0):
            for name in names:
                shorter = list(term)
                shorter[kept] -= {name}
                candidate = shorter[0], shorter[1]
                if not any(_holds(candidate, other) for other in outside):
                    term = candidate
        terms.append(term)
    return disjunction(*(_formula(term) for term in terms)) if terms else FALSE


def _holds(term: tuple[frozenset[str], frozenset[str]], labels: frozenset[str]) -> bool:
    true, false = term
    return true <= labels and not false & labels


def _formula(term: tuple[frozenset[str], frozenset[str]]) -> Formula:
    true, false = term
    positive = [proposition(name) for name in sorted(true)]
    return conjunction(*positive, *(negation(proposition(name)) for name in sorted(false)))
