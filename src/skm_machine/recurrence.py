"""Standing orders: missions with no end, of any formula.

Recurrences `G F p` (p Boolean) are counted in any order; all other clauses are watched by one automaton:
the finite one, if a prefix decides each of them (safe, `G !c`, or co-safe, `F(a & X F b)`), else that of
all of LTL (with the finite one of long bounds beside it). `rounds` makes the machine of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from skm_machine.automata.growth import too_large
from skm_machine.automata.infinite import as_automaton, best_graph
from skm_machine.automata.limits import LimitReachedError, Limits, deep_diagrams_are_a_limit
from skm_machine.automata.timed_translation import ClockTable, timed_automaton
from skm_machine.automata.translation import MAX_SECONDS, MAX_STATES, translated
from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.normal_form import chains_of_next, negation_normal_form
from skm_machine.logic.syntax import Formula, conjunction, negation
from skm_machine.logic.timed import timed_parts
from skm_machine.reward_machine import RewardMachine, from_automaton
from skm_machine.rounds import Rounds
from skm_machine.watch import Watch, watch_finite, watch_omega
from skm_machine.watch_product import watch_both

LONG: Final = 8
"""Bounds of more steps than this are watched apart."""


@dataclass(frozen=True)
class Clauses:
    """A standing order, sorted into its clauses."""

    recurrences: tuple[Formula, ...]
    """Each p of a `G F p`, Boolean."""
    others: tuple[tuple[Formula, Formula | None], ...]
    """All other clauses, each with how it reads on prefixes, if a prefix decides it."""

    @property
    def apart(self) -> tuple[Formula | None, Formula | None]:
        """What is watched on prefixes, and what on infinite traces: one automaton, where that is small.

        Two where a prefix decides clauses with long bounds, and others only the whole run decides.
        """
        decided = [finite for _, finite in self.others if finite is not None]
        if len(decided) == len(self.others):
            return conjunction(*decided), None
        bounds = [finite for _, finite in self.others if finite is not None and _is_long(finite)]
        rest = [clause for clause, finite in self.others if finite is None or finite not in bounds]
        return conjunction(*bounds) if bounds else None, conjunction(*rest)


def sort_clauses(formula: Formula) -> Clauses:
    """Sort the conjuncts of a standing order."""
    recurrences: dict[Formula, None] = {}
    others: list[tuple[Formula, Formula | None]] = []
    stack = [negation_normal_form(formula)]
    while stack:
        clause = _without_repetition(stack.pop())
        inner = clause.operands[0] if len(clause.operands) == 1 else clause
        if clause.operator == "&":
            stack.extend(reversed(clause.operands))
        elif clause.operator == "G" and inner.operator == "&":
            stack.extend(Formula("G", (operand,)) for operand in reversed(inner.operands))
        elif clause.operator == "G" and inner.operator == "F" and inner.operands[0].is_boolean():
            recurrences[inner.operands[0]] = None
        elif _lacks(clause, "G", "R", "W"):
            others.append((clause, clause))
        elif _lacks(clause, "F", "U", "M"):
            others.append((clause, _with_weak_next(clause)))
        else:
            others.append((clause, None))
    return Clauses(tuple(recurrences), tuple(others))


def _is_long(formula: Formula) -> bool:
    return any(delay > LONG for delay in chains_of_next(formula).values())


def _without_repetition(formula: Formula) -> Formula:
    """Shorten a run of G and F to what it means: `G G` to G, `F G F` to `G F`, `G F G` to `F G`."""
    while formula.operator in ("F", "G"):
        inner = formula.operands[0]
        innermost = inner.operands[0] if inner.operator in ("F", "G") else inner
        if formula.operator == inner.operator or (
            inner.operator in ("F", "G") and innermost.operator == formula.operator
        ):
            formula = inner
        else:
            break
    return formula


def _lacks(formula: Formula, *operators: str) -> bool:
    return all(sub.operator not in operators for sub in formula.subformulas())


def _with_weak_next(formula: Formula) -> Formula:
    """Return a safe clause as it reads on prefixes: `X a` is not yet broken where the prefix ends.

    What breaks it is said with the strong next, which the translation of bounds needs to stay small.
    """
    return negation(negation_normal_form(negation(formula)))


def standing_machine(
    formula: Formula, *, max_states: int = MAX_STATES, max_seconds: float = MAX_SECONDS
) -> RewardMachine:
    """Return the machine of a standing order, with the reward 1 for each completed round."""
    try:
        return _standing_machine(formula, Limits(max_states, max_seconds))
    except LimitReachedError as problem:
        raise too_large(formula, problem, _count) from problem


def _standing_machine(formula: Formula, limits: Limits) -> RewardMachine:
    with deep_diagrams_are_a_limit():
        clauses = sort_clauses(formula)
        watch = _watch(clauses, limits)
        return Rounds(clauses.recurrences, watch, formula.propositions(), limits).machine()


def timed_standing_machine(
    formula: Formula, *, max_states: int = MAX_STATES, max_seconds: float = MAX_SECONDS
) -> tuple[RewardMachine, ClockTable]:
    """Return the machine of a standing order with bounds in seconds, and its clocks.

    All clauses that a prefix decides are watched by one automaton with clocks. Of the others those with
    bounds in seconds are, too: a round is complete when nothing is owed.
    """
    limits = Limits(max_states, max_seconds)
    try:
        with deep_diagrams_are_a_limit():
            clauses = sort_clauses(formula)
            round_ = _one_round(clauses)
            if round_ is not None:
                found = timed_automaton(round_, limits, formula.propositions())
                machine = from_automaton(found.automaton, repeat=True)
                return machine, replace(found.clocks, repeats=True)
            on_prefixes, others = [], []
            for clause, finite in clauses.others:
                if finite is not None:
                    on_prefixes.append(finite)
                elif timed_parts(clause):
                    _check_rounds(clause)
                    on_prefixes.append(clause)
                else:
                    others.append(clause)
            found = timed_automaton(conjunction(*on_prefixes), limits, formula.propositions())
            watch = watch_finite(found.automaton)
            if others:
                rest = conjunction(*others)
                graph = best_graph(rest, limits)
                endless = watch_omega(as_automaton(graph, rest.propositions()))
                watch = watch_both(watch, endless, limits)
            names = (*formula.propositions(), *found.clocks.names)
            return Rounds(clauses.recurrences, watch, names, limits).machine(), found.clocks
    except LimitReachedError as problem:
        reason = f"the mission's machine grows too large: {problem}"
        raise UnsupportedMissionError(reason) from problem


def _one_round(clauses: Clauses) -> Formula | None:
    """Return what a round has to bring about, where that says it all; None where it does not.

    `G F a & G F b`, with a and b that a prefix decides, is "a and b, at some time, again and again": so
    the mission `F a & F b`, which starts over each time it succeeds. What must always hold is part of
    every round. Only needed where bounds in seconds stand below `G F`.
    """
    asked: list[Formula] = [Formula("F", (p,)) for p in clauses.recurrences]
    needed = False
    for clause, _ in clauses.others:
        inner = clause.operands[0] if clause.operator == "G" else clause
        if clause.operator == "G" and inner.is_boolean():
            asked.append(clause)
        elif clause.operator == "G" and inner.operator == "F" and _lacks(inner, "G", "R", "W"):
            asked.append(inner)
            needed = needed or bool(timed_parts(inner))
        else:
            return None
    return conjunction(*asked) if needed else None


def _check_rounds(clause: Formula) -> None:
    """Refuse a clause with bounds in seconds whose rounds cannot be told by prefixes."""
    below: dict[Formula, bool] = {}
    """Whether a part has something that lasts for ever in it."""
    for sub in clause.subformulas():
        lasting = any(below[operand] for operand in sub.operands)
        if sub.operator in ("F", "U", "M") and lasting:
            raise UnsupportedMissionError(
                f"'{sub}' asks for something that lasts for ever, and has bounds in seconds beside it:"
                " such a mission is only read with an end (horizon finite)"
            )
        below[sub] = lasting or sub.operator in ("G", "R", "W")
    if clause.operator == "G" and clause.operands[0].operator == "F":
        inner = clause.operands[0]
        raise UnsupportedMissionError(
            f"'{clause}' has bounds in seconds below 'G F', and stands beside clauses that are no such"
            f" patrol: give '{inner}' as a mission that repeats (--repeat)"
        )


def _watch(clauses: Clauses, limits: Limits) -> Watch:
    finite, rest = clauses.apart
    watched = None if finite is None else watch_finite(translated(finite, limits))
    if rest is None:
        assert watched is not None
        return watched
    graph = best_graph(rest, limits)
    endless = watch_omega(as_automaton(graph, rest.propositions()))
    return endless if watched is None else watch_both(watched, endless, limits)


def _count(formula: Formula, limits: Limits) -> int:
    return _standing_machine(formula, limits).num_states
