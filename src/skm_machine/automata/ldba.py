"""All of LTL over infinite traces: deterministic automata, else limit-deterministic ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from skm_machine.automata.buchi import (
    Acceptor,
    AcceptorState,
    Marking,
    Marks,
    Residue,
    Structure,
    accompanied,
    conjunction_of,
    disjunction_of,
    following,
    merge_equivalent,
    recurrence_graph,
    waiting,
)
from skm_machine.automata.graphs import components, reachable
from skm_machine.automata.growth import too_large
from skm_machine.automata.limits import (
    LimitReachedError,
    Limits,
    TooManyStatesError,
    deep_diagrams_are_a_limit,
)
from skm_machine.automata.mtbdd import ONE, ZERO, DecisionTable
from skm_machine.automata.omega import MARK, Move, OmegaAutomaton
from skm_machine.automata.reduction import (
    Graph,
    MarkedEdge,
    merge_similar,
    with_dead_merged,
    with_plain_marks,
)
from skm_machine.automata.residuals import Residuals
from skm_machine.logic.formula import Formula, conjunction
from skm_machine.logic.normal_forms import negation_normal_form

# From a formula to an automaton on infinite traces: deterministic where that is found.
#
# The residuals of the formula are a deterministic structure. Components of it on which marks can
# tell what is accepted (`marking`) get them; if all do, the automaton is deterministic. From
# every other component, runs move by ε-transitions to the acceptors of commitments (`commitments`): a
# limit-deterministic automaton, as in Sickert, Esparza, Jaax and Křetínský (CAV 2016).


MAX_COMPARED: Final = 24
"""Residuals that are compared by the traces that satisfy them; more take too long."""

MAX_FOLLOWED: Final = 4
"""How many commitments are tried for a deterministic automaton that follows one."""

DELAYS: Final = 2
"""How often it is tried whether later ε-transitions make a smaller automaton."""


class Translation:
    """The work of one translation; where `plain`, without looking for a small or deterministic one."""

    def __init__(self, names: tuple[str, ...], limits: Limits, plain: bool = False) -> None:
        self.limits = limits
        self.plain = plain
        self.residuals = Residuals(names, limits)
        self.marking = Marking(self.residuals)

    def graph(self, formula: Formula) -> Graph:
        """Return a small Büchi automaton of `formula`.

        It has ε-transitions unless it is deterministic.
        """
        if self.plain:
            structure = residual_structure(self.residuals, self.residuals.function(formula))
            graph = with_epsilon_transitions(
                self.marking, structure, self.marking.marks(structure, search=False)
            )
            return merge_similar(with_plain_marks(with_dead_merged(graph))[0])
        parts = clauses(formula)
        groups = self._groups(parts) if len(parts) > 1 else []
        composed = self._composed("&", groups) if len(groups) > 1 else None
        if composed is not None:
            return composed
        structure = residual_structure(self.residuals, self.residuals.function(formula))
        marks = self.marking.marks(structure)
        if not marks.unmarked:
            return reduced(marked_graph(self.residuals, structure, marks), self.limits)
        if len(parts) == 1 and parts[0].operator == "|":
            disjuncts = parts[0].operands
            composed = self.limits.attempt(lambda: self._composed("|", disjuncts))
            if composed is not None:
                return composed
        deterministic = self.limits.attempt(lambda: self._finer(structure, marks))
        if deterministic is None:
            recurrence = self.limits.attempt(lambda: recurrence_graph(formula, self.limits))
            deterministic = recurrence and reduced(recurrence, self.limits)
        return deterministic or self._limit_deterministic(structure, marks)

    def _finer(self, structure: Structure, marks: Marks) -> Graph | None:
        """Return a deterministic automaton whose states know more than their residuals, if found.

        They follow one commitment, anew each time that it is broken. Or they know what the residual
        still waits for, if all that may last does.
        """
        unmarked = {state for component in marks.unmarked for state in component.states}
        companions = []
        acceptors = {
            acceptor: None
            for component in marks.unmarked
            for starts in component.epsilon_transitions.values()
            for acceptor, _ in starts
        }
        if len(acceptors) <= MAX_FOLLOWED:
            companions = [following(self.marking, structure, acceptor) for acceptor in acceptors]
        for companion in (*companions, waiting(self.marking, structure)):
            finer = self.limits.attempt(
                partial(accompanied, self.residuals, structure, unmarked, companion)
            )
            marks_found = finer and self.limits.attempt(partial(self.marking.marks, finer))
            if finer and marks_found and not marks_found.unmarked:
                return reduced(marked_graph(self.residuals, finer, marks_found), self.limits)
        return None

    def _limit_deterministic(self, structure: Structure, marks: Marks) -> Graph:
        """Return an automaton with ε-transitions, the smallest of some that take them soon or late."""
        if len(structure.rows) <= MAX_COMPARED:
            structure, marks = self.limits.attempt(lambda: self._merged(structure, marks)) or (
                structure,
                marks,
            )
        graph = with_epsilon_transitions(self.marking, structure, marks)
        best = self.limits.attempt(lambda: self._smallest(graph, marks))
        return best or merge_similar(with_dead_merged(graph))

    def _merged(self, structure: Structure, marks: Marks) -> tuple[Structure, Marks]:
        merged = merged_residuals(structure, marks, Residue(self.marking))
        return merged, self.marking.marks(merged)

    def _smallest(self, graph: Graph, marks: Marks) -> Graph:
        best = reduced(graph, self.limits)
        for _ in range(DELAYS if graph.epsilon_transitions else 0):
            graph = delayed_epsilon(graph, marks)
            later = reduced(graph, self.limits)
            if len(later.rows) < len(best.rows):
                best = later
        return best

    def _groups(self, parts: Sequence[Formula]) -> list[Formula]:
        """Return the clauses, with those that are obligation properties joined, and at the end."""
        is_weak = {
            part: self.marking.loops.is_obligation(self.residuals.function(part)) for part in parts
        }
        weak = [part for part in parts if is_weak[part]]
        groups = [part for part in parts if not is_weak[part]]
        return [*groups, conjunction(*weak)] if len(groups) > 1 else []

    def _composed(self, operator: str, parts: Sequence[Formula]) -> Graph | None:
        """Return the product of the parts' automata, if all of them are deterministic."""
        graphs = []
        for part in parts:
            graphs.append(self.graph(part))
            if graphs[-1].epsilon_transitions:
                return None
        if operator == "&":
            product = conjunction_of(graphs[-1], graphs[:-1], self.limits)
        else:
            product = disjunction_of(graphs, self.limits)
        return reduced(product, self.limits)


