"""Deterministic Büchi automata: obligations, recurrences, conjunctions, reduction."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from skm_machine.automata.graphs import components, cyclic_components, reaching
from skm_machine.automata.limits import LimitReachedError, Limits
from skm_machine.automata.mtbdd import ONE, ZERO, Diagrams
from skm_machine.automata.reduction import Graph, MarkedEdge, merge_similar, with_plain_marks
from skm_machine.automata.residuals import Commitment, Commitments, LabelledEdge, Residuals
from skm_machine.logic.formula import Formula

# Obligation properties: Boolean combinations of what finite prefixes decide, for good or for bad.
#
# There, all words that stay in a strongly connected component of residuals are accepted, or none
# is; one loop through it, judged by definition, tells which.


class Loops:
    """Judges functions over the obligations of one translation on loops of label sets."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self._signs: dict[int, tuple[bool, bool]] = {ZERO: (False, False), ONE: (False, False)}
        self._obligation_signs: dict[int, tuple[bool, bool]] = {}

    def signs(self, function: int) -> tuple[bool, bool]:
        """Tell whether F, U, M occur in `function`, and whether G, R, W do, with negations resolved."""
        found = self._signs.get(function)
        if found is None:
            diagrams = self.diagrams
            low, high = diagrams.low[function], diagrams.high[function]
            eventual, lasting = self.obligation_signs(diagrams.variable[function])
            # Where high does not imply low, the variable occurs positively somewhere; operators
            # under an odd number of negations change sides (¬F is G).
            positive, negative = not diagrams.implies(high, low), not diagrams.implies(low, high)
            below, above = self.signs(low), self.signs(high)
            found = self._signs[function] = (
                below[0] or above[0] or (positive and eventual) or (negative and lasting),
                below[1] or above[1] or (positive and lasting) or (negative and eventual),
            )
        return found

    def obligation_signs(self, variable: int) -> tuple[bool, bool]:
        """Tell the same of one obligation."""
        passed: list[int] = []
        while (found := self._obligation_signs.get(variable)) is None:
            passed.append(variable)
            operator, left, right = self.residuals.keys[variable - self.residuals.first]
            if operator == "X":  # bounds make chains of thousands of them
                variable = left
                continue
            lasting = operator != "prop" and (
                self.signs(left)[1] or (operator != "F" and self.signs(right)[1])
            )
            found = (operator != "prop", lasting)
            break
        self._obligation_signs.update(dict.fromkeys(passed, found))
        return found

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
        # Of an obligation property all loops of a component agree (see above), so the cheapest one
        # will do.
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
                        # Twice round the loop: the value at its end depends on that at its
                        # beginning. Begun at the truth of the right side, it is the least fixed
                        # point (U).
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


# Deterministic Büchi automata of commitments: something co-safe now, and co-safe things at every
# step.
#
# A state keeps what is still pending. What is pending for a bounded time only (`G(a -> X b)`) has
# merely to stay possible. Every other part of the commitment (`G F a`, `G(a -> F b)`) is waited for
# in turn: all its obligations at some step must be met before the turn passes on, and a step after
# which the turn has been through all parts is marked. A run that is marked again and again meets
# every obligation.


class AcceptorState(NamedTuple):
    """A state of an acceptor: what is pending."""

    safe: int
    """What must stay possible."""
    turn: int
    """Whose turn it is."""
    current: int
    """What must be met before the turn passes on."""
    later: tuple[int, ...]
    """What is pending for each part besides."""


