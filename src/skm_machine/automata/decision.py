"""What a machine does on each label set, for each of its states: one decision diagram per state.

Automata and reward machines both stand on this table. A step is a look-up; the symbolic edges that
people read are computed from the diagrams when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from skm_machine.automata.bdd import ONE, ZERO, Diagrams
from skm_machine.errors import NondeterministicError
from skm_machine.logic.syntax import Formula, proposition


class Layout(NamedTuple):
    """The diagrams of a table in rows: leaves first, then nodes, each after the two that it leads to."""

    leaves: list[int]
    """The outcome of each leaf."""
    nodes: list[tuple[int, int]]
    """Where each node leads: places in the rows."""
    roots: list[int]
    """The place of each state's root."""


class DecisionTable:
    """For each state, a function from label sets to outcomes (numbers), as a decision diagram."""

    def __init__(
        self, propositions: tuple[str, ...], diagrams: Diagrams, roots: tuple[int, ...]
    ) -> None:
        self.propositions = propositions
        self._atoms = [proposition(name) for name in propositions]
        self._diagrams = diagrams
        self._roots = roots
        self._known: dict[tuple[int, frozenset[str]], int] = {}
        self._first_with_root: dict[int, int] = {}
        for state, root in enumerate(roots):
            self._first_with_root.setdefault(root, state)
        self._labels: dict[tuple[int, frozenset[int]], Formula] = {}
        self._above: tuple[int, dict[int, list[int]]] = (-1, {})

    def __len__(self) -> int:
        return len(self._roots)

    def outcome(self, state: int, labels: Collection[str]) -> int:
        """Return the outcome of `labels` in `state`: a look-up, from the second time on."""
        key = (state, labels if isinstance(labels, frozenset) else frozenset(labels))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._walk(state, key[1])
        return found

    def _walk(self, state: int, labels: frozenset[str]) -> int:
        node, diagrams = self._roots[state], self._diagrams
        while (value := diagrams.value(node)) is None:
            holds = self.propositions[diagrams.variable[node]] in labels
            node = diagrams.high[node] if holds else diagrams.low[node]
        return value

    def outcomes(self, state: int) -> list[int]:
        """Return the outcomes that some label set has in `state`, each once, in order."""
        leaves = self._diagrams.below(self._roots[state], len(self.propositions))
        return sorted(value for leaf in leaves if (value := self._diagrams.value(leaf)) is not None)

    def fresh_outcomes(self, state: int, seen: set[int]) -> list[int]:
        """Return the outcomes in `state` that no state before it has; `seen` is shared by the calls."""
        leaves = self._diagrams.below(self._roots[state], len(self.propositions), seen)
        return sorted(self._value(leaf) for leaf in leaves)

    @cached_property
    def layout(self) -> Layout:
        """The diagrams in rows, for passes over all of them at once."""
        diagrams = self._diagrams
        seen, stack = set[int](), list(self._roots)
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                if diagrams.value(node) is None:
                    stack += (diagrams.low[node], diagrams.high[node])
        leaves = [node for node in sorted(seen) if diagrams.value(node) is not None]
        inner = [node for node in sorted(seen) if diagrams.value(node) is None]
        place = {node: index for index, node in enumerate([*leaves, *inner])}
        nodes = [(place[diagrams.low[node]], place[diagrams.high[node]]) for node in inner]
        outcomes = [self._value(leaf) for leaf in leaves]
        return Layout(outcomes, nodes, [place[root] for root in self._roots])

    def reachable(
        self, start: int, target: Callable[[int], int] = int, ends: Collection[int] = ()
    ) -> list[int]:
        """Return the states that can be reached from `start`, itself first, in breadth-first order.

        `target` gives the state that an outcome leads to; nothing is reached from `ends`. Shared
        parts of the diagrams are walked once.
        """
        order, seen = {start: None}, set[int]()
        queue = [start]
        for state in queue:  # grows while it is walked
            if state in ends:
                continue
            leaves = self._diagrams.below(self._roots[state], len(self.propositions), seen)
            for value in sorted(self._value(leaf) for leaf in leaves):
                following = target(value)
                if following not in order:
                    order[following] = None
                    queue.append(following)
        return queue

    def reaching(
        self,
        outcomes: Collection[int],
        target: Callable[[int], int] = int,
        ends: Collection[int] = (),
    ) -> frozenset[int]:
        """Return the states from which one of `outcomes` can come about, in one step or more.

        `target` gives the state that an outcome leads to; nothing comes about after `ends`.
        """
        diagrams = self._diagrams
        above: dict[int, list[int]] = {}
        states_of: dict[int, list[int]] = {}
        leaves_to: dict[int, list[int]] = {}
        seen, stack = set[int](), []
        for state, root in enumerate(self._roots):
            if state not in ends:
                states_of.setdefault(root, []).append(state)
                stack.append(root)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            value = diagrams.value(node)
            if value is not None:
                leaves_to.setdefault(target(value), []).append(node)
                continue
            for child in (diagrams.low[node], diagrams.high[node]):
                above.setdefault(child, []).append(node)
                stack.append(child)
        wanted = frozenset(outcomes)
        stack = [
            node for leaves in leaves_to.values() for node in leaves if self._value(node) in wanted
        ]
        marked, found = set(stack), set[int]()
        while stack:
            node = stack.pop()
            following = list(above.get(node, ()))
            for state in states_of.get(node, ()):
                found.add(state)
                following += leaves_to.get(state, ())
            for other in following:
                if other not in marked:
                    marked.add(other)
                    stack.append(other)
        return frozenset(found)

    def sources(self, outcomes: Iterable[int]) -> frozenset[int]:
        """Return the states in which some label set has one of `outcomes`."""
        above, states_of = self._upward
        marked = {self._diagrams.leaf(outcome) for outcome in outcomes}
        stack, found = list(marked), set[int]()
        while stack:
            node = stack.pop()
            found.update(states_of.get(node, ()))
            for other in above.get(node, ()):
                if other not in marked:
                    marked.add(other)
                    stack.append(other)
        return frozenset(found)

    @cached_property
    def _upward(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The nodes that lead to each node, and the states that each node is the root of."""
        above: dict[int, list[int]] = {}
        states_of: dict[int, list[int]] = {}
        for state, root in enumerate(self._roots):
            states_of.setdefault(root, []).append(state)
        seen, stack = set(states_of), list(states_of)
        while stack:
            node = stack.pop()
            if self._diagrams.value(node) is None:
                for child in (self._diagrams.low[node], self._diagrams.high[node]):
                    above.setdefault(child, []).append(node)
                    if child not in seen:
                        seen.add(child)
                        stack.append(child)
        return above, states_of

    def all_outcomes(self, ends: Collection[int] = ()) -> set[int]:
        """Return the outcomes that some label set has in some state that is not one of `ends`."""
        seen, found = set[int](), set[int]()
        for state, root in enumerate(self._roots):
            if state not in ends:
                leaves = self._diagrams.below(root, len(self.propositions), seen)
                found.update(self._value(leaf) for leaf in leaves)
        return found

    def _value(self, leaf: int) -> int:
        value = self._diagrams.value(leaf)
        if value is None:
            raise ValueError("a table's diagrams end in outcomes")
        return value

    def example(self, state: int, outcome: int) -> frozenset[str]:
        """Return a label set with this outcome in `state`, with as few propositions as can be."""
        diagrams = self._diagrams
        best: dict[int, frozenset[str] | None] = {}

        def smallest(node: int) -> frozenset[str] | None:
            if node not in best:
                value = diagrams.value(node)
                if value is not None:
                    best[node] = frozenset() if value == outcome else None
                else:
                    low, high = smallest(diagrams.low[node]), smallest(diagrams.high[node])
                    if high is not None:
                        high |= {self.propositions[diagrams.variable[node]]}
                    found = [labels for labels in (low, high) if labels is not None]
                    best[node] = min(found, key=len, default=None)
            return best[node]

        labels = smallest(self._roots[state])
        if labels is None:
            raise ValueError(f"state {state} has no outcome {outcome}")
        return labels

    def same_as(self, state: int) -> int:
        """Return the first state that has the same outcome as `state` on every label set."""
        return self._first_with_root[self._roots[state]]

    def mapped(
        self, states: Iterable[int], outcome: Callable[[int], int], constants: Iterable[int] = ()
    ) -> DecisionTable:
        """Return the table of `states` with its outcomes renamed, then states with one outcome each."""
        diagrams, memo = Diagrams(), dict[int, int]()

        def leaf(node: int) -> int | None:
            value = self._diagrams.value(node)
            return None if value is None else diagrams.leaf(outcome(value))

        roots = [
            self._diagrams.rebuild(self._roots[state], diagrams, leaf, memo) for state in states
        ]
        roots += [diagrams.leaf(constant) for constant in constants]
        return DecisionTable(self.propositions, diagrams, tuple(roots))

    def given(self, values: Mapping[str, bool]) -> DecisionTable:
        """Return the table for label sets of which this is known: these propositions are not read."""
        known = {
            self.propositions.index(name): value
            for name, value in values.items()
            if name in self.propositions
        }
        own, diagrams, memo = self._diagrams, Diagrams(), dict[int, int]()

        def copied(node: int) -> int:
            if node not in memo:
                value, variable = own.value(node), own.variable[node]
                if value is not None:
                    memo[node] = diagrams.leaf(value)
                elif variable in known:
                    memo[node] = copied(own.high[node] if known[variable] else own.low[node])
                else:
                    memo[node] = diagrams.node(
                        variable, copied(own.low[node]), copied(own.high[node])
                    )
            return memo[node]

        roots = tuple(copied(root) for root in self._roots)
        return DecisionTable(self.propositions, diagrams, roots)

    def condition(self, state: int, outcome: int, into: Diagrams, variables: Sequence[int]) -> int:
        """Return the function in `into` of the label sets that have this outcome in `state`.

        `variables` has the variable there of each proposition here.
        """
        return self.grafted(state, lambda other: ONE if other == outcome else ZERO, into, variables)

    def grafted(
        self, state: int, branch: Callable[[int], int], into: Diagrams, variables: Sequence[int]
    ) -> int:
        """Return the diagram of `state` in `into`, with a branch there in place of each outcome."""
        diagrams = self._diagrams
        memo: dict[int, int] = {}

        def copied(node: int) -> int:
            if node not in memo:
                value = diagrams.value(node)
                if value is not None:
                    memo[node] = branch(value)
                else:
                    test = into.literal(variables[diagrams.variable[node]])
                    high, low = copied(diagrams.high[node]), copied(diagrams.low[node])
                    memo[node] = into.if_then_else(test, high, low)
            return memo[node]

        return copied(self._roots[state])

    def edges(self, state: int) -> dict[int, Formula]:
        """Return a short Boolean formula for each outcome of `state`: what leads to it."""
        return {outcome: self.label(state, outcome) for outcome in self.outcomes(state)}

    def label(self, state: int, *outcomes: int) -> Formula:
        """Return a short Boolean formula of the label sets that lead from `state` to `outcomes`."""
        key = (state, frozenset(outcomes))
        found = self._labels.get(key)
        if found is None:
            function = self._function(state, key[1])
            found = self._labels[key] = self._diagrams.short_formula(function, self._atoms)
        return found

    def _function(self, state: int, outcomes: Iterable[int]) -> int:
        """Return the function of the label sets that lead from `state` to `outcomes`.

        Only nodes above these outcomes are walked, from the outcomes to the root.
        """
        diagrams, above = self._diagrams, self._nodes_above(state)
        functions = {diagrams.leaf(outcome): ONE for outcome in outcomes}
        stack, met = list(functions), set(functions)
        while stack:
            for node in above.get(stack.pop(), ()):
                if node not in met:
                    met.add(node)
                    stack.append(node)
        for node in sorted(met.difference(functions)):  # a node is younger than those below it
            low, high = diagrams.low[node], diagrams.high[node]
            functions[node] = diagrams.node(
                diagrams.variable[node], functions.get(low, ZERO), functions.get(high, ZERO)
            )
        return functions.get(self._roots[state], ZERO)

    def _nodes_above(self, state: int) -> dict[int, list[int]]:
        """Return, for each node of the diagram of `state`, those that lead to it."""
        if self._above[0] != state:
            diagrams, root = self._diagrams, self._roots[state]
            above: dict[int, list[int]] = {root: []}
            stack = [root]
            while stack:
                node = stack.pop()
                if diagrams.value(node) is None:
                    for child in (diagrams.low[node], diagrams.high[node]):
                        if child not in above:
                            above[child] = []
                            stack.append(child)
                        above[child].append(node)
            self._above = state, above
        return self._above[1]


def table_from_edges(
    propositions: Sequence[str], edges: Sequence[Iterable[tuple[Formula, int]]], default: int
) -> DecisionTable:
    """Build a table from Boolean edges `(formula, outcome)` for each state.

    Label sets that no edge covers get the outcome `default`; edges that overlap with different
    outcomes are an error, since the machine would not be deterministic.
    """
    diagrams = Diagrams()
    number = {name: index for index, name in enumerate(propositions)}

    def atom(formula: Formula) -> int:
        return diagrams.literal(number[formula.name])

    roots = []
    for state, state_edges in enumerate(edges):
        covered, root = ZERO, diagrams.leaf(default)
        by_outcome: dict[int, int] = {}
        for formula, outcome in state_edges:
            function = diagrams.of_formula(formula, atom)
            by_outcome[outcome] = diagrams.disjunction(by_outcome.get(outcome, ZERO), function)
        for outcome, function in by_outcome.items():
            overlap = diagrams.conjunction(covered, function)
            if overlap != ZERO:
                example = diagrams.short_formula(overlap, [proposition(p) for p in propositions])
                raise NondeterministicError(
                    f"state {state} is not deterministic: several edges fit where '{example}' holds"
                )
            covered = diagrams.disjunction(covered, function)
            root = diagrams.if_then_else(function, diagrams.leaf(outcome), root)
        roots.append(root)
    return DecisionTable(tuple(propositions), diagrams, tuple(roots))
