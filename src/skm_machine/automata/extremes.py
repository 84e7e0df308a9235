"""The greatest value that a step can have in each state, without listing what every step can do.

A state of a machine can have thousands of outcomes (of twelve places to visit in any order, any subset
may be seen at once), but its diagrams share their parts: one pass over the nodes gives the greatest
value below each of them, and only nodes that lead to a wanted outcome are walked to find it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from skm_machine.automata.mtbdd import DecisionTable


class Extremes:
    """The values of outcomes, looked at from each state."""

    def __init__(self, table: DecisionTable, values: Sequence[float]) -> None:
        """`values` has one value for each outcome of the table."""
        self._layout = table.layout
        best = [values[outcome] for outcome in self._layout.leaves]
        for low, high in self._layout.nodes:
            below, above = best[low], best[high]
            best.append(above if above > below else below)
        self._best = best

    def best(self, state: int) -> float:
        """Return the greatest value that a step can have in `state`."""
        return self._best[self._layout.roots[state]]

    def best_outcome(self, state: int) -> int:
        """Return an outcome of that value."""
        place, best = self._layout.roots[state], self.best(state)
        first = len(self._layout.leaves)
        while place >= first:
            low, high = self._layout.nodes[place - first]
            place = low if self._best[low] == best else high
        return self._layout.leaves[place]

    def outcomes(self, state: int, least: float) -> list[int]:
        """Return the outcomes in `state` whose value is at least `least`, in order."""
        first, seen, stack = len(self._layout.leaves), set[int](), [self._layout.roots[state]]
        found: list[int] = []
        while stack:
            place = stack.pop()
            if place in seen or self._best[place] < least:
                continue
            seen.add(place)
            if place < first:
                found.append(self._layout.leaves[place])
            else:
                stack.extend(self._layout.nodes[place - first])
        return sorted(found)


def values_of_choices(
    choices: Sequence[int], targets: Sequence[int], rewards: Sequence[float], gamma: float
) -> list[float]:
    """Return the discounted value of each state if its choice, an outcome, is made in each; -1: none.

    From every state a choice leads to one other, so a walk ends, or goes round: both are sums.
    """
    values: list[float] = [math.nan] * len(choices)
    for start in range(len(choices)):
        walk: list[int] = []
        place: dict[int, int] = {}
        state = start
        while choices[state] >= 0 and state not in place and math.isnan(values[state]):
            place[state] = len(walk)
            walk.append(state)
            state = targets[choices[state]]
        if choices[state] < 0:
            values[state] = 0.0
        elif math.isnan(values[state]):
            round_trip = walk[place[state] :]
            total = sum(gamma**k * rewards[choices[s]] for k, s in enumerate(round_trip))
            values[state] = total / (1 - gamma ** len(round_trip))
            walk = [*walk[: place[state]], *round_trip[1:]]
        for earlier in reversed(walk):
            choice = choices[earlier]
            values[earlier] = rewards[choice] + gamma * values[targets[choice]]
    return values
