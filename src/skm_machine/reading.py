"""How a formula is read: as a mission with an end, or as a recurring mission (a recurring mission).

The reading depends on the infinite traces that satisfy a formula, not on how it is written: formulas
that mean the same are read the same. A formula is a **recurring mission** in two cases.

1. At no step can it be told whether it is satisfied so far: runs that satisfy it and runs that do not
   leave the same things to be done (`G F a`, `F G a`, `F(a & G a)`, `G(a -> F b)`). See
   `skm_machine.automata.residual_language`.
2. There is nothing to bring about: what is to be done at the start, or after a first step that shows
   nothing, can stay so forever and satisfies it then (`G a`, `G !a`, `a W b`, `(a -> F b) & G !c`),
   while something is still forbidden. Steps in which nothing matters (`X X G a`) are passed over.

Every other formula is a **mission with an end**: it is over at the first step at which the trace so far
satisfies it. There, bounds are seen through: `G[0,9] a` takes ten steps.

Deciding this takes an automaton. It is looked for within a fixed amount of work, not of time, so that
the reading is the same on every machine; where that is not enough, the form of the formula decides, and
`Reading.why` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from skm_machine.automata.dfa import Automaton
from skm_machine.automata.ldba import clauses
from skm_machine.automata.limits import LimitReachedError, deep_diagrams_are_a_limit
from skm_machine.automata.residual_language import SAMPLES, ResidualLanguage, Sample
from skm_machine.logic.bounds import with_short_bounds
from skm_machine.logic.formula import Formula
from skm_machine.logic.normal_forms import negation_normal_form, normal_forms

EVENTUALLY: Final = ("F", "U", "M")
ALWAYS: Final = ("G", "R", "W")
LONG: Final = 8
"""Bounds of more steps than this are taken for shorter ones here; which ends first stays the same."""


@dataclass(frozen=True)
class Reading:
    """How a mission is read, why, and what the other reading would mean."""

    recurring: bool
    why: str
    other: str = ""

    @property
    def kind(self) -> str:
        """What the mission is, in words."""
        return "a recurring mission" if self.recurring else "a mission with an end"

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"recurring": self.recurring, "why": self.why, "other": self.other}


def read_formula(
    formula: Formula, horizon: str, finite_automata: Callable[[], Sequence[Automaton]]
) -> Reading:
    """Return how `formula` is read; its finite automata are asked for only if they decide.

    One automaton of it all, or one of each of its clauses.
    """
    if horizon == "infinite":
        return Reading(True, "as asked for (horizon infinite)", _OTHER_FINITE)
    if horizon == "finite":
        return Reading(False, "as asked for (horizon finite)", _OTHER_INFINITE)
    try:
        with deep_diagrams_are_a_limit():
            return _by_language(formula)
    except LimitReachedError:
        found = _by_form(formula, finite_automata)
        return Reading(found.recurring, f"{found.why}{_TOO_LARGE}", found.other)


def _by_language(formula: Formula) -> Reading:
    """Return the reading by the infinite traces that satisfy a formula; quick answers come first."""
    formula = with_short_bounds(formula, LONG)
    parts = clauses(formula)
    lasting = [_has(part, ALWAYS) for part in parts]
    if not any(lasting):
        return _ONCE
    work = ResidualLanguage(formula)
    pure = all(not (a and _has(p, EVENTUALLY)) for p, a in zip(parts, lasting, strict=True))
    for size in SAMPLES:
        found = _by_sample(formula, work.sample(*size), pure)
        if found is not None:
            return found
    automaton = work.automaton()
    if not automaton.tells:
        return _undecided(formula)
    recurring = automaton.lasting - automaton.universal
    state = automaton.decisive()
    if state in recurring:
        return _must_hold(formula, _MUST_HOLD)
    return _must_hold(formula, _NOTHING_TO_DO) if automaton.nothing[state] in recurring else _ONCE


def _by_sample(formula: Formula, sample: Sample, pure: bool) -> Reading | None:
    """Return the reading, if a sample of the residuals shows it; `pure`: no clause has both G and F."""
    if sample.mixed:
        return _undecided(formula)
    idle = sample.idle()
    for state, found in zip(idle, (_MUST_HOLD, _NOTHING_TO_DO), strict=False):
        if state in sample.lasting and state in sample.demanding:
            return _must_hold(formula, found)
    if pure and sample.waiting.issuperset(idle):
        # A safe and a co-safe property together, with the co-safe one still to come. Were such a
        # residual lasting, going round would fulfil that, and leave nothing to wait for.
        return _ONCE
    return None


def _undecided(formula: Formula) -> Reading:
    """Return the reading of a formula that does not tell whether it is satisfied so far."""
    return _must_hold(formula, _NEVER_TOLD)


def _must_hold(formula: Formula, found: Reading) -> Reading:
    """Return a reading as a recurring mission, with the part that makes it one, if one stands out."""
    part = about_every_future(formula)
    if part is None:
        return found
    return replace(found, why=f"'{part}' says something about every future", other=_OTHER_FINITE)


def _has(formula: Formula, operators: tuple[str, ...]) -> bool:
    return any(sub.operator in operators for sub in formula.subformulas())


def _by_form(formula: Formula, finite_automata: Callable[[], Sequence[Automaton]]) -> Reading:
    """Return the reading by how a formula is written, and by what it asks of finite traces."""
    if about_every_future(formula) is not None:
        return _undecided(formula)
    automata = finite_automata()
    first = [automaton.table.outcome(automaton.initial, frozenset()) for automaton in automata]
    accepted = all(s in a.accepting for s, a in zip(first, automata, strict=True))
    if accepted and not all(s in a.settled for s, a in zip(first, automata, strict=True)):
        return _NOTHING_TO_DO
    if not _has(negation_normal_form(formula), (*EVENTUALLY, "X")):
        return _MUST_HOLD
    return _ONCE


def about_every_future(formula: Formula) -> Formula | None:
    """Return the first part that says something about every future, if there is one.

    Such a part asks for something to come again and again (an F, U or M below a G, R or W), or for
    something to last from some step on (`F G`, also through `|`, or where all it asks for lasts).
    It is returned as it was written, if it was.
    """
    forms = normal_forms(formula)
    written = {form: sub for sub, form in forms.items()}
    subformulas = list(forms[formula].subformulas())  # operands first
    lasting: dict[Formula, bool] = {}
    """Whether each asks for something forever after, in one case at least."""
    eventual: dict[Formula, bool] = {}
    """Whether each has an F, U or M in it."""
    for sub in subformulas:
        lasts = [lasting[operand] for operand in sub.operands]
        lasting[sub] = (
            sub.operator == "G"
            or (sub.operator in ("F", "|") and any(lasts))
            or (sub.operator == "&" and all(lasts))
        )
        eventual[sub] = sub.operator in EVENTUALLY or any(eventual[o] for o in sub.operands)
    for sub in reversed(subformulas):
        again = sub.operator in ALWAYS and eventual[sub]
        if again or (sub.operator == "F" and lasting[sub.operands[0]]):
            return written.get(sub, sub)
    return None


_OTHER_FINITE: Final = (
    "horizon finite: over at the first step at which all that came so far satisfies it"
)
_OTHER_AT_ONCE: Final = "horizon finite: over after the first step that does nothing wrong"
_OTHER_INFINITE: Final = (
    "horizon infinite: judged over the whole of an endless run, and what it forbids stays forbidden"
)
_TOO_LARGE: Final = " (by its form: it is too large to be read by the runs that satisfy it)"
_NEVER_TOLD: Final = Reading(
    True, "at no step can it be told whether it is satisfied so far", _OTHER_FINITE
)
_ONCE: Final = Reading(
    False, "it can be fulfilled once, and says nothing about every future", _OTHER_INFINITE
)
_MUST_HOLD: Final = Reading(
    True, "it says what must hold, and nothing that is to be brought about", _OTHER_FINITE
)
_NOTHING_TO_DO: Final = Reading(
    True, "after a step that shows nothing, it only says what must hold", _OTHER_AT_ONCE
)
