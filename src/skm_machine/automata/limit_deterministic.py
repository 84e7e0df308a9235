"""From a formula to an automaton on infinite traces: deterministic where that is found.

The residuals of the formula are a deterministic structure. Components of it on which marks can tell
what is accepted (`marking`) get them; if all do, the automaton is deterministic. From every other
component, runs jump to the acceptors of promises (`promises`): a limit-deterministic automaton, as in
Sickert, Esparza, Jaax and Křetínský (CAV 2016).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from skm_machine.automata.acceptors import Acceptor, Debt
from skm_machine.automata.bdd import ZERO
from skm_machine.automata.equivalence import merge_equivalent
from skm_machine.automata.limits import Limits
from skm_machine.automata.marking import Marking, Marks, Structure, entry_states
from skm_machine.automata.products import conjunction_of, disjunction_of
from skm_machine.automata.reachability import components, reachable
from skm_machine.automata.reduction import (
    Graph,
    MarkedEdge,
    merge_similar,
    with_dead_merged,
    with_plain_marks,
)
from skm_machine.automata.residuals import Residuals
from skm_machine.automata.satisfiability import Residue
from skm_machine.logic.normal_form import negation_normal_form
from skm_machine.logic.syntax import Formula, conjunction

MAX_COMPARED: Final = 24
"""Residuals that are compared by the traces that satisfy them; more take too long."""

MAX_FOLLOWED: Final = 4
MAX_FINER: Final = 100
"""How many promises are tried for a deterministic automaton that follows one, and up to which size."""

DELAYS: Final = 2
"""How often it is tried whether later jumps make a smaller automaton."""


class Translation:
    """The work of one translation."""

    def __init__(self, names: tuple[str, ...], limits: Limits) -> None:
        self.limits = limits
        self.residuals = Residuals(names, limits)
        self.marking = Marking(self.residuals)

    def graph(self, formula: Formula) -> Graph:
        """Return a small Büchi automaton of `formula`; it has jumps unless it is deterministic."""
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
            composed = self._composed("|", list(parts[0].operands))
            if composed is not None:
                return composed
        finer = self._finer(structure, marks)
        return finer or self._limit_deterministic(structure, marks)

    def _finer(self, structure: Structure, marks: Marks) -> Graph | None:
        """Return a deterministic automaton whose states also follow one promise, if there is one."""
        unmarked = {state for component in marks.unmarked for state in component}
        acceptors = {
            acceptor: None
            for state in unmarked
            for acceptor, _ in self.marking.starts(structure.functions[state])
        }
        for acceptor in acceptors if len(acceptors) <= MAX_FOLLOWED else ():
            finer = following(self.marking, structure, unmarked, acceptor)
            if len(finer.functions) > MAX_FINER:
                continue
            finer_marks = self.marking.marks(finer)
            if not finer_marks.unmarked:
                return reduced(marked_graph(self.residuals, finer, finer_marks), self.limits)
        return None

    def _limit_deterministic(self, structure: Structure, marks: Marks) -> Graph:
        """Return an automaton with jumps, the smallest of some that jump sooner or later."""
        if len(structure.rows) <= MAX_COMPARED:
            structure = merged_residuals(structure, marks, Residue(self.marking))
            marks = self.marking.marks(structure)
        graph = with_jumps(self.marking, structure, marks)
        best = reduced(graph, self.limits)
        for _ in range(DELAYS):
            graph = jumping_later(graph, marks)
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
            if graphs[-1].jumps:
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
    """Return the structure of all residuals that can follow the function `initial`."""
    laws = residuals.laws()
    numbers = {residuals.diagrams.constrained(initial, laws): 0}
    functions = [initial]
    rows = []
    for function in functions:  # grows while it is walked
        row = []
        for label, target in residuals.edges(function):
            name = residuals.diagrams.constrained(target, laws)
            if name not in numbers:
                numbers[name] = len(functions)
                functions.append(target)
                residuals.limits.check(len(functions))
            row.append((label, numbers[name]))
        rows.append(row)
    return Structure(functions, rows)


def merged_residuals(structure: Structure, marks: Marks, residue: Residue) -> Structure:
    """Return the structure with equal residuals merged, but for those whose edges are marked.

    Where a class has states in several components, those of the last one stand for all.
    """
    classes = residue.classes(structure.functions)
    unmarked = {state for component in marks.unmarked for state in component}
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
        last[name] if place[state] != place[last[name]] or last[name] in unmarked else state
        for state, name in enumerate(classes)
    ]
    order = reachable(block[0], lambda state: [block[t] for _, t in structure.rows[state]])
    number = {state: index for index, state in enumerate(order)}
    rows = [[(label, number[block[t]]) for label, t in structure.rows[s]] for s in order]
    return Structure([structure.functions[state] for state in order], rows)


def jumping_later(graph: Graph, marks: Marks) -> Graph:
    """Return the automaton with every jump put off by one step: to where it would be by then."""
    component_of = {
        state: index for index, component in enumerate(marks.unmarked) for state in component
    }
    jumps: list[dict[int, None]] = [{} for _ in graph.rows]
    for state, targets in enumerate(graph.jumps):
        for label, after, _ in graph.rows[state] if targets else ():
            if component_of.get(after) != component_of[state]:
                continue
            for target in targets:
                for other, reached, _ in graph.rows[target]:
                    if graph.diagrams.conjunction(label, other) != ZERO:
                        jumps[after][reached] = None
    return Graph(graph.diagrams, graph.rows, [tuple(targets) for targets in jumps])


def following(
    marking: Marking, structure: Structure, unmarked: Collection[int], acceptor: Acceptor
) -> Structure:
    """Return the structure in step with one acceptor, in the states in `unmarked`.

    Where the acceptor's run ends it starts anew, with the promise for the residual of that moment.
    """
    residuals = marking.residuals

    def start(state: int) -> Debt | None:
        found = marking.starts(structure.functions[state]) if state in unmarked else []
        return next((debt for other, debt in found if other is acceptor), None)

    numbers = {(0, start(0)): 0}
    order = list(numbers)
    rows = []
    for state, debt in order:  # grows while it is walked
        residuals.limits.check(len(order))
        row: dict[tuple[int, Debt | None], int] = {}
        for label, target in structure.rows[state]:
            rest = label
            edges = acceptor.edges(debt) if debt is not None and target in unmarked else []
            parts = [(other, after) for other, after, _ in edges]
            for other, after in parts:
                row[target, after] = residuals.diagrams.disjunction(
                    row.get((target, after), ZERO), residuals.diagrams.conjunction(label, other)
                )
                rest = residuals.diagrams.conjunction(rest, residuals.diagrams.negation(other))
            anew = (target, start(target))
            row[anew] = residuals.diagrams.disjunction(row.get(anew, ZERO), rest)
        for node, label in row.items():
            if label != ZERO and node not in numbers:
                numbers[node] = len(order)
                order.append(node)
        rows.append([(label, numbers[node]) for node, label in row.items() if label != ZERO])
        if len(order) > MAX_FINER:
            break
    return Structure([structure.functions[state] for state, _ in order], rows)


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


def with_jumps(marking: Marking, structure: Structure, marks: Marks) -> Graph:
    """Return the structure with its marks, and jumps from the components that have none."""
    graph = marked_graph(marking.residuals, structure, marks)
    numbers: dict[tuple[Acceptor, Debt], int] = {}
    jumps: list[tuple[int, ...]] = [()] * len(graph.rows)

    def number(acceptor: Acceptor, debt: Debt) -> int:
        return numbers.setdefault((acceptor, debt), len(structure.rows) + len(numbers))

    for component in marks.unmarked:
        for state in entry_states(structure, component):
            starts = marking.starts(structure.functions[state])
            jumps[state] = tuple(number(*start) for start in starts)
    done = 0
    while done < len(numbers):
        for acceptor, debt in list(numbers)[done:]:
            done += 1
            marking.residuals.limits.check(len(graph.rows))
            graph.rows.append(
                [
                    (label, number(acceptor, target), marked)
                    for label, target, marked in acceptor.edges(debt)
                ]
            )
    graph.jumps = jumps + [()] * (len(graph.rows) - len(jumps))
    return graph


def reduced(graph: Graph, limits: Limits) -> Graph:
    """Return a small graph of the same language."""
    graph, weak = with_plain_marks(with_dead_merged(graph))
    graph = merge_similar(graph)
    if weak and not graph.jumps:
        return graph
    return merge_equivalent(graph, limits)
