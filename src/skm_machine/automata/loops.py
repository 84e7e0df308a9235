"""Obligation properties: Boolean combinations of what finite prefixes decide, for good or for bad.

There, all words that stay in a strongly connected component of residuals are accepted, or none is;
one loop through it, judged by definition, tells which.
"""

from __future__ import annotations

from collections.abc import Sequence

from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.residuals import LabelledEdge, Residuals


class Loops:
    """Judges functions over the obligations of one translation on loops of label sets."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self._signs: dict[int, tuple[bool, bool]] = {ZERO: (False, False), ONE: (False, False)}

    def signs(self, function: int) -> tuple[bool, bool]:
        """Tell whether F, U, M occur in `function`, and whether G, R, W do, with negations resolved."""
        found = self._signs.get(function)
        if found is None:
            diagrams = self.diagrams
            low, high = diagrams.low[function], diagrams.high[function]
            eventual, lasting = self.obligation_signs(diagrams.variable[function])
            positive, negative = not diagrams.implies(high, low), not diagrams.implies(low, high)
            below, above = self.signs(low), self.signs(high)
            found = self._signs[function] = (
                below[0] or above[0] or (positive and eventual) or (negative and lasting),
                below[1] or above[1] or (positive and lasting) or (negative and eventual),
            )
        return found

    def obligation_signs(self, variable: int) -> tuple[bool, bool]:
        """Tell the same of one obligation."""
        operator, left, right = self.residuals.keys[variable - self.residuals.first]
        match operator:
            case "prop":
                return (False, False)
            case "X":
                return self.obligation_signs(left)
            case "F":
                return (True, self.signs(left)[1])
            case _:
                return (True, self.signs(left)[1] or self.signs(right)[1])

    def is_obligation(self, function: int) -> bool:
        """Tell whether `function` is, by its form, an obligation property."""
        return not any(
            self.obligation_signs(variable)[1] for variable in self.diagrams.support(function)
        )

    def some_loop_is_accepted(
        self, rows: Sequence[Sequence[LabelledEdge]], function: int, component: Sequence[int]
    ) -> bool:
        """Tell whether one loop from the first state of `component`, of residual `function`, is."""
        if function <= ONE:
            return function == ONE
        loop = _shortest_loop(rows, component)
        return self.holds(function, [self._some_label_set(label) for label in loop])

    def _some_label_set(self, label: int) -> frozenset[int]:
        """Return the propositions of one label set that satisfies `label`."""
        found = set()
        while label > ONE:
            if self.diagrams.low[label] != ZERO:
                label = self.diagrams.low[label]
            else:
                found.add(self.diagrams.variable[label])
                label = self.diagrams.high[label]
        return frozenset(found)

    def holds(self, function: int, loop: Sequence[frozenset[int]]) -> bool:
        """Tell whether `function` holds of loop^ω, by the definition of the operators."""
        truth: dict[int, list[bool]] = {}

        def value(function: int, position: int) -> bool:
            diagrams = self.diagrams
            while function > ONE:
                holds = obligation(diagrams.variable[function])[position]
                function = diagrams.high[function] if holds else diagrams.low[function]
            return function == ONE

        def obligation(variable: int) -> list[bool]:
            if variable not in truth:
                operator, left, right = self.residuals.keys[variable - self.residuals.first]
                steps = range(len(loop))
                match operator:
                    case "prop":
                        truth[variable] = [left in labels for labels in loop]
                    case "X":
                        later = obligation(left)
                        truth[variable] = [*later[1:], later[0]]
                    case "F":
                        some = any(value(left, position) for position in steps)
                        truth[variable] = [some] * len(loop)
                    case _:
                        kept = [value(left, position) for position in steps]
                        found = [value(right, position) for position in steps]
                        for position in [*reversed(steps), *reversed(steps)]:
                            later_holds = found[(position + 1) % len(loop)]
                            found[position] = found[position] or (kept[position] and later_holds)
                        truth[variable] = found
            return truth[variable]

        return value(function, 0)


def _shortest_loop(rows: Sequence[Sequence[LabelledEdge]], component: Sequence[int]) -> list[int]:
    """Return the labels of a shortest loop from the first state of a component."""
    inside, start = set(component), component[0]
    before: dict[int, tuple[int, int]] = {}
    queue = [start]
    for state in queue:  # grows while it is walked
        for label, target in rows[state]:
            if target == start:
                labels = [label]
                while state != start:
                    state, label = before[state]  # noqa: PLW2901 - walking back
                    labels.append(label)
                return labels[::-1]
            if target in inside and target not in before:
                before[target] = (state, label)
                queue.append(target)
    raise ValueError("the component has no cycle")
