"""How a formula is read: as a mission with an end, or as a standing order.

A formula is a **standing order** if it says something about every future (a response `G(a -> F b)`,
`G F a`, `F G a`), if doing nothing would fulfil it at once, but only so far (`G !a`), or if it only says
what must hold (`G a`). Every other formula is a **mission with an end**: it is over at the first step at
which the trace satisfies it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skm_machine.automata.automaton import Automaton
from skm_machine.logic.normal_form import normal_forms
from skm_machine.logic.syntax import Formula

EVENTUALLY = ("F", "U", "M")
ALWAYS = ("G", "R", "W")


@dataclass(frozen=True)
class Reading:
    """How a mission is read, why, and what the other reading would mean."""

    standing: bool
    why: str
    other: str = ""

    @property
    def kind(self) -> str:
        """What the mission is, in words."""
        return "a standing order" if self.standing else "a mission with an end"


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
    """Whether each asks for something for ever after, in one case at least."""
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


def brings_nothing_about(formula: Formula) -> bool:
    """Tell whether a formula only says what must hold: `G a`, `G[0,9] a`, `a W b`, and both of two such.

    Nothing in it asks for a step to come: no F, U, M or X, nor a G, R or W that is denied.
    """
    clauses = [formula]
    for clause in clauses:  # grows while it is walked
        if clause.operator == "&":
            clauses += clause.operands
        elif clause.operator != "G" and not _never_asks(clause):
            return False
    return True


def _never_asks(formula: Formula) -> bool:
    signs: dict[Formula, frozenset[bool]] = {formula: frozenset({True})}
    """Of each part, whether it is said, denied, or both."""
    for sub in reversed(list(formula.subformulas())):  # a part comes after all that it is in
        said = signs[sub]
        denied = frozenset(not sign for sign in said)
        if True in said and sub.operator in (*EVENTUALLY, "X"):
            return False
        if False in said and sub.operator in ALWAYS:
            return False
        for place, operand in enumerate(sub.operands):
            if sub.operator in ("<->", "xor"):
                sign = said | denied
            elif sub.operator == "!" or (sub.operator == "->" and place == 0):
                sign = denied
            else:
                sign = said
            signs[operand] = signs.get(operand, frozenset()) | sign
    return True


def read_formula(
    formula: Formula, horizon: str, finite_automaton: Callable[[], Automaton]
) -> Reading:
    """Return how `formula` is read; the finite automaton is asked for only if it decides."""
    if horizon == "infinite":
        return Reading(True, "as asked for (horizon infinite)", _OTHER_FINITE)
    if horizon == "finite":
        return Reading(False, "as asked for (horizon finite)", _OTHER_INFINITE)
    part = about_every_future(formula)
    if part is not None:
        return Reading(True, f"'{part}' says something about every future", _OTHER_FINITE)
    automaton = finite_automaton()
    first = automaton.table.outcome(automaton.initial, frozenset())
    if first in automaton.accepting and first not in automaton.settled:
        why = "doing nothing would fulfil it at once, but only so far"
        return Reading(True, why, _OTHER_AT_ONCE)
    if brings_nothing_about(formula) and not automaton.accepting <= automaton.settled:
        why = "it says what must hold, and nothing that is to be brought about"
        return Reading(True, why, _OTHER_FINITE)
    return Reading(
        False, "it can be fulfilled once, and says nothing about every future", _OTHER_INFINITE
    )


_OTHER_FINITE = "horizon finite: over at the first step at which all that came so far satisfies it"
_OTHER_AT_ONCE = "horizon finite: over after the first step that does nothing wrong"
_OTHER_INFINITE = (
    "horizon infinite: judged over the whole of an endless run, and what it forbids stays forbidden"
)