def clauses(formula: Formula) -> list[Formula]:
    """Return the conjuncts of a formula, also below G and X."""
    found: list[Formula] = []
    stack: list[tuple[tuple[str, ...], Formula]] = [((), negation_normal_form(formula))]
    while stack:
        above, sub = stack.pop()
        if sub.operator == "&":
            stack += [(above, operand) for operand in reversed(sub.operands)]
        elif sub.operator in ("G", "X"):
            stack.append(((*above, sub.operator), sub.operands[0]))
        else:
            for operator in reversed(above):
                sub = Formula(operator, (sub,))
            found.append(sub)
    return list(dict.fromkeys(found))


def residual_structure(residuals: Residuals, initial: int) -> Structure:
    """Return the structure of all residuals that can follow the function `initial`.

    Those are one that only differ where a law of the obligations is broken, and those that are true
    or false by these laws are that: words that stay in a component never make its residuals either.
    """
    residuals.learn_laws()
    name = residuals.lawful(initial)
    numbers = {name: 0}
    functions = [name if name <= ONE else initial]
    rows = []
    for function in functions:  # grows while it is walked
        row = []
        for label, target in residuals.edges(function):
            name = residuals.lawful(target)
            if name not in numbers:
                numbers[name] = len(functions)
                functions.append(name if name <= ONE else target)
                residuals.limits.check(len(functions))
            row.append((label, numbers[name]))
        rows.append(row)
    return Structure(functions, rows)


def merged_residuals(structure: Structure, marks: Marks, residue: Residue) -> Structure:
    """Return the structure with equal residuals merged, except those whose edges are marked.

    Where a class has states in several components, those of the last one stand for all. What no
    trace satisfies becomes false, and what every trace does, true.
    """
    classes = residue.classes([ZERO, ONE, *structure.functions])[2:]
    unmarked = {state for component in marks.unmarked for state in component.states}
    place = {
        state: index
        for index, component in enumerate(components(structure.successors()))
        for state in component
    }
    last: dict[int, int] = {}
    for state, name in enumerate(classes):
        if name not in last or place[state] < place[last[name]]:
            last[name] = state
    block = [
        last[name]
        if name <= ONE or place[state] != place[last[name]] or last[name] in unmarked
        else state
        for state, name in enumerate(classes)
    ]
    rows_of = [
        [(ONE, state)] if classes[state] <= ONE else row for state, row in enumerate(structure.rows)
    ]
    order = reachable(block[0], lambda state: [block[t] for _, t in rows_of[state]])
    number = {state: index for index, state in enumerate(order)}
    rows = [[(label, number[block[t]]) for label, t in rows_of[state]] for state in order]
    functions = [
        classes[state] if classes[state] <= ONE else structure.functions[state] for state in order
    ]
    return Structure(functions, rows)


