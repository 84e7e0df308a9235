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


def components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strongly connected components, each after those that it leads to (Tarjan)."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    waiting: list[int] = []
    done = [False] * len(successors)
    found: list[list[int]] = []
    for root in range(len(successors)):
        if root in order:
            continue
        order[root] = lowest[root] = len(order)
        waiting.append(root)
        path = [(root, iter(successors[root]))]
        while path:
            node, following = path[-1]
            for successor in following:
                if successor not in order:
                    order[successor] = lowest[successor] = len(order)
                    waiting.append(successor)
                    path.append((successor, iter(successors[successor])))
                    break
                if not done[successor]:
                    lowest[node] = min(lowest[node], order[successor])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    start = _last(waiting, node)
                    found.append(waiting[start:])
                    del waiting[start:]
                    for member in found[-1]:
                        done[member] = True
    return found


def _last(values: list[int], value: int) -> int:
    """Return where `value` is in `values`, looking from the end."""
    index = len(values) - 1
    while values[index] != value:
        index -= 1
    return index


def cyclic_components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strongly connected components that contain a cycle, each after those it leads to."""
    return [
        component
        for component in components(successors)
        if len(component) > 1 or component[0] in successors[component[0]]
    ]


def cycles(successors: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Return the strongly connected components that contain a cycle, by their first node."""
    return sorted(map(frozenset, cyclic_components(successors)), key=min)
