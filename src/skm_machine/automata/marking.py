"""Which edges of a deterministic structure are accepting, if marks on its edges can tell at all.

Given is a complete deterministic structure of which every state knows its residual. For each strongly
connected component: an edge that lies on a cycle of which some word is rejected cannot be marked, and
marking all others is the best that can be done (as in Krishnan, Puri and Brayton, "Deterministic
ω-automata vis-à-vis deterministic Büchi automata", ISAAC 1994). Then every cycle with an accepted word
must have a marked edge; otherwise the component needs promises, or a finer structure. Both questions
are asked of the product with the acceptors of promises, for the negated residual and for the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from skm_machine.automata.acceptors import Acceptor, Acceptors, Debt
from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.loops import Loops
from skm_machine.automata.promises import Promises
from skm_machine.automata.reachability import cyclic_components, reaching
from skm_machine.automata.residuals import LabelledEdge, Residuals

MAX_THINNED: Final = 64
"""Components with no more states than this are entered from as few of them as possible."""


@dataclass(frozen=True)
class Structure:
    """A deterministic, complete structure: for each state its residual and its edges."""

    functions: Sequence[int]
    rows: Sequence[Sequence[LabelledEdge]]

    def successors(self) -> list[list[int]]:
        """Return the targets of each state's edges."""
        return [[target for _, target in row] for row in self.rows]


Start = tuple[Acceptor, Debt]
"""Where a run that makes a promise goes on."""


@dataclass(frozen=True)
class Unmarked:
    """A component in which no marks on edges can tell which words are accepted."""

    states: list[int]
    jumps: dict[int, list[Start]]
    """From states on every cycle, the promises that can be kept inside of the component."""


@dataclass(frozen=True)
class Marks:
    """For each state, the label sets on which its edge is marked; and the components without marks."""

    labels: list[int]
    unmarked: list[Unmarked]


_Node = tuple[int, Acceptor, Debt]
_ProductEdge = tuple[int, int, bool]