class Acceptor:
    """The automaton of one commitment's part that holds at every step; a state may be entered anew."""

    def __init__(self, residuals: Residuals, always: frozenset[int]) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self.bounded = ONE
        self.parts: list[int] = []
        for function in sorted(always):
            if is_bounded(residuals, function):
                self.bounded = self.diagrams.conjunction(self.bounded, function)
            else:
                self.parts.append(function)
        self._edges: dict[AcceptorState, list[tuple[int, AcceptorState, bool]]] = {}

    def start(self, now: int) -> AcceptorState | None:
        """Return the state that owes `now` and all that is committed; None if that is impossible."""
        safe, current = self.bounded, now
        # What lasts a bounded time cannot be put off forever, so it needs no turn: it has to stay
        # possible.
        if is_bounded(self.residuals, now):
            safe, current = self.diagrams.conjunction(safe, now), ONE
        elif not self.parts:
            return AcceptorState(safe, 0, current, ()) if safe != ZERO else None
        if self.parts:
            current = self.diagrams.conjunction(current, self.parts[0])
        state = AcceptorState(safe, 0, current, (ONE,) * len(self.parts))
        return None if ZERO in (safe, current) else state

    def edges(self, state: AcceptorState) -> list[tuple[int, AcceptorState, bool]]:
        """Return the edges of `state`: label, target, and whether it is marked; no edge is no run."""
        found = self._edges.get(state)
        if found is None:
            found = self._edges[state] = self._compute(state)
        return found

    def _compute(self, state: AcceptorState) -> list[tuple[int, AcceptorState, bool]]:
        residuals, diagrams = self.residuals, self.diagrams
        pending = [
            residuals.successor(diagrams.conjunction(later, part))
            for later, part in zip(state.later, self.parts, strict=True)
        ]
        roots = (residuals.successor(state.safe), residuals.successor(state.current), *pending)
        merged: dict[tuple[AcceptorState, bool], int] = {}
        for leaves, label in residuals.split(roots).items():
            target = self._after(state.turn, *leaves)
            if target is not None:
                # One edge for each target: parallel edges would multiply in every product.
                merged[target] = diagrams.disjunction(merged.get(target, ZERO), label)
        return [(label, target, marked) for (target, marked), label in merged.items()]

    def _after(
        self, turn: int, safe: int, current: int, *pending: int
    ) -> tuple[AcceptorState, bool] | None:
        """Return the state with what remains of each obligation, and whether the turn went through."""
        diagrams = self.diagrams
        safe = diagrams.conjunction(safe, self.bounded)
        if ZERO in (safe, current, *pending):
            return None
        marked = current == ONE and not pending
        remaining = list(pending)
        # The turn passes over all parts that owe nothing in one step; otherwise marks would come
        # too rarely to be useful.
        while pending and current == ONE and not marked:
            turn += 1
            if turn == len(pending):
                turn, marked = 0, True
            current, remaining[turn] = remaining[turn], ONE
        # The part whose turn it is has to be met anew from here on.
        if pending and current == ONE:
            current = self.parts[turn]
        everything = current
        for index, part in enumerate(self.parts):  # drop what the other obligations imply
            # An eventuality (F ψ) that is due again at every step is implied by its later
            # occurrences, and so need not be remembered.
            if self.residuals.is_eventual(part) or diagrams.implies(everything, remaining[index]):
                remaining[index] = ONE
            everything = diagrams.conjunction(everything, remaining[index])
        return AcceptorState(safe, turn, current, tuple(remaining)), marked


