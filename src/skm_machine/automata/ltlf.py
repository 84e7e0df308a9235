"""From a formula to its minimal automaton on finite traces.

A state of the automaton is a Boolean function over *obligations*: for a subformula ψ, the variable
"from the next step on, ψ". Kept as decision diagrams, states that are propositionally equal are the
same node. Reading a label set replaces every obligation by what ψ asks of the current step; with the
propositions tested above the obligations, the diagram of that *is* the transition function, and the
nodes below the last proposition are the successor states. No label set is ever enumerated.

At the end of a trace every obligation is false (there is no next step), which decides acceptance; a
negated obligation is true there, which is just the weak next that `G`, `R` and `W` need.

Where an automaton turns out not to be small, states are also one if they differ only where a law of
obligations is broken (ψ implies `α U ψ`): of n untils nested to the right, n + 1 states remain of 2^n.
"""

from __future__ import annotations

from typing import Final

from skm_machine.automata.dfa import Automaton, minimise
from skm_machine.automata.growth import too_large
from skm_machine.automata.limits import LimitReachedError, Limits, deep_diagrams_are_a_limit
from skm_machine.automata.mtbdd import ONE, ZERO, DecisionTable, Diagrams
from skm_machine.logic.formula import TRUE, Formula, conjunction, negation
from skm_machine.logic.normal_forms import chains_of_next, seen_through

MAX_OBLIGATIONS: Final = 12_000
MAX_STATES: Final = 20_000
MAX_SECONDS: Final = 2.0
"""So that a mission is refused within three of being asked for: Python starts, a reason is sought."""
SMALL: Final = 50_000
"""Automata with no more edges and nodes than this are explored depth first."""


def minimal_automaton(
    formula: Formula,
    *,
    through: bool = False,
    max_states: int = MAX_STATES,
    max_seconds: float = MAX_SECONDS,
) -> Automaton:
    """Return the minimal deterministic automaton of the non-empty finite traces of `formula`.

    With `through`, of the formula with its bounds seen through. A translation that would take more
    states on its way, or more seconds of computing, is refused with the clause to blame.
    """
    limits = Limits(max_states, max_seconds)
    form = seen_through if through else _as_it_is
    try:
        return translated(form(formula), limits)
    except LimitReachedError as problem:

        def count(part: Formula, trial: Limits) -> int:
            return translated(form(part), trial).num_states

        raise too_large(formula, problem, count) from problem


def _as_it_is(formula: Formula) -> Formula:
    return formula


def translated(formula: Formula, limits: Limits) -> Automaton:
    """Return the automaton: depth first while it is small, else in a way that shares more."""
    with deep_diagrams_are_a_limit():
        try:
            return _Translation(formula, limits, small=True).automaton()
        except _GrowingError:
            return _Translation(formula, limits, small=False).automaton()


class _GrowingError(Exception):
    """Raised where an automaton turns out not to be small."""


def until_form(formula: Formula) -> Formula:
    """Return an equal formula whose temporal operators are only `X`, `F` and `U`."""
    forms: dict[Formula, Formula] = {}
    for sub in formula.subformulas():
        operands = tuple(forms[operand] for operand in sub.operands)
        match sub.operator:
            case "G":
                forms[sub] = negation(_eventually(negation(operands[0])))
            case "F":
                forms[sub] = _eventually(operands[0])
            case "R":
                forms[sub] = negation(Formula("U", (negation(operands[0]), negation(operands[1]))))
            case "W":
                neither = conjunction(negation(operands[0]), negation(operands[1]))
                forms[sub] = negation(Formula("U", (negation(operands[1]), neither)))
            case "M":
                both = conjunction(operands[0], operands[1])
                forms[sub] = Formula("U", (operands[1], both))
            case "!":
                forms[sub] = negation(operands[0])
            case _:
                forms[sub] = Formula(sub.operator, operands, sub.name)
    return forms[formula]


