"""From a formula to an automaton on infinite traces: deterministic where that is found.

The residuals of the formula are a deterministic structure. Components of it on which marks can tell
what is accepted (`marking`) get them; if all do, the automaton is deterministic. From every other
component, runs jump to the acceptors of promises (`promises`): a limit-deterministic automaton, as in
Sickert, Esparza, Jaax and Křetínský (CAV 2016).
"""

from __future__ import annotations

from skm_machine.automata.acceptors import Acceptor, Debt
from skm_machine.automata.bdd import ZERO
from skm_machine.automata.equivalence import merge_equivalent
from skm_machine.automata.limits import Limits
from skm_machine.automata.marking import Marking, Marks, Structure, entry_states
from skm_machine.automata.reduction import (
    Graph,
    MarkedEdge,
    merge_similar,
    with_dead_merged,
    with_plain_marks,
)
from skm_machine.automata.residuals import Residuals
from skm_machine.logic.syntax import Formula


class Translation:
    """The work of one translation."""

    def __init__(self, names: tuple[str, ...], limits: Limits) -> None:
        self.limits = limits
        self.residuals = Residuals(names, limits)
        self.marking = Marking(self.residuals)

    def graph(self, formula: Formula) -> Graph:
        """Return a small Büchi automaton of `formula`; it has jumps unless it is deterministic."""
        structure = residual_structure(self.residuals, self.residuals.function(formula))
        marks = self.marking.marks(structure)
        if marks.unmarked:
            return reduced(with_jumps(self.marking, structure, marks), self.limits)
        return reduced(marked_graph(self.residuals, structure, marks), self.limits)


def residual_structure(residuals: Residuals, initial: int) -> Structure:
    """Return the structure of all residuals that can follow the function `initial`."""
    numbers = {initial: 0}
    functions = [initial]
    rows = []
    for function in functions:  # grows while it is walked
        row = []
        for label, target in residuals.edges(function):
            if target not in numbers:
                numbers[target] = len(functions)
                functions.append(target)
                residuals.limits.check(len(functions))
            row.append((label, numbers[target]))
        rows.append(row)
    return Structure(functions, rows)


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
    if weak or graph.jumps:
        return graph
    return merge_equivalent(graph, limits)