class Acceptors:
    """The acceptors of one translation, one for each set of things committed at every step."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self._acceptors: dict[frozenset[int], Acceptor] = {}

    def of(self, commitment: Commitment) -> tuple[Acceptor, AcceptorState] | None:
        """Return the acceptor of a commitment and its state to start in."""
        acceptor = self._acceptors.get(commitment.always)
        if acceptor is None:
            acceptor = self._acceptors[commitment.always] = Acceptor(
                self.residuals, commitment.always
            )
        start = acceptor.start(commitment.now)
        return None if start is None else (acceptor, start)


def is_bounded(residuals: Residuals, function: int) -> bool:
    """Tell whether `function` has no obligation but propositions and X of these."""
    seen, stack = set[int](), [function]
    while stack:
        node = stack.pop()
        if node > ONE and node not in seen:
            seen.add(node)
            operator, _, _ = residuals.obligation_below_next(residuals.diagrams.variable[node])
            if operator != "prop":
                return False
            stack += (residuals.diagrams.low[node], residuals.diagrams.high[node])
    return True


# Which edges of a deterministic structure are accepting, if marks on its edges can tell at all.
#
# Given is a complete deterministic structure of which every state knows its residual. For each
# strongly connected component: an edge that lies on a cycle of which some word is rejected cannot
# be marked, and marking all others is the best that can be done (as in Krishnan, Puri and
# Brayton, "Deterministic ω-automata vis-à-vis deterministic Büchi automata", ISAAC 1994). Then
# every cycle with an accepted word must have a marked edge; otherwise the component needs
# commitments, or a finer structure. Both questions are asked of the product with the acceptors of
# commitments, for the negated residual and for the residual.


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


Start = tuple[Acceptor, AcceptorState]
"""Where a run that makes a commitment goes on."""


@dataclass(frozen=True)
class Unmarked:
    """A component in which no marks on edges can tell which words are accepted."""

    states: list[int]
    epsilon_transitions: dict[int, list[Start]]
    """From states on every cycle, the commitments that can be kept inside of the component."""


@dataclass(frozen=True)
class Marks:
    """For each state, the label sets on which its edge is marked; and the components without marks."""

    labels: list[int]
    unmarked: list[Unmarked]


_Node = tuple[int, Acceptor, AcceptorState]
_ProductEdge = tuple[int, int, bool]


class Marking:
    """Finds the marks of structures over the obligations of one translation."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self.commitments = Commitments(residuals)
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
                # The search may be too dear; what it would have found is then covered by
                # commitments, at the price of ε-transitions.
                found = self.residuals.limits.attempt(step)
            if found is None:
                entries = entry_states(structure, component)
                epsilon_transitions = {
                    state: self.starts(structure.functions[state]) for state in entries
                }
                found = Unmarked(component, epsilon_transitions)
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
        # The negated residual's acceptors accept what the residual rejects.
        rejecting = _Product(self, structure, component, entries, self.diagrams.negation)
        bad = rejecting.accepting_labels()
        # Nothing is rejected: every edge may be marked.
        if all(label == ZERO for label in bad.values()):
            return dict.fromkeys(component, ONE)
        accepting = _Product(self, structure, component, entries, lambda function: function)
        if accepting.has_accepting_cycle(bad):
            return Unmarked(component, accepting.kept_commitments())
        return {state: self.diagrams.negation(bad[state]) for state in component}

    def obviously_accepted(self, structure: Structure, component: list[int]) -> bool | None:
        """Tell whether all words that stay in a component are accepted, or none; None: not obvious."""
        obvious = self._obvious(structure, component)
        return None if obvious is None else ONE in obvious.values()

    def lasting(self, structure: Structure, component: list[int]) -> tuple[set[int], bool]:
        """Return the states of a component that accepted words come back to forever;

        and whether all words are accepted that stay among these.
        """
        entries = entry_states(structure, component)
        accepting = _Product(self, structure, component, entries, lambda function: function)
        labels = accepting.accepting_labels()
        kept = {state for state, label in labels.items() if label != ZERO}
        rejecting = _Product(self, structure, kept, sorted(kept), self.diagrams.negation)
        return kept, not rejecting.has_accepting_cycle(dict.fromkeys(kept, ONE))

    def starts(self, function: int) -> list[Start]:
        """Return the acceptors of the commitments for `function`, with the states to start in."""
        found = (self.acceptors.of(commitment) for commitment in self.commitments.of(function))
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
            for acceptor, pending in marking.starts(read(structure.functions[state])):
                numbers.setdefault((state, acceptor, pending), len(numbers))
        self.nodes = list(numbers)
        self.starts = len(numbers)
        self.rows: list[list[_ProductEdge]] = []
        conjunction = self.diagrams.conjunction
        for state, acceptor, pending in self.nodes:  # grows while it is walked
            row: list[_ProductEdge] = []
            for label, target in structure.rows[state]:
                if target not in self.component:
                    continue
                for other, next_pending, marked in acceptor.edges(pending):
                    both = conjunction(label, other)
                    if both != ZERO:
                        node = (target, acceptor, next_pending)
                        if node not in numbers:
                            numbers[node] = len(numbers)
                            self.nodes.append(node)
                        row.append((both, numbers[node], marked))
            self.rows.append(row)
            # Nodes of this product are small compared with states of a result, so four count as
            # one.
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

    def kept_commitments(self) -> dict[int, list[Start]]:
        """Return for each state the commitments of those made there that can be kept forever."""
        kept = set[int]()
        successors = [[target for _, target, _ in row] for row in self.rows]
        for cycle in cyclic_components(successors):
            inside = set(cycle)
            if any(marked and t in inside for n in cycle for _, t, marked in self.rows[n]):
                kept |= inside
        found: dict[int, list[Start]] = {}
        for node in sorted(reaching(successors, kept)):
            if node < self.starts:
                state, acceptor, pending = self.nodes[node]
                found.setdefault(state, []).append((acceptor, pending))
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
    # Later functions first: those made early are those of the formula itself, good states to enter
    # from.
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


