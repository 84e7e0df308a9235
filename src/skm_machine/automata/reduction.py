"""Smaller automata of the same language: merging what no trace tells apart.

Deterministic automata whose cycles are wholly marked or not at all have a unique smallest form (Löding,
"Efficient minimization of deterministic weak ω-automata", 2001), which is what `merge_similar` leaves.
For others, states of the same language are merged as long as the edges can still be marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skm_machine.automata.graphs import components, cyclic_components, reaching
from skm_machine.automata.mtbdd import ONE, ZERO, Diagrams

MarkedEdge = tuple[int, int, bool]
"""The label of an edge as a function of the propositions, its target, and whether it is marked."""


@dataclass
class Graph:
    """A Büchi automaton while it is worked on: state 0 is the initial one."""

    diagrams: Diagrams
    rows: list[list[MarkedEdge]]
    epsilon_transitions: list[tuple[int, ...]] = field(default_factory=list)
    """For each state, where a run may go without reading; empty if the automaton is deterministic."""

    def successors(self) -> list[list[int]]:
        """Return the states after each state, by edges and by ε-transitions."""
        found = [[target for _, target, _ in row] for row in self.rows]
        for state, targets in enumerate(self.epsilon_transitions):
            found[state] += targets
        return found

    def joined(self, edges: Sequence[MarkedEdge]) -> list[MarkedEdge]:
        """Return the edges with those of one target and mark made one."""
        labels: dict[tuple[int, bool], int] = {}
        for label, target, marked in edges:
            if label != ZERO:
                before = labels.get((target, marked), ZERO)
                labels[target, marked] = self.diagrams.disjunction(label, before)
        return [(label, target, marked) for (target, marked), label in labels.items()]

    def quotient(self, block: Sequence[int], representatives: Sequence[int]) -> Graph:
        """Return the graph of the blocks that can be reached; each has its representative's edges."""
        first = {block[state]: state for state in reversed(representatives)}
        numbers = {block[0]: 0}
        order = [block[0]]
        rows, epsilon_transitions = [], []
        for name in order:  # grows while it is walked
            state = first[name]
            for target in (
                *(t for _, t, _ in self.rows[state]),
                *self.epsilon_transitions_from(state),
            ):
                if block[target] not in numbers:
                    numbers[block[target]] = len(order)
                    order.append(block[target])
            rows.append(
                self.joined(
                    [(label, numbers[block[t]], mark) for label, t, mark in self.rows[state]]
                )
            )
            epsilon_transitions.append(
                tuple(sorted({numbers[block[t]] for t in self.epsilon_transitions_from(state)}))
            )
        return Graph(self.diagrams, rows, epsilon_transitions if self.epsilon_transitions else [])

    def epsilon_transitions_from(self, state: int) -> tuple[int, ...]:
        """Return where a run may go from `state` without reading."""
        return self.epsilon_transitions[state] if self.epsilon_transitions else ()


def with_dead_merged(graph: Graph) -> Graph:
    """Return the graph with one dead state for all that no accepting cycle follows.

    Where there are ε-transitions, runs into dead states end instead: no edge leads there.
    """
    successors = graph.successors()
    alive = set[int]()
    for cycle in cyclic_components(successors):
        inside = set(cycle)
        if any(mark and t in inside for state in cycle for _, t, mark in graph.rows[state]):
            alive |= inside
    alive |= reaching(successors, alive)
    if not alive:
        return Graph(graph.diagrams, [[(ONE, 0, False)]])
    dead = next((state for state in range(len(successors)) if state not in alive), 0)
    block = [state if state in alive else dead for state in range(len(successors))]
    rows = [
        [(ONE, dead, False)] if state not in alive else row for state, row in enumerate(graph.rows)
    ]
    if graph.epsilon_transitions:
        rows = [[edge for edge in row if edge[1] in alive] for row in graph.rows]
        epsilon_transitions = [
            tuple(t for t in targets if t in alive) for targets in graph.epsilon_transitions
        ]
        return Graph(graph.diagrams, rows, epsilon_transitions).quotient(block, range(len(rows)))
    return Graph(graph.diagrams, rows).quotient(block, range(len(rows)))


def with_plain_marks(graph: Graph) -> tuple[Graph, bool]:
    """Return the graph with marks chosen where they do not matter, and whether it is weak.

    A state outside of all cycles, or of a uniform component, is coloured like what follows it as long
    as that is possible (Löding's colouring); all edges from it have the mark of its colour.
    """
    successors = graph.successors()
    colour = [0] * len(successors)
    rows = list(graph.rows)
    weak = True
    for component in components(successors):
        inside = set(component)
        marks = {mark for state in component for _, t, mark in graph.rows[state] if t in inside}
        rank = max(
            (colour[t] for s in component for t in successors[s] if t not in inside), default=0
        )
        uniform = len(marks) < 2
        if marks and rank % 2 != int(marks == {False}):
            rank += 1
        weak &= uniform
        for state in component:
            colour[state] = rank
            rows[state] = graph.joined(
                [
                    (label, t, rank % 2 == 0 if uniform else mark and t in inside)
                    for label, t, mark in graph.rows[state]
                ]
            )
    return Graph(graph.diagrams, rows, graph.epsilon_transitions), weak


def merge_similar(graph: Graph) -> Graph:
    """Return the graph with states merged whose edges, marks included, lead to merged states."""
    block = [0] * len(graph.rows)
    count = 1
    while True:
        names: dict[object, int] = {}
        finer = []
        for state, row in enumerate(graph.rows):
            labels: dict[tuple[int, bool], int] = {}
            for label, target, marked in row:
                key = (block[target], marked)
                before = labels.get(key)
                labels[key] = label if before is None else graph.diagrams.disjunction(label, before)
            epsilon_transitions = frozenset(
                block[target] for target in graph.epsilon_transitions_from(state)
            )
            name = (block[state], frozenset(labels.items()), epsilon_transitions)
            finer.append(names.setdefault(name, len(names)))
        block = finer
        if len(names) == count:
            return graph.quotient(block, range(len(block)))
        count = len(names)
