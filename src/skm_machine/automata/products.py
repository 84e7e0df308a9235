"""Deterministic Büchi automata of conjunctions and disjunctions, from those of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skm_machine.automata.bdd import ONE, ZERO, Diagrams
from skm_machine.automata.limits import Limits
from skm_machine.automata.reduction import Graph, MarkedEdge

_Step = tuple[int, tuple[int, ...], bool]
"""A label, the state of the product that it leads to, and whether that edge is marked."""

_Combined = tuple[int, tuple[int, ...], tuple[bool, ...]]
"""A label, the parts' targets, and which parts have a mark on it."""


def conjunction_of(weak: Graph | None, parts: Sequence[Graph], limits: Limits) -> Graph:
    """Return the automaton of all of `parts`, and of `weak`, whose cycles are marked wholly or not.

    The turn goes round the parts, and on from each at its marked edges, over several in one step
    where all of them are marked. An edge at which it has gone round is marked, if that of `weak` is.
    """
    graphs = [*parts, weak] if weak else list(parts)
    product = _Product(graphs, limits)

    def edges(state: tuple[int, ...]) -> list[_Step]:
        turn, *states = state
        found: list[_Step] = []
        for label, targets, marks in product.combined(tuple(states)):
            if product.dead_in(targets):
                found.append((label, product.dead, False))
                continue
            passed = turn
            while passed < len(parts) and marks[passed]:
                passed += 1
            round_done = passed == len(parts)
            marked = round_done and (weak is None or marks[-1])
            found.append((label, (0 if round_done else passed, *targets), marked))
        return found

    return product.graph((0, *(0 for _ in graphs)), edges)


def disjunction_of(parts: Sequence[Graph], limits: Limits) -> Graph:
    """Return the automaton of one of `parts` at least: marked where one of them is."""
    product = _Product(parts, limits)

    def edges(state: tuple[int, ...]) -> list[_Step]:
        return [(label, to, any(marks)) for label, to, marks in product.combined(state)]

    return product.graph(tuple(0 for _ in parts), edges)


class _Product:
    """Automata that read the same trace side by side."""

    def __init__(self, graphs: Sequence[Graph], limits: Limits) -> None:
        self.graphs = graphs
        self.limits = limits
        self.diagrams: Diagrams = graphs[0].diagrams
        self.dead_states = [
            {state for state, row in enumerate(graph.rows) if row == [(ONE, state, False)]}
            for graph in graphs
        ]
        self.dead = (-1,)
        self._memo: dict[tuple[int, ...], list[_Combined]] = {(): [(ONE, (), ())]}

    def dead_in(self, states: Sequence[int]) -> bool:
        """Tell whether one of the automata is in its dead state."""
        return any(s in dead for s, dead in zip(states, self.dead_states, strict=True))

    def combined(self, states: tuple[int, ...]) -> list[_Combined]:
        """Return the edges from a state of each automaton, with labels that exclude each other."""
        found = self._memo.get(states)
        if found is None:
            *before, last = states
            found = [
                (both, (*targets, target), (*marks, marked))
                for label, targets, marks in self.combined(tuple(before))
                for other, target, marked in self.graphs[len(before)].rows[last]
                if (both := self.diagrams.conjunction(label, other)) != ZERO
            ]
            self._memo[states] = found
        return found

    def graph(
        self,
        initial: tuple[int, ...],
        edges: Callable[[tuple[int, ...]], list[_Step]],
    ) -> Graph:
        """Return the automaton of all that can be reached from `initial`."""
        numbers = {initial: 0}
        order = [initial]
        graph = Graph(self.diagrams, [])
        for state in order:  # grows while it is walked
            self.limits.check(len(order))
            row: list[MarkedEdge] = []
            found = [(ONE, state, False)] if state == self.dead else edges(state)
            for label, target, marked in found:
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
                row.append((label, numbers[target], marked))
            graph.rows.append(graph.joined(row))
        return graph