# Whether two residuals mean the same: is there an infinite trace of one and not of the other?


SAMPLES: Final = 24
MAX_SATISFIABILITY_STATES: Final = 200
"""Where comparing two residuals takes more, they are taken to differ."""


class Residue:
    """Compares functions over the obligations of one translation by the traces that satisfy them."""

    def __init__(self, marking: Marking) -> None:
        self.marking = marking
        self.residuals = marking.residuals
        self.diagrams = marking.diagrams
        self._satisfiable: dict[int, bool] = {ZERO: False, ONE: True}
        self._live: dict[tuple[Acceptor, AcceptorState], bool] = {}

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
            # Too large counts as satisfiable: two residuals are then taken to differ, which is
            # always sound.
            if self._satisfiable.get(residual) or len(order) > MAX_SATISFIABILITY_STATES:
                return True
            if any(self._is_live(*start) for start in self.marking.starts(residual)):
                self._satisfiable[function] = True
                return True
            for _, target in self.residuals.edges(residual):
                if target not in seen and self._satisfiable.get(target) is not False:
                    seen.add(target)
                    order.append(target)
        # None of all that were reached has a live acceptor, so none of them is satisfiable.
        self._satisfiable.update(dict.fromkeys(order, False))
        return False

    def _is_live(self, acceptor: Acceptor, start: AcceptorState) -> bool:
        """Tell whether some trace is accepted from `start`."""
        found = self._live.get((acceptor, start))
        if found is None:
            numbers, order = {start: 0}, [start]
            rows: list[list[tuple[int, bool]]] = []
            for pending in order:  # grows while it is walked
                self.residuals.limits.check(len(order))
                row = []
                for _, target, marked in acceptor.edges(pending):
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


# Finer structures than residuals alone: states that keep something besides, a *companion*.
#
# Whether marks on the edges of a finer structure tell what is accepted is decided by `marking`,
# so that companions need no proof: they only have to be good guesses.


MAX_COMPANION_STATES: Final = 300
"""Finer structures with more states are not tried."""


@dataclass(frozen=True)
class Companion:
    """What is kept besides a state: how it starts there, and what becomes of it (None: start anew)."""

    start: Callable[[int], Hashable]
    step: Callable[[Hashable], list[tuple[int, Hashable]]]


def waiting(marking: Marking, structure: Structure) -> Companion:
    """Return the companion of what a residual waits for, if all that may last forever does.

    Once that has come, it is taken from the residual of that moment, as at a breakpoint: made for
    recurrence formulas, in which no F, U or M has a G, R or W below it.
    """
    residuals = marking.residuals

    def step(pending: Hashable) -> list[tuple[int, Hashable]]:
        edges = residuals.edges(pending) if isinstance(pending, int) else []
        # ONE: it has come, ZERO: it never will; in both cases waiting starts anew.
        return [(label, after if after > ONE else None) for label, after in edges]

    def start(state: int) -> int:
        return marking.commitments.if_all_lasts(structure.functions[state])

    return Companion(start, step)