def delayed_epsilon(graph: Graph, marks: Marks) -> Graph:
    """Return the automaton with every ε-transition put off by one step: to where it would be by then."""
    component_of = {
        state: index for index, component in enumerate(marks.unmarked) for state in component.states
    }
    epsilon_transitions: list[dict[int, None]] = [{} for _ in graph.rows]
    for state, targets in enumerate(graph.epsilon_transitions):
        for label, after, _ in graph.rows[state] if targets else ():
            if component_of.get(after) != component_of[state]:
                continue
            for target in targets:
                for other, reached, _ in graph.rows[target]:
                    if graph.diagrams.conjunction(label, other) != ZERO:
                        epsilon_transitions[after][reached] = None
    return Graph(graph.diagrams, graph.rows, [tuple(targets) for targets in epsilon_transitions])


def marked_graph(residuals: Residuals, structure: Structure, marks: Marks) -> Graph:
    """Return the structure with its marks."""
    conjunction, negation = residuals.diagrams.conjunction, residuals.diagrams.negation
    rows: list[list[MarkedEdge]] = []
    for row, marked in zip(structure.rows, marks.labels, strict=True):
        unmarked = negation(marked)
        edges = [(conjunction(label, marked), target, True) for label, target in row]
        edges += [(conjunction(label, unmarked), target, False) for label, target in row]
        rows.append([edge for edge in edges if edge[0] != ZERO])
    return Graph(residuals.diagrams, rows)


def with_epsilon_transitions(marking: Marking, structure: Structure, marks: Marks) -> Graph:
    """Return the structure with its marks, and ε-transitions from the components that have none."""
    graph = marked_graph(marking.residuals, structure, marks)
    if not marks.unmarked:
        return graph
    numbers: dict[tuple[Acceptor, AcceptorState], int] = {}
    epsilon_transitions: list[tuple[int, ...]] = [()] * len(graph.rows)

    def number(acceptor: Acceptor, pending: AcceptorState) -> int:
        return numbers.setdefault((acceptor, pending), len(structure.rows) + len(numbers))

    for component in marks.unmarked:
        for state, starts in component.epsilon_transitions.items():
            epsilon_transitions[state] = tuple(number(*start) for start in starts)
    done = 0
    while done < len(numbers):
        for acceptor, pending in list(numbers)[done:]:
            done += 1
            marking.residuals.limits.check(len(graph.rows))
            graph.rows.append(
                [
                    (label, number(acceptor, target), marked)
                    for label, target, marked in acceptor.edges(pending)
                ]
            )
    graph.epsilon_transitions = epsilon_transitions + [()] * (
        len(graph.rows) - len(epsilon_transitions)
    )
    return graph


def reduced(graph: Graph, limits: Limits) -> Graph:
    """Return a small graph of the same language."""
    graph, weak = with_plain_marks(with_dead_merged(graph))
    graph = merge_similar(graph)
    if weak and not graph.epsilon_transitions:
        return graph
    return limits.attempt(lambda: merge_equivalent(graph, limits)) or graph


# All of LTL over infinite traces: from a formula to its automaton, within limits.


MAX_STATES: Final = 5_000
MAX_SECONDS: Final = 6.0


def omega_automaton(
    formula: Formula, *, max_states: int = MAX_STATES, max_seconds: float = MAX_SECONDS
) -> OmegaAutomaton:
    """Return a Büchi automaton of the infinite traces that satisfy `formula`.

    See `skm_machine.translate_omega`.
    """
    try:
        with deep_diagrams_are_a_limit():
            graph = best_graph(formula, Limits(max_states, max_seconds))
            return as_automaton(graph, formula.propositions())
    except LimitReachedError as problem:
        raise too_large(formula, problem, _count) from problem


def best_graph(formula: Formula, limits: Limits) -> Graph:
    """Return the automaton; a plain one if looking for a better one takes too much."""
    names = formula.propositions()
    half = limits.half()
    try:
        graph = Translation(names, half).graph(formula)
        half.deadline = limits.deadline  # later steps on its diagrams have the full time
        return graph
    except TooManyStatesError:
        raise
    except LimitReachedError:
        return Translation(names, limits, plain=True).graph(formula)


def _count(formula: Formula, limits: Limits) -> int:
    with deep_diagrams_are_a_limit():
        return len(Translation(formula.propositions(), limits).graph(formula).rows)


def as_automaton(graph: Graph, names: tuple[str, ...]) -> OmegaAutomaton:
    """Return the graph as an automaton, with diagrams of its own."""
    diagrams = graph.diagrams
    outcomes: dict[tuple[Move, ...], int] = {} if not graph.epsilon_transitions else {(): 0}
    roots = []
    for row in graph.rows:
        root = diagrams.leaf(0)
        for label, target, marked in row:
            moves = (Move(target, MARK if marked else frozenset()),)
            leaf = diagrams.leaf(outcomes.setdefault(moves, len(outcomes)))
            root = diagrams.if_then_else(label, leaf, root)
        roots.append(root)
    table = DecisionTable(names, diagrams, tuple(roots)).mapped(range(len(roots)), int)
    return OmegaAutomaton(table, tuple(outcomes), 0, tuple(graph.epsilon_transitions))
