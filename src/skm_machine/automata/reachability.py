"""Reachability in small directed graphs, given as the successors of each node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence


def reachable(start: int, successors: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the nodes that can be reached from `start`, itself first, in breadth-first order."""
    order = {start: None}
    queue = [start]
    for node in queue:
        for successor in successors(node):
            if successor not in order:
                order[successor] = None
                queue.append(successor)
    return queue


def reaching(successors: Sequence[Iterable[int]], targets: Collection[int]) -> frozenset[int]:
    """Return the nodes from which one of `targets` can be reached, `targets` included."""
    sources: list[list[int]] = [[] for _ in successors]
    for node, following in enumerate(successors):
        for successor in following:
            sources[successor].append(node)
    found, stack = set(targets), list(targets)
    while stack:
        for source in sources[stack.pop()]:
            if source not in found:
                found.add(source)
                stack.append(source)
    return frozenset(found)


def cycles(successors: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Return the strongly connected components that contain a cycle."""
    after = [
        frozenset(
            reached for first in following for reached in reachable(first, successors.__getitem__)
        )
        for following in successors
    ]
    found = {
        frozenset(other for other in after[node] if node in after[other]): None
        for node in range(len(successors))
        if node in after[node]
    }
    return list(found)