def following(marking: Marking, structure: Structure, acceptor: Acceptor) -> Companion:
    """Return the companion that follows the commitments of one acceptor."""

    def start(state: int) -> AcceptorState | None:
        found = marking.starts(structure.functions[state])
        return next((pending for other, pending in found if other is acceptor), None)

    def step(pending: Hashable) -> list[tuple[int, Hashable]]:
        edges = acceptor.edges(pending) if isinstance(pending, AcceptorState) else []
        return [(label, after) for label, after, _ in edges]

    return Companion(start, step)


def accompanied(
    residuals: Residuals, structure: Structure, where: Collection[int], companion: Companion
) -> Structure:
    """Return the structure with a companion to each of the states in `where`."""
    diagrams = residuals.diagrams

    def start(state: int) -> Hashable:
        return companion.start(state) if state in where else None

    numbers = {(0, start(0)): 0}
    order = list(numbers)
    rows = []
    for state, kept in order:  # grows while it is walked
        residuals.limits.check(len(order))
        if len(order) > MAX_COMPANION_STATES:
            raise LimitReachedError(f"more than {MAX_COMPANION_STATES} states")
        row: dict[tuple[int, Hashable], int] = {}

        def add(
            target: int, after: Hashable, label: int, row: dict[tuple[int, Hashable], int]
        ) -> None:
            node = (target, start(target) if after is None else after)
            row[node] = diagrams.disjunction(row.get(node, ZERO), label)

        steps = companion.step(kept) if kept is not None else []
        for label, target in structure.rows[state]:
            rest = label
            for other, after in steps if target in where else []:
                add(target, after, diagrams.conjunction(label, other), row)
                # What no edge of the companion covers goes on with a new one.
                rest = diagrams.conjunction(rest, diagrams.negation(other))
            add(target, None, rest, row)
        for node, label in row.items():
            if label != ZERO and node not in numbers:
                numbers[node] = len(order)
                order.append(node)
        rows.append([(label, numbers[node]) for node, label in row.items() if label != ZERO])
    return Structure([structure.functions[state] for state, _ in order], rows)


# Merging the states of a Büchi automaton that read deterministically and accept the same
# language.
#
# Between components that is always sound: an edge may lead to an equal state of a component
# further down. Within one it is sound if the merged edges can still be marked: an edge on a
# rejecting cycle cannot, and each accepting cycle must keep a marked edge. Both are read off the
# automaton itself.


MAX_STATES: Final = 60
"""Larger automata are left as they are: the languages of all pairs of states are compared."""

MAX_ATTEMPTS: Final = 300


def merge_equivalent(graph: Graph, limits: Limits) -> Graph:
    """Return a smaller automaton of the same language, if one is found.

    Compared are the states that no ε-transition can follow; an ε-transition that accepts no more than
    another one from the same state is dropped first.
    """
    compared = _deterministic_part(graph)
    if len(compared) > MAX_STATES:
        return graph
    exceeding = _exceeding(graph, compared, limits)
    if graph.epsilon_transitions:
        epsilon_transitions = [
            _largest(targets, exceeding) for targets in graph.epsilon_transitions
        ]
        graph = Graph(graph.diagrams, graph.rows, epsilon_transitions)
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
    """Return the states that no ε-transition can follow."""
    with_epsilon = [
        state for state in range(len(graph.rows)) if graph.epsilon_transitions_from(state)
    ]
    before = reaching(graph.successors(), with_epsilon)
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
    # A difference further on is a difference here.
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
        for target in (
            *(t for _, t, _ in graph.rows[state]),
            *graph.epsilon_transitions_from(state),
        ):
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
        # The smaller name stays, so names do not depend on the order of merging.
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
    # Cycles without a mark reject: no edge on them may be marked after merging either.
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
    return Graph(diagrams, rows, graph.epsilon_transitions).quotient(block, range(len(rows)))


