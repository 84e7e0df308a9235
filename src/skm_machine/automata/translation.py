"""From a formula to its minimal automaton on finite traces.

A state of the automaton is a Boolean function over *obligations*: for a subformula ψ, the variable
"from the next step on, ψ". Kept as decision diagrams, states that are propositionally equal are the
same node. Reading a label set replaces every obligation by what ψ asks of the current step; with the
propositions tested above the obligations, the diagram of that *is* the transition function, and the
nodes below the last proposition are the successor states. No label set is ever enumerated.

At the end of a trace every obligation is false (there is no next step), which decides acceptance; a
negated obligation is true there, which is just the weak next that `G`, `R` and `W` need.
"""

from __future__ import annotations

from typing import Final

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.bdd import ONE, ZERO, Diagrams
from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.minimise import minimise
from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.syntax import Formula, conjunction, negation

MAX_OBLIGATIONS: Final = 250
MAX_STATES: Final = 20_000


def minimal_automaton(formula: Formula) -> Automaton:
    """Return the minimal deterministic automaton of the non-empty finite traces of `formula`."""
    return _Translation(formula).automaton()


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

    def __init__(self, formula: Formula) -> None:
        self.names = formula.propositions()
        self.diagrams = Diagrams()
        self.proposition_variables = {name: index for index, name in enumerate(self.names)}
        self.obligations: dict[Formula, int] = {}
        self.obligation_formulas: list[Formula] = []
        self.expansions: dict[Formula, int] = {}
        self.successors: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        self.formula = until_form(formula)

    def automaton(self) -> Automaton:
        """Explore the states from the initial one, then merge those that accept the same."""
        initial = self._obligation(self.formula)
        transitions: dict[int, int] = {}
        frontier = [initial]
        while frontier:
            state = frontier.pop()
            if state not in transitions:
                transitions[state] = self._successor(state)
                frontier.extend(self.diagrams.below(transitions[state], len(self.names)))
            if len(transitions) > MAX_STATES:
                raise UnsupportedMissionError(
                    f"the mission needs more than {MAX_STATES} states; split it into smaller missions"
                )
        number = {state: index for index, state in enumerate(transitions)}
        accepting = [number[state] for state in transitions if self._accepts_here(state)]
        return minimise(self._table(transitions, number), number[initial], accepting)

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
                raise UnsupportedMissionError(
                    f"the mission has more than {MAX_OBLIGATIONS} temporal operators; split it"
                )
        return self.diagrams.literal(self.obligations[formula])

    def _expansion(self, formula: Formula) -> int:
        """Return what `formula` asks of the current step and, as obligations, of the next."""
        for sub in formula.subformulas():
            if sub not in self.expansions:
                operands = [self.expansions[operand] for operand in sub.operands]
                self.expansions[sub] = self.diagrams.operation(sub, operands, self._atom)
        return self.expansions[formula]

    def _atom(self, formula: Formula) -> int:
        operands = [self.expansions[operand] for operand in formula.operands]
        diagrams = self.diagrams
        match formula.operator:
            case "prop":
                return diagrams.literal(self.proposition_variables[formula.name])
            case "X":
                return self._obligation(formula.operands[0])
            case "F":
                return diagrams.disjunction(operands[0], self._obligation(formula))
            case "U":
                waiting = diagrams.conjunction(operands[0], self._obligation(formula))
                return diagrams.disjunction(operands[1], waiting)
            case operator:
                raise ValueError(f"'{operator}' is no operator of the until form")

    def _successor(self, state: int) -> int:
        """Return the function `state` with every obligation replaced by its expansion."""
        found = self.successors.get(state)
        if found is None:
            variable = self.diagrams.variable[state] - len(self.names)
            expansion = self._expansion(self.obligation_formulas[variable])
            low = self._successor(self.diagrams.low[state])
            high = self._successor(self.diagrams.high[state])
            found = self.successors[state] = self.diagrams.if_then_else(expansion, high, low)
        return found

    def _accepts_here(self, state: int) -> bool:
        """Tell whether a trace may end in `state`: is it true with every obligation false?"""
        while state > ONE:
            state = self.diagrams.low[state]
        return state == ONE