def _eventually(formula: Formula) -> Formula:
    return formula if formula.operator == "F" else Formula("F", (formula,))


class _Translation:
    """The work of one translation: diagrams, obligations, and the states found so far."""

    def __init__(self, formula: Formula, limits: Limits, small: bool) -> None:
        self.limits = limits
        self.small = small
        self.names = formula.propositions()
        self.diagrams = Diagrams(self._check)
        self.proposition_variables = {name: index for index, name in enumerate(self.names)}
        self.obligations: dict[Formula, int] = {}
        self.obligation_formulas: list[Formula] = []
        self.expansions: dict[Formula, int] = {}
        self.successors: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        self.later: dict[Formula, int] = {}
        self.delayed: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        self.formula = until_form(formula)
        self._order_delays()
        self.care = ONE if small else self._laws()

    def _check(self) -> None:
        self.limits.check()
        if self.small and self.diagrams.size > SMALL:
            raise _GrowingError

    def automaton(self) -> Automaton:
        """Explore the states from the initial one, then merge those that accept the same."""
        initial = self._obligation(self.formula)
        transitions = self._explored(initial)
        number = {state: index for index, state in enumerate(transitions)}
        accepting = [number[state] for state in transitions if self._ends(state)]
        return minimise(self._table(transitions, number), number[initial], accepting)

    def _explored(self, initial: int) -> dict[int, int]:
        """Return the transitions of all states that can be reached.

        Where the automaton is not small, parts of diagrams that were seen before are passed over.
        """
        transitions: dict[int, int] = {}
        frontier, work = [initial], 0
        seen: set[int] | None = None if self.small else set()
        while frontier:
            state = frontier.pop()
            if state not in transitions:
                successor = self.diagrams.constrained(self._successor(state), self.care)
                transitions[state] = successor
                found = self.diagrams.below(successor, len(self.names), seen)
                frontier.extend(found)
                work += len(found)
                self.limits.check(len(transitions))
                if self.small and work > SMALL:
                    raise _GrowingError
        return transitions

    def _laws(self) -> int:
        """Return what holds of obligations on every trace: ψ implies F ψ and α U ψ."""
        laws, diagrams = ONE, self.diagrams
        for sub in self.formula.subformulas():
            if sub.operator in ("F", "U"):
                self._obligation(sub)
        for formula, variable in self.obligations.items():
            if formula.operator in ("F", "U") and formula.operands[-1] in self.obligations:
                premise = diagrams.literal(self.obligations[formula.operands[-1]])
                law = diagrams.if_then_else(premise, diagrams.literal(variable), ONE)
                laws = diagrams.conjunction(laws, law)
        return laws

    def _order_delays(self) -> None:
        """Number the obligations of long chains of X before all others, the longest delays first.

        So `F[0,n] a` is a test of the last step above `F[0,n-1] a`: the states of a bound share their
        diagrams, and each takes the work of one node.
        """
        chains = chains_of_next(self.formula)
        if chains:
            chains[TRUE] = max(chains.values())
        levels: list[list[Formula]] = [[] for _ in range(max(chains.values(), default=0))]
        for sub, delay in chains.items():
            later = sub
            for level in levels[:delay]:
                level.append(later)
                later = Formula("X", (later,))
        for formula in (formula for level in reversed(levels) for formula in level):
            self._obligation(formula)

    def _table(self, transitions: dict[int, int], number: dict[int, int]) -> DecisionTable:
        """Return the transitions with the states numbered."""
        diagrams, memo = Diagrams(), dict[int, int]()

        def leaf(node: int) -> int | None:
            is_state = self.diagrams.variable[node] >= len(self.names)
            return diagrams.leaf(number[node]) if is_state else None

        roots = tuple(
            self.diagrams.rebuild(root, diagrams, leaf, memo) for root in transitions.values()
        )
        return DecisionTable(self.names, diagrams, roots)

    def _obligation(self, formula: Formula) -> int:
        """Return the variable "from the next step on, `formula`"."""
        if formula not in self.obligations:
            self.obligations[formula] = len(self.names) + len(self.obligations)
            self.obligation_formulas.append(formula)
            if len(self.obligations) > MAX_OBLIGATIONS:
                raise LimitReachedError(
                    f"more than {MAX_OBLIGATIONS} temporal operators and steps in bounds"
                )
        return self.diagrams.literal(self.obligations[formula])

    def _expansion(self, formula: Formula) -> int:
        """Return what `formula` asks of the current step and, as obligations, of the next."""
        return self.diagrams.expanded(
            formula,
            self.expansions,
            self._atom,
            lambda found: self.diagrams.constrained(found, self.care),
        )

    def _atom(self, formula: Formula) -> int:
        operands = [self.expansions[operand] for operand in formula.operands]
        diagrams = self.diagrams
        match formula.operator:
            case "prop":
                return diagrams.literal(self.proposition_variables[formula.name])
            case "X":
                return self._later(formula.operands[0])
            case "F":
                return diagrams.disjunction(operands[0], self._obligation(formula))
            case "U":
                waiting = diagrams.conjunction(operands[0], self._obligation(formula))
                return diagrams.disjunction(operands[1], waiting)
            case operator:
                raise ValueError(f"'{operator}' is not an operator of the until form")

    def _later(self, formula: Formula) -> int:
        """Return `X formula` as a function over obligations that are Boolean, F, U, or X of another.

        X distributes over `&` and `|`, and `X !ψ` is `X true & !X ψ`. So obligations that follow from
        others by their form fall away: `X F[0,3] a` implies `X F[0,5] a`.
        """
        stack, diagrams = [formula], self.diagrams
        while stack:
            sub = stack[-1]
            if sub in self.later:
                stack.pop()
            elif sub.is_boolean() or sub.operator in ("F", "U"):
                self.later[sub] = self._obligation(sub)
            elif missing := [operand for operand in sub.operands if operand not in self.later]:
                stack += missing
            else:
                operands = [self.later[operand] for operand in sub.operands]
                if sub.operator == "X":
                    self.later[sub] = self._delayed(operands[0])
                else:
                    function = diagrams.operation(sub, operands, self._atom)
                    there_is_one = self._obligation(TRUE) if self._ends(function) else ONE
                    self.later[sub] = diagrams.conjunction(there_is_one, function)
        return self.later[formula]

    def _delayed(self, function: int) -> int:
        """Return `X function`, for a function that is false where there is no next step."""
        found = self.delayed.get(function)
        if found is None:
            diagrams = self.diagrams
            formula = self.obligation_formulas[diagrams.variable[function] - len(self.names)]
            later = self._obligation(Formula("X", (formula,)))
            low, high = (
                self._delayed(diagrams.low[function]),
                self._delayed(diagrams.high[function]),
            )
            found = self.delayed[function] = diagrams.if_then_else(later, high, low)
        return found

    def _successor(self, state: int) -> int:
        """Return the function `state` with every obligation replaced by its expansion."""
        stack, diagrams = [state], self.diagrams
        while stack:
            node = stack[-1]
            low, high = diagrams.low[node], diagrams.high[node]
            missing = [child for child in (low, high) if child not in self.successors]
            if node in self.successors:
                stack.pop()
            elif missing:
                stack += missing
            else:
                variable = diagrams.variable[node] - len(self.names)
                expansion = self._expansion(self.obligation_formulas[variable])
                self.successors[node] = diagrams.if_then_else(
                    expansion, self.successors[high], self.successors[low]
                )
        return self.successors[state]

    def _ends(self, state: int) -> bool:
        """Tell whether a trace may end in `state`: is it true with every obligation false?"""
        while state > ONE:
            state = self.diagrams.low[state]
        return state == ONE