# Deterministic Büchi automata of conjunctions and disjunctions, from those of their parts.


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
    product = _SynchronousProduct(graphs, limits)

    def edges(state: tuple[int, ...]) -> list[_Step]:
        turn, *states = state
        found: list[_Step] = []
        for label, targets, marks in product.combined(tuple(states)):
            if product.dead_in(targets):
                found.append((label, product.dead, False))
                continue
            passed = turn
            # Several parts may be marked on one edge; the turn goes past all of them at once.
            while passed < len(parts) and marks[passed]:
                passed += 1
            round_done = passed == len(parts)
            marked = round_done and (weak is None or marks[-1])
            found.append((label, (0 if round_done else passed, *targets), marked))
        return found

    return product.graph((0, *(0 for _ in graphs)), edges)


def disjunction_of(parts: Sequence[Graph], limits: Limits) -> Graph:
    """Return the automaton of one of `parts` at least: marked where one of them is."""
    product = _SynchronousProduct(parts, limits)

    def edges(state: tuple[int, ...]) -> list[_Step]:
        return [(label, to, any(marks)) for label, to, marks in product.combined(state)]

    return product.graph(tuple(0 for _ in parts), edges)


class _SynchronousProduct:
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


# Recurrence formulas: no F, U or M has a G, R or W below it, as in `G(a -> F(b & X c))`.
#
# They have deterministic Büchi automata without any search. A state is the residual ψ together
# with what it waits for: first ψ with every G, R and W replaced by true, which is co-safe, then
# what remains of that. When it has come true, the edge is marked and the waiting starts anew.
#
# If w satisfies the formula, it satisfies every residual and so what is waited for, which comes
# true in finite time. If it does not, it satisfies the negation, in which every F, U and M is
# fulfilled after finitely many steps. From then on, w satisfies the negated residual with all of
# them replaced by false: what is waited for never comes. (The residuals must be propositional
# here: no laws may be used.)


def recurrence_graph(formula: Formula, limits: Limits) -> Graph | None:
    """Return a deterministic automaton of a recurrence formula; None if it is not one by its form."""
    residuals = Residuals(formula.propositions(), limits)
    initial = residuals.function(formula)
    if not _is_recurrence(Loops(residuals), initial):
        return None
    commitments = Commitments(residuals)
    numbers = {(initial, commitments.if_all_lasts(initial)): 0}
    order = list(numbers)
    graph = Graph(residuals.diagrams, [])
    for residual, awaited in order:  # grows while it is walked
        limits.check(len(order))
        row: list[MarkedEdge] = []
        roots = (residuals.successor(residual), residuals.successor(awaited))
        for (after, still_awaited), label in residuals.split(roots).items():
            marked = still_awaited == ONE and after != ZERO
            node = (after, commitments.if_all_lasts(after) if marked else still_awaited)
            # All ways to lose are one dead state.
            node = (ZERO, ZERO) if ZERO in node else node
            if node not in numbers:
                numbers[node] = len(order)
                order.append(node)
            row.append((label, numbers[node], marked))
        graph.rows.append(graph.joined(row))
    return graph


def _is_recurrence(loops: Loops, function: int) -> bool:
    """Tell whether no F, U or M of `function` has a G, R or W below it, with negations resolved."""
    diagrams = loops.diagrams
    seen, stack = {ZERO, ONE}, [function]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        low, high = diagrams.low[node], diagrams.high[node]
        stack += (low, high)
        if not diagrams.implies(high, low) and loops.obligation_signs(diagrams.variable[node])[1]:
            return False
        if not diagrams.implies(low, high):
            operator, left, right = loops.residuals.obligation_below_next(diagrams.variable[node])
            if operator != "prop":
                stack.append(diagrams.negation(left))
            if operator == "U":
                stack.append(diagrams.negation(right))
    return True
