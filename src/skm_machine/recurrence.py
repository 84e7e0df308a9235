"""Missions with no end: `G F a & G F b & G !c`, `F G a`, and what may go with them.

Such a mission is a conjunction of
- recurrences `G F p`: p again and again;
- persistences `F G q`: q from some step on;
- clauses that a finite prefix decides: syntactically safe (`G !c`) or co-safe (`F(a & X F b)`).

Its machine goes in rounds. Once the co-safe clauses are fulfilled, a round is complete when every p has
been seen, in any order, and q held all along; a step without q starts the round anew. Completing a
round is the accepting visit that is counted; breaking a safe clause fails for good. A run satisfies the
mission exactly if it completes infinitely many rounds and lacks q only finitely often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.bdd import Diagrams
from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.growth import too_large
from skm_machine.automata.limits import LimitReachedError, Limits
from skm_machine.automata.translation import MAX_SECONDS, MAX_STATES, minimal_automaton
from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.normal_form import negation_normal_form
from skm_machine.logic.syntax import TRUE, Formula, conjunction, negation
from skm_machine.reward_machine import Outcome, RewardMachine

WAY_OUT: Final = (
    "Supported without end: conjunctions of G F p and F G q (p, q Boolean) and of clauses that are safe "
    "or co-safe. Way out: give a deterministic Büchi automaton as a HOA file (with Spot: "
    "ltl2tgba --deterministic --buchi FORMULA), or read the formula over finite traces "
    "(horizon 'finite')."
)


@dataclass(frozen=True)
class Clauses:
    """A mission without end, sorted into its clauses."""

    recurrences: tuple[Formula, ...]
    persistence: Formula
    finite: Formula


def is_endless(formula: Formula) -> bool:
    """Tell whether `formula` says G F or F G: over finite traces, both would only mean "at the end"."""
    return any(
        (sub.operator == "G" and _contains(sub, through=("G", "&"), operator="F"))
        or (sub.operator == "F" and _contains(sub, through=("F", "|"), operator="G"))
        for sub in negation_normal_form(formula).subformulas()
    )


def _contains(formula: Formula, through: tuple[str, ...], operator: str) -> bool:
    stack = list(formula.operands)
    while stack:
        sub = stack.pop()
        if sub.operator == operator:
            return True
        if sub.operator in through:
            stack.extend(sub.operands)
    return False


def sort_clauses(formula: Formula) -> Clauses:
    """Sort the conjuncts of a mission without end, or say which of them is not supported."""
    recurrences: list[Formula] = []
    persistences: list[Formula] = []
    finite: list[Formula] = []
    stack = [negation_normal_form(formula)]
    while stack:
        clause = _without_repetition(stack.pop())
        inner = clause.operands[0] if len(clause.operands) == 1 else clause
        if clause.operator == "&":
            stack.extend(reversed(clause.operands))
        elif clause.operator == "G" and inner.operator == "&":
            stack.extend(Formula("G", (operand,)) for operand in reversed(inner.operands))
        elif clause.operator == "G" and inner.operator == "F" and inner.operands[0].is_boolean():
            recurrences.append(inner.operands[0])
        elif clause.operator == "F" and inner.operator == "G" and inner.operands[0].is_boolean():
            persistences.append(inner.operands[0])
        elif _lacks(clause, "G", "R", "W"):
            finite.append(clause)
        elif _lacks(clause, "F", "U", "M"):
            finite.append(_with_weak_next(clause))
        else:
            raise UnsupportedMissionError(f"no machine for the clause '{clause}'. {WAY_OUT}")
    return Clauses(tuple(recurrences), conjunction(*persistences), conjunction(*finite))


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
    """Return a safe clause as it reads on prefixes: `X a` is not yet broken where the prefix ends."""
    forms: dict[Formula, Formula] = {}
    for sub in formula.subformulas():
        operands = tuple(forms[operand] for operand in sub.operands)
        if sub.operator == "X":
            forms[sub] = negation(Formula("X", (negation(operands[0]),)))
        else:
            forms[sub] = Formula(sub.operator, operands, sub.name)
    return forms[formula]


def recurrence_machine(formula: Formula) -> RewardMachine:
    """Return the machine of a mission without end, with the reward 1 for each completed round."""
    try:
        return _recurrence_machine(formula, Limits(MAX_STATES, MAX_SECONDS))
    except LimitReachedError as problem:
        raise too_large(formula, problem, _count) from problem


def _recurrence_machine(formula: Formula, limits: Limits) -> RewardMachine:
    clauses = sort_clauses(formula)
    names = formula.propositions()
    return _Rounds(clauses, minimal_automaton(clauses.finite), names).machine(limits)


def _count(formula: Formula, limits: Limits) -> int:
    return _recurrence_machine(formula, limits).num_states


class _Rounds:
    """The product of the finite part's automaton with the set of recurrences seen in this round."""

    def __init__(self, clauses: Clauses, finite: Automaton, names: tuple[str, ...]) -> None:
        self.finite = finite
        self.names = names
        self.diagrams = Diagrams()
        self.recurrences = [self._function(p) for p in clauses.recurrences or (TRUE,)]
        self.persistence = self._function(clauses.persistence)
        self.outcomes: dict[Outcome, int] = {}
        self.states: list[tuple[int, frozenset[int]]] = []
        self.numbers: dict[tuple[int, frozenset[int]], int] = {}
        self.rounds: dict[tuple[int, frozenset[int], int], int] = {}

    def _function(self, formula: Formula) -> int:
        return self.diagrams.of_formula(
            formula, lambda atom: self.diagrams.literal(self.names.index(atom.name))
        )

    def machine(self, limits: Limits) -> RewardMachine:
        """Explore the product from its initial state."""
        self._number(self.finite.initial, frozenset())
        roots = []
        for state in self.states:  # grows while it is walked
            roots.append(self._root(*state))
            limits.check(len(roots))
        table = DecisionTable(self.names, self.diagrams, tuple(roots))
        terminal = frozenset(
            number for number, (state, _) in enumerate(self.states) if state in self.finite.dead
        )
        return RewardMachine(table, tuple(self.outcomes), 0, terminal, endless=True)

    def _number(self, finite_state: int, seen: frozenset[int]) -> int:
        """Return the number of a product state; states with the same future share it."""
        state = (self.finite.table.same_as(finite_state), seen)
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    def _leaf(self, finite_state: int, seen: frozenset[int]) -> int:
        """Return the leaf that leads to a product state, with the reward if it completes a round."""
        complete = len(seen) == len(self.recurrences)
        target = self._number(finite_state, frozenset() if complete else seen)
        outcome = Outcome(target, float(complete))
        return self.diagrams.leaf(self.outcomes.setdefault(outcome, len(self.outcomes)))

    def _root(self, finite_state: int, seen: frozenset[int]) -> int:
        """Return the diagram of one product state."""
        root = self.diagrams.leaf(0)
        for target, label in self.finite.table.edges(finite_state).items():
            if target in self.finite.accepting:
                branch = self.diagrams.if_then_else(
                    self.persistence,
                    self._round(target, seen, 0),
                    self._leaf(target, frozenset()),
                )
            else:
                branch = self._leaf(target, frozenset())
            root = self.diagrams.if_then_else(self._function(label), branch, root)
        return root

    def _round(
        self,
        target: int,
        seen: frozenset[int],
        index: int,
    ) -> int:
        """Return the diagram that adds to `seen` every recurrence from `index` on that holds now."""
        if index == len(self.recurrences):
            return self._leaf(target, seen)
        key = (target, seen, index)
        if key not in self.rounds:
            self.rounds[key] = self.diagrams.if_then_else(
                self.recurrences[index],
                self._round(target, seen | {index}, index + 1),
                self._round(target, seen, index + 1),
            )
        return self.rounds[key]
