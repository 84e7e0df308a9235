"""Merging the states of a Büchi automaton that read deterministically and accept the same language.

Between components that is always sound: an edge may lead to an equal state of a component further
down. Within one it is sound if the merged edges can still be marked: an edge on a rejecting cycle
cannot, and each accepting cycle must keep a marked edge. Both are read off the automaton itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skm_machine.automata.bdd import ZERO
from skm_machine.automata.limits import Limits
from skm_machine.automata.reachability import components, cyclic_components, reaching
from skm_machine.automata.reduction import Graph, MarkedEdge, merge_similar, with_plain_marks

MAX_STATES: Final = 60
"""Larger automata are left as they are: the languages of all pairs of states are compared."""

MAX_ATTEMPTS: Final = 300


def merge_equivalent(graph: Graph, limits: Limits) -> Graph:
    """Return a smaller automaton of the same language, if one is found.

    Compared are the states that no jump can follow; a jump that accepts no more than another one
    from the same state is dropped first.
    """
    compared = _deterministic_part(graph)
    if len(compared) > MAX_STATES:
        return graph
    exceeding = _exceeding(graph, compared, limits)
    if graph.jumps:
        jumps = [_largest(targets, exceeding) for targets in graph.jumps]
        graph = Graph(graph.diagrams, graph.rows, jumps)
    classes = list(range(len(graph.rows)))
    for state in compared:
        classes[state] = next(
            other
            for other in compared
            if other == state or not {(state, other), (other, state)} & exceeding
        )
    graph, classes = _without_early_copies(graph, classes)
    whole = _merged(graph, classes)
    if whole is not None:
        return _tidied(whole)
    block, attempts = list(range(len(classes))), 0
    best: Graph | None = None
    for state, name in enumerate(classes):
        for other in range(state + 1, len(classes)):
            if classes[other] != name or block[other] == block[state] or attempts > MAX_ATTEMPTS:
                continue
            attempts += 1
            limits.check()
            joined = _closure(graph, block, state, other)
            merged = _merged(graph, joined)
            if merged is not None:
                block, best = joined, merged
    return _tidied(best or graph)


def _tidied(graph: Graph) -> Graph:
    return merge_similar(with_plain_marks(graph)[0])


def _deterministic_part(graph: Graph) -> list[int]:
    """Return the states that no jump can follow."""
    jumping = [state for state in range(len(graph.rows)) if graph.jumps_from(state)]
    before = reaching(graph.successors(), jumping)
    return [state for state in range(len(graph.rows)) if state not in before]


def _largest(targets: Sequence[int], exceeding: set[tuple[int, int]]) -> tuple[int, ...]:
    """Return the states that no other one of them includes; of equal ones, the first."""
    kept: list[int] = []
    for target in targets:
        if all((target, other) in exceeding for other in kept):
            kept = [other for other in kept if (other, target) in exceeding]
            kept.append(target)
    return tuple(kept)


def _exceeding(graph: Graph, compared: Sequence[int], limits: Limits) -> set[tuple[int, int]]:
    """Return the pairs of states of which the first accepts a trace that the second does not."""
    diagrams = graph.diagrams
    numbers = {
        pair: number
        for number, pair in enumerate((one, two) for one in compared for two in compared)
    }
    covered = {}
    for state in compared:
        covered[state] = ZERO
        for label, _, _ in graph.rows[state]:
            covered[state] = diagrams.disjunction(covered[state], label)
    rows: list[list[tuple[int, bool, bool]]] = []
    more = set[int]()
    for (one, two), number in numbers.items():
        if two == compared[0]:
            limits.check()
        if not diagrams.implies(covered[one], covered[two]):
            more.add(number)
        rows.append(
            [
                (numbers[target, other], marked, other_marked)
                for label, target, marked in graph.rows[one]
                for other_label, other, other_marked in graph.rows[two]
                if diagrams.conjunction(label, other_label) != ZERO
            ]
        )
    for cycle in cyclic_components([[t for t, _, marked in row if not marked] for row in rows]):
        inside = set(cycle)
        if any(
            marked and not other_marked and target in inside
            for node in cycle
            for target, marked, other_marked in rows[node]
        ):
            more |= inside
    more |= reaching([[target for target, _, _ in row] for row in rows], more)
    return {pair for pair, number in numbers.items() if number in more}


def _without_early_copies(graph: Graph, classes: Sequence[int]) -> tuple[Graph, list[int]]:
    """Keep of each class only the states in the component that comes last."""
    place = {
        state: index
        for index, component in enumerate(components(graph.successors()))
        for state in component
    }
    last = {
        name: min(
            (state for state in range(len(classes)) if classes[state] == name),
            key=lambda state: (place[state], state),
        )
        for name in classes
    }
    block = [
        state if place[state] == place[last[name]] else last[name]
        for state, name in enumerate(classes)
    ]
    kept = [state for state in range(len(classes)) if block[state] == state]
    order = _order(graph, block)
    return graph.quotient(block, kept), [classes[state] for state in order]


def _order(graph: Graph, block: Sequence[int]) -> list[int]:
    """Return the states that `Graph.quotient` keeps, in its order."""
    order = {block[0]: None}
    queue = [block[0]]
    for state in queue:  # grows while it is walked
        for target in (*(t for _, t, _ in graph.rows[state]), *graph.jumps_from(state)):
            if block[target] not in order:
                order[block[target]] = None
                queue.append(block[target])
    return queue


def _closure(graph: Graph, block: Sequence[int], first: int, second: int) -> list[int]:
    """Return `block` with two states merged, and all states that label sets lead to from there."""
    joined = list(block)
    stack = [(first, second)]
    while stack:
        one, two = stack.pop()
        if joined[one] == joined[two]:
            continue
        keep, drop = sorted((joined[one], joined[two]))
        joined = [keep if name == drop else name for name in joined]
        members = [state for state, name in enumerate(joined) if name == keep]
        base = graph.rows[members[0]]
        stack += [
            (target, other)
            for member in members[1:]
            for label, target, _ in base
            for other_label, other, _ in graph.rows[member]
            if graph.diagrams.conjunction(label, other_label) != ZERO
        ]
    return joined


def _merged(graph: Graph, block: Sequence[int]) -> Graph | None:
    """Return the automaton of the blocks with the best marks, or None if marks cannot tell there."""
    diagrams = graph.diagrams
    bad: dict[int, int] = dict.fromkeys(block, ZERO)
    unmarked = [[(label, t) for label, t, marked in row if not marked] for row in graph.rows]
    for cycle in cyclic_components([[t for _, t in row] for row in unmarked]):
        inside = set(cycle)
        for state in cycle:
            for label, target in unmarked[state]:
                if target in inside:
                    bad[block[state]] = diagrams.disjunction(bad[block[state]], label)
    kept: list[list[MarkedEdge]] = [
        [edge for edge in row if diagrams.conjunction(edge[0], bad[block[state]]) != ZERO]
        for state, row in enumerate(graph.rows)
    ]
    for cycle in cyclic_components([[t for _, t, _ in row] for row in kept]):
        inside = set(cycle)
        if any(marked and t in inside for state in cycle for _, t, marked in kept[state]):
            return None
    rows = [
        graph.joined(
            [
                (diagrams.conjunction(label, part), target, marked)
                for label, target, _ in row
                for part, marked in (
                    (bad[block[state]], False),
                    (diagrams.negation(bad[block[state]]), True),
                )
            ]
        )
        for state, row in enumerate(graph.rows)
    ]
    return Graph(diagrams, rows, graph.jumps).quotient(block, range(len(rows)))
