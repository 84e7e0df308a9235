"""Layers of a drawing from left to right: ranks, the order within a column, and level heights.

The steps of Sugiyama's method, on nodes that take room.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Final

SWEEPS: Final = 12
RELAXATIONS: Final = 40


@dataclass(eq=False)
class Node:
    """A state, a label (text above its edge), or the bend of an edge; it takes room around (x, y)."""

    width: float
    above: float
    below: float
    clearance: float = 8.0
    weight: float = 1.0
    x: float = 0.0
    y: float = 0.0
    column: int = 0
    left: list[Node] = field(default_factory=list)
    right: list[Node] = field(default_factory=list)


def rank_states(
    count: int, initial: int, edges: Sequence[tuple[int, int]]
) -> tuple[list[int], set[tuple[int, int]]]:
    """Return each state's rank, its longest way from the start, and the edges that lead back."""
    successors: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            successors[source].append(target)
    mark, finished, back = [0] * count, list[int](), set[tuple[int, int]]()
    for root in (initial, *range(count)):
        stack = [] if mark[root] else [(root, iter(successors[root]))]
        mark[root] = mark[root] or 1
        while stack:
            state, rest = stack[-1]
            target = next(rest, -1)
            if target < 0:
                stack.pop()
                mark[state] = 2
                finished.append(state)
            elif mark[target] == 1:
                back.add((state, target))
            elif mark[target] == 0:
                mark[target] = 1
                stack.append((target, iter(successors[target])))
    ranks = [0] * count
    for state in reversed(finished):
        for target in successors[state]:
            if (state, target) not in back:
                ranks[target] = max(ranks[target], ranks[state] + 1)
    return ranks, back


def order_columns(columns: list[list[Node]]) -> None:
    """Reorder each column to reduce crossings: sort by the mean place of the neighbours."""
    best, fewest = [list(column) for column in columns], _crossings(columns)
    for sweep in range(SWEEPS):
        rightwards = sweep % 2 == 0
        order = columns[1:] if rightwards else columns[-2::-1]
        place = {node: float(index) for column in columns for index, node in enumerate(column)}
        for column in order:
            wanted = {node: _mean_place(node, place, rightwards) for node in column}
            column.sort(key=lambda node: wanted[node])
            place.update({node: float(index) for index, node in enumerate(column)})
        crossings = _crossings(columns)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    columns[:] = best


def _mean_place(node: Node, place: dict[Node, float], rightwards: bool) -> float:
    neighbours = node.left if rightwards else node.right
    if not neighbours:
        to_the_rail = not rightwards and node.column % 2 == 1
        return inf if to_the_rail else place[node]
    return sum(place[neighbour] for neighbour in neighbours) / len(neighbours)


def _crossings(columns: list[list[Node]]) -> int:
    count = 0
    for column, following in pairwise(columns):
        place = {node: index for index, node in enumerate(following)}
        seen: list[int] = []
        for node in column:
            ends = sorted(place[right] for right in node.right)
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def set_heights(columns: list[list[Node]]) -> None:
    """Draw neighbours level with each other, as far as the nodes of a column leave room."""
    for column in columns:
        settle(column, [0.0] * len(column))
    for step in range(RELAXATIONS):
        for column in columns if step % 2 == 0 else reversed(columns):
            wanted = []
            for node in column:
                near = [(other.y, _pull(node, other, len(other.right))) for other in node.left]
                near += [(other.y, _pull(node, other, len(other.left))) for other in node.right]
                total = sum(weight for _, weight in near)
                wanted.append(sum(y * weight for y, weight in near) / total if near else node.y)
            settle(column, wanted)


def _pull(node: Node, other: Node, fan: int) -> float:
    """Return how much `node` is drawn level with `other`: little, if that fans out to many."""
    return min(node.weight, other.weight) / fan**4


def straighten(chains: Sequence[list[Node]], columns: list[list[Node]]) -> None:
    """Level the nodes of each chain, in runs as long as the columns leave room for."""
    for chain in chains:
        run: list[Node] = []
        low, high = -inf, inf
        for node in chain:
            top, bottom = _room(node, columns[node.column])
            if max(low, top) > min(high, bottom):
                _level(run, low, high)
                run, low, high = [], -inf, inf
            run.append(node)
            low, high = max(low, top), min(high, bottom)
        _level(run, low, high)


def _room(node: Node, column: list[Node]) -> tuple[float, float]:
    """Return between which heights a node can move."""
    index = column.index(node)
    top, bottom = -inf, inf
    if index > 0:
        top = column[index - 1].y + _distance(column[index - 1], node)
    if index + 1 < len(column):
        bottom = column[index + 1].y - _distance(node, column[index + 1])
    return min(top, node.y), max(bottom, node.y)


def _level(run: list[Node], low: float, high: float) -> None:
    if run:
        mean = sum(node.y for node in run) / len(run)
        for node in run:
            node.y = max(low, min(high, mean))


def _distance(upper: Node, lower: Node) -> float:
    return upper.below + max(upper.clearance, lower.clearance) + lower.above


def settle(column: list[Node], wanted: list[float]) -> None:
    """Give the nodes the heights nearest to those wanted that keep their order and distances.

    With the distances taken off this is isotonic regression, which pooling adjacent violators solves.
    """
    offsets, offset = [], 0.0
    for index, node in enumerate(column):
        if index:
            offset += _distance(column[index - 1], node)
        offsets.append(offset)
    blocks: list[tuple[float, float, int]] = []
    for node, goal, offset in zip(column, wanted, offsets, strict=True):
        mean, weight, size = goal - offset, node.weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, other_weight, other_size = blocks.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight, size = weight + other_weight, size + other_size
        blocks.append((mean, weight, size))
    means = [mean for mean, _, size in blocks for _ in range(size)]
    for node, mean, offset in zip(column, means, offsets, strict=True):
        node.y = mean + offset
