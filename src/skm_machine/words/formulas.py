"""The 22 robotic mission patterns as formulas.

After Menghi, Tsigkanos, Pelliccione, Ghezzi and Berger, "Specification Patterns for Robotic Missions"
(IEEE Transactions on Software Engineering, 2021). A place is a Boolean formula; each function returns
the conjuncts of its pattern, so that they can be told again from one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from skm_machine.logic.syntax import Formula, conjunction, negation

Places = Sequence[Formula]
Conjuncts = list[Formula]
Manner = Callable[..., Conjuncts]


def eventually(formula: Formula) -> Formula:
    """Return `F formula`."""
    return Formula("F", (formula,))


def always(formula: Formula) -> Formula:
    """Return `G formula`."""
    return Formula("G", (formula,))


def following(formula: Formula) -> Formula:
    """Return `X formula`."""
    return Formula("X", (formula,))


def until(left: Formula, right: Formula) -> Formula:
    """Return `left U right`."""
    return Formula("U", (left, right))


def implies(left: Formula, right: Formula) -> Formula:
    """Return `left -> right`."""
    return Formula("->", (left, right))


def chain(places: Places, end: Formula | None = None) -> Formula:
    """Return F(l1 & F(l2 & … F ln)): one after the other; after the last of them `end` holds."""
    last = places[-1] if end is None else conjunction(places[-1], end)
    formula = eventually(last)
    for place in reversed(places[:-1]):
        formula = eventually(conjunction(place, formula))
    return formula


def _pairs(places: Places, around: bool = False) -> list[tuple[Formula, Formula]]:
    """Return each place with the next one; around: the last with the first, too."""
    pairs = list(pairwise(places))
    return [*pairs, (places[-1], places[0])] if around and len(places) > 1 else pairs


# Where to go --------------------------------------------------------------------------------------


def visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """Each place, in any order."""
    return [eventually(place if end is None else conjunction(place, end)) for place in places]


def sequenced_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """One place after the other, whatever is visited in between."""
    return [chain(places, end)]


def ordered_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """One place after the other, and none before the one that it follows."""
    before = [until(negation(second), first) for first, second in _pairs(places)]
    return [chain(places, end), *before]


def strict_ordered_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """As ordered, and no place twice before the next one."""
    once = [
        until(negation(first), conjunction(first, following(until(negation(first), second))))
        for first, second in _pairs(places)
    ]
    return [*ordered_visit(places, end), *once]


def fair_visit(places: Places, end: Formula | None = None) -> Conjuncts:
    """Each place, and none again before the next one."""
    return [*visit(places, end), *_in_turns(places, "W")]


def patrol(places: Places) -> Conjuncts:
    """Each place again and again, in any order."""
    return [always(eventually(place)) for place in places]


def sequenced_patrol(places: Places) -> Conjuncts:
    """One place after the other, again and again."""
    return [always(chain(places))]


def ordered_patrol(places: Places) -> Conjuncts:
    """One place after the other, again and again, and none before the one that it follows."""
    before = [until(negation(second), first) for first, second in _pairs(places)]
    again = [
        always(implies(second, following(until(negation(second), first))))
        for first, second in _pairs(places, around=True)
    ]
    return [always(chain(places)), *before, *again]


def strict_ordered_patrol(places: Places) -> Conjuncts:
    """As ordered, and no place twice before the next one."""
    return [*ordered_patrol(places), *_in_turns(places, "U")]


def fair_patrol(places: Places) -> Conjuncts:
    """Each place again and again, and none again before the next one."""
    return [*patrol(places), *_in_turns(places, "W")]


def _in_turns(places: Places, operator: str) -> Conjuncts:
    return [turn(first, second, operator) for first, second in _pairs(places, around=True)]


def turn(first: Formula, second: Formula, operator: str) -> Formula:
    """Return that after each visit of `first`, `second` comes before it again (or never, by W)."""
    return always(implies(first, following(Formula(operator, (negation(first), second)))))


# What to avoid ------------------------------------------------------------------------------------


def past_avoidance(place: Formula, condition: Formula) -> Conjuncts:
    """Not there until the condition holds, which it will."""
    return [until(negation(place), condition)]


def global_avoidance(place: Formula) -> Conjuncts:
    """Never there."""
    return [always(negation(place))]


def future_avoidance(place: Formula, condition: Formula) -> Conjuncts:
    """Not there any more once the condition holds."""
    return [always(implies(condition, always(negation(place))))]


def at_most(place: Formula, times: int) -> Conjuncts:
    """There in at most so many steps (upper restricted avoidance)."""
    return [negation(_often(place, times + 1))]


def at_least(place: Formula, times: int) -> Conjuncts:
    """There in so many steps or more (lower restricted avoidance)."""
    return [_often(place, times)]


def exactly(place: Formula, times: int) -> Conjuncts:
    """There in just so many steps (exact restricted avoidance)."""
    if not times:
        return [always(negation(place))]
    formula = until(negation(place), conjunction(place, negation(following(eventually(place)))))
    for _ in range(times - 1):
        formula = until(negation(place), conjunction(place, following(formula)))
    return [formula]


def _often(place: Formula, times: int) -> Formula:
    formula = eventually(place)
    for _ in range(times - 1):
        formula = eventually(conjunction(place, following(formula)))
    return formula


# How to react -------------------------------------------------------------------------------------


def instantaneous_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """Whenever the cause holds, the effect does."""
    return [always(implies(cause, effect))]


def delayed_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """After each cause, some time, the effect."""
    return [always(implies(cause, eventually(effect)))]


def prompt_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """In the step after each cause, the effect."""
    return [always(implies(cause, following(effect)))]


def bound_reaction(cause: Formula, effect: Formula) -> Conjuncts:
    """The effect whenever the cause holds, and only then."""
    return [always(Formula("<->", (cause, effect)))]


def bound_delay(cause: Formula, effect: Formula) -> Conjuncts:
    """The effect in the step after each cause, and only then."""
    return [always(Formula("<->", (cause, following(effect))))]


def wait(place: Formula, condition: Formula) -> Conjuncts:
    """Stay there until the condition holds, which it will."""
    return [until(place, condition)]


VISITS: dict[str, Manner] = {
    "in any order": visit,
    "in sequence": sequenced_visit,
    "in order": ordered_visit,
    "in strict order": strict_ordered_visit,
    "fairly": fair_visit,
}
"""Ways to visit places, by the words for them."""

PATROLS: dict[str, Manner] = {
    "in any order": patrol,
    "in sequence": sequenced_patrol,
    "in order": ordered_patrol,
    "in strict order": strict_ordered_patrol,
    "fairly": fair_patrol,
}

COUNTS: dict[str, Manner] = {
    "at most": at_most,
    "at least": at_least,
    "exactly": exactly,
}

REACTIONS: dict[tuple[str, str], Manner] = {
    ("whenever", "at once"): instantaneous_reaction,
    ("whenever", ""): delayed_reaction,
    ("whenever", "in the next step"): prompt_reaction,
    ("exactly when", "at once"): bound_reaction,
    ("exactly when", "in the next step"): bound_delay,
}
"""Reactions, by how they begin and end."""
