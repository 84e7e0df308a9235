"""Whether two residuals mean the same: is there an infinite trace of one and not of the other?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from skm_machine.automata.acceptors import Acceptor, Debt
from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.marking import Marking
from skm_machine.automata.reachability import cyclic_components

SAMPLES: Final = 24
MAX_STATES: Final = 200
"""Where comparing two residuals takes more, they are taken to differ."""


class Residue:
    """Compares functions over the obligations of one translation by the traces that satisfy them."""

    def __init__(self, marking: Marking) -> None:
        self.marking = marking
        self.residuals = marking.residuals
        self.diagrams = marking.diagrams
        self._satisfiable: dict[int, bool] = {ZERO: False, ONE: True}
        self._live: dict[tuple[Acceptor, Debt], bool] = {}

    def classes(self, functions: Sequence[int]) -> list[int]:
        """Return for each function the index of the first one that is satisfied by the same traces."""
        samples = self._samples()
        verdicts = [
            tuple(self.marking.loops.holds(function, loop) for loop in samples)
            for function in functions
        ]
        found: list[int] = []
        for index, function in enumerate(functions):
            self.residuals.limits.check()
            same = (
                first
                for first in dict.fromkeys(found)
                if verdicts[first] == verdicts[index] and self._equal(functions[first], function)
            )
            found.append(next(same, index))
        return found

    def _samples(self) -> list[list[frozenset[int]]]:
        rng = random.Random(0)
        names = range(len(self.residuals.names))
        return [
            [frozenset(p for p in names if rng.random() < 0.5) for _ in range(rng.randint(1, 4))]
            for _ in range(SAMPLES)
        ]

    def _equal(self, left: int, right: int) -> bool:
        only_left = self.diagrams.conjunction(left, self.diagrams.negation(right))
        only_right = self.diagrams.conjunction(right, self.diagrams.negation(left))
        return not (self.is_satisfiable(only_left) or self.is_satisfiable(only_right))

    def is_satisfiable(self, function: int) -> bool:
        """Tell whether some infinite trace satisfies `function`; also if that takes too long."""
        order, seen = [function], {function}
        for residual in order:  # grows while it is walked
            if self._satisfiable.get(residual) or len(order) > MAX_STATES:
                return True
            if any(self._is_live(*start) for start in self.marking.starts(residual)):
                self._satisfiable[function] = True
                return True
            for _, target in self.residuals.edges(residual):
                if target not in seen and self._satisfiable.get(target) is not False:
                    seen.add(target)
                    order.append(target)
        self._satisfiable.update(dict.fromkeys(order, False))
        return False

    def _is_live(self, acceptor: Acceptor, start: Debt) -> bool:
        """Tell whether some trace is accepted from `start`."""
        found = self._live.get((acceptor, start))
        if found is None:
            numbers, order = {start: 0}, [start]
            rows: list[list[tuple[int, bool]]] = []
            for debt in order:  # grows while it is walked
                self.residuals.limits.check(len(order))
                row = []
                for _, target, marked in acceptor.edges(debt):
                    if target not in numbers:
                        numbers[target] = len(order)
                        order.append(target)
                    row.append((numbers[target], marked))
                rows.append(row)
            found = self._live[acceptor, start] = _has_marked_cycle(rows)
        return found


def _has_marked_cycle(rows: Sequence[Sequence[tuple[int, bool]]]) -> bool:
    for cycle in cyclic_components([[target for target, _ in row] for row in rows]):
        inside = set(cycle)
        if any(marked and target in inside for node in cycle for target, marked in rows[node]):
            return True
    return False