class Marking:
    """Finds the marks of structures over the obligations of one translation."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self.promises = Promises(residuals)
        self.acceptors = Acceptors(residuals)
        self.loops = Loops(residuals)

    def marks(self, structure: Structure, search: bool = True) -> Marks:
        """Return the marks of all components; without `search`, of obligation properties only."""
        labels = [ZERO] * len(structure.rows)
        unmarked = []
        for component in cyclic_components(structure.successors()):
            found: dict[int, int] | Unmarked | None = self._obvious(structure, component)
            if found is None and search:
                step = partial(self._searched, structure, component)
                found = self.residuals.limits.attempt(step)
            if found is None:
                entries = entry_states(structure, component)
                jumps = {state: self.starts(structure.functions[state]) for state in entries}
                found = Unmarked(component, jumps)
            if isinstance(found, Unmarked):
                unmarked.append(found)
            else:
                for state, label in found.items():
                    labels[state] = label
        return Marks(labels, unmarked)

    def _obvious(self, structure: Structure, component: list[int]) -> dict[int, int] | None:
        """Return the marked label sets of each state, if the residuals are obligation properties."""
        functions = [structure.functions[state] for state in component]
        if not all(map(self.loops.is_obligation, functions)):
            return None
        accepted = self.loops.some_loop_is_accepted(structure.rows, functions[0], component)
        return dict.fromkeys(component, ONE if accepted else ZERO)

    def _searched(self, structure: Structure, component: list[int]) -> dict[int, int] | Unmarked:
        """Return the marked label sets of each state of a component, if marks can tell."""
        entries = entry_states(structure, component)
        rejecting = _Product(self, structure, component, entries, self.diagrams.negation)
        bad = rejecting.accepting_labels()
        if all(label == ZERO for label in bad.values()):
            return dict.fromkeys(component, ONE)
        accepting = _Product(self, structure, component, entries, lambda function: function)
        if accepting.has_accepting_cycle(bad):
            return Unmarked(component, accepting.kept_promises())
        return {state: self.diagrams.negation(bad[state]) for state in component}

    def obviously_accepted(self, structure: Structure, component: list[int]) -> bool | None:
        """Tell whether all words that stay in a component are accepted, or none; None: not obvious."""
        obvious = self._obvious(structure, component)
        return None if obvious is None else ONE in obvious.values()

    def lasting(self, structure: Structure, component: list[int]) -> tuple[set[int], bool]:
        """Return the states of a component that accepted words come back to for ever;

        and whether all words are accepted that stay among these.
        """
        entries = entry_states(structure, component)
        accepting = _Product(self, structure, component, entries, lambda function: function)
        labels = accepting.accepting_labels()
        kept = {state for state, label in labels.items() if label != ZERO}
        rejecting = _Product(self, structure, kept, sorted(kept), self.diagrams.negation)
        return kept, not rejecting.has_accepting_cycle(dict.fromkeys(kept, ONE))

    def starts(self, function: int) -> list[Start]:
        """Return the acceptors of the promises for `function`, with the states to start in."""
        found = (self.acceptors.of(promise) for promise in self.promises.of(function))
        return list(dict.fromkeys(start for start in found if start is not None))


class _Product:
    """A component in step with the acceptors that can be entered from some of its states."""

    def __init__(
        self,
        marking: Marking,
        structure: Structure,
        component: Collection[int],
        entries: Collection[int],
        read: Callable[[int], int],
    ) -> None:
        self.diagrams = marking.diagrams
        self.component = frozenset(component)
        numbers: dict[_Node, int] = {}
        for state in entries:
            for acceptor, debt in marking.starts(read(structure.functions[state])):
                numbers.setdefault((state, acceptor, debt), len(numbers))
        self.nodes = list(numbers)
        self.starts = len(numbers)
        self.rows: list[list[_ProductEdge]] = []
        conjunction = self.diagrams.conjunction
        for state, acceptor, debt in self.nodes:  # grows while it is walked
            row: list[_ProductEdge] = []
            for label, target in structure.rows[state]:
                if target not in self.component:
                    continue
                for other, next_debt, marked in acceptor.edges(debt):
                    both = conjunction(label, other)
                    if both != ZERO:
                        node = (target, acceptor, next_debt)
                        if node not in numbers:
                            numbers[node] = len(numbers)
                            self.nodes.append(node)
                        row.append((both, numbers[node], marked))
            self.rows.append(row)
            marking.residuals.limits.check(len(self.rows) // 4)

    def accepting_labels(self) -> dict[int, int]:
        """Return for each state of the component the label sets that lie on an accepted cycle."""
        found = dict.fromkeys(self.component, ZERO)
        for cycle in cyclic_components([[target for _, target, _ in row] for row in self.rows]):
            inside = set(cycle)
            edges = [
                (node, label, marked)
                for node in cycle
                for label, target, marked in self.rows[node]
                if target in inside
            ]
            if any(marked for _, _, marked in edges):
                for node, label, _ in edges:
                    state = self.nodes[node][0]
                    found[state] = self.diagrams.disjunction(found[state], label)
        return found

    def kept_promises(self) -> dict[int, list[Start]]:
        """Return for each state the promises of those made there that can be kept for ever."""
        kept = set[int]()
        successors = [[target for _, target, _ in row] for row in self.rows]
        for cycle in cyclic_components(successors):
            inside = set(cycle)
            if any(marked and t in inside for n in cycle for _, t, marked in self.rows[n]):
                kept |= inside
        found: dict[int, list[Start]] = {}
        for node in sorted(reaching(successors, kept)):
            if node < self.starts:
                state, acceptor, debt = self.nodes[node]
                found.setdefault(state, []).append((acceptor, debt))
        return found

    def has_accepting_cycle(self, within: dict[int, int]) -> bool:
        """Tell whether some word whose edges all lie in `within` is accepted."""
        conjunction = self.diagrams.conjunction
        rows = [
            [
                (target, marked)
                for label, target, marked in row
                if conjunction(label, within[node[0]]) != ZERO
            ]
            for node, row in zip(self.nodes, self.rows, strict=True)
        ]
        for cycle in cyclic_components([[target for target, _ in row] for row in rows]):
            inside = set(cycle)
            if any(marked and target in inside for node in cycle for target, marked in rows[node]):
                return True
        return False


def entry_states(structure: Structure, component: Sequence[int]) -> list[int]:
    """Return states of a component such that every cycle visits one of them.

    As few as leaving out one after the other gives, or in a large component, the states that a walk
    in depth comes back to.
    """
    if len(component) > MAX_THINNED:
        return _returned_to(structure, component)
    entries = sorted(component)
    for state in sorted(component, key=lambda state: -structure.functions[state]):
        without = set(component) - (set(entries) - {state})
        rows = {s: [t for _, t in structure.rows[s] if t in without] for s in without}
        number = {s: index for index, s in enumerate(rows)}
        if not cyclic_components([[number[t] for t in row] for row in rows.values()]):
            entries.remove(state)
    return entries


def _returned_to(structure: Structure, component: Sequence[int]) -> list[int]:
    inside = frozenset(component)
    found, seen, open_states = set[int](), {component[0]}, {component[0]}
    path = [(component[0], iter(structure.rows[component[0]]))]
    while path:
        state, edges = path[-1]
        for _, target in edges:
            if target in open_states:
                found.add(target)
            elif target in inside and target not in seen:
                seen.add(target)
                open_states.add(target)
                path.append((target, iter(structure.rows[target])))
                break
        else:
            open_states.remove(state)
            path.pop()
    return sorted(found)
