"""The residuals of a formula's language over infinite traces, and whether they tell "satisfied so far".

The residual after a finite trace is what must still come. A residual is *lasting* if it can stay for
ever: some word leads back to it, and is accepted when repeated without end. After `F a & G !b` has seen
an a, `G !b` is lasting; before, it is not. A language *tells* whether it is satisfied so far if no word
that passes lasting residuals only is rejected: who stays there forever has satisfied it.

All obligation properties tell, the Boolean combinations of safe and co-safe ones (`G !a`, `F a`). So do
some others: `F(a & X(F b & G !c))` falls back to an earlier residual with every c. `G F a`, `F G a` and
`G(a -> F b)` do not: what is accepted and what is rejected passes the same residuals.

This depends on the language alone, not on how a formula was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skm_machine.automata.buchi import Marking, Marks, Residue, Structure
from skm_machine.automata.graphs import cyclic_components, reachable, reaching
from skm_machine.automata.ldba import marked_graph, residual_structure
from skm_machine.automata.limits import LimitReachedError, Limits, TooManyStatesError
from skm_machine.automata.mtbdd import ONE, ZERO, Diagrams
from skm_machine.automata.reduction import merge_similar, with_dead_merged, with_plain_marks
from skm_machine.automata.residuals import LabelledEdge, Residuals
from skm_machine.logic.formula import Formula
from skm_machine.logic.normal_forms import negation_normal_form

SAMPLES: Final = ((10, 8), (48, 24))
"""How many residuals are looked at by how many label sets each, before all are by all."""
MAX_STATES: Final = 400
MAX_COMPARED: Final = 80
"""Residuals that are compared by the words that they accept; more take too long."""
MAX_CHECKS: Final = 2500
MAX_NODES: Final = 80_000


class Effort(Limits):
    """Limits that count work instead of seconds, so that the answer is the same on every machine."""

    def __init__(self) -> None:
        super().__init__(MAX_STATES, float("inf"))
        self.left = MAX_CHECKS
        self.diagrams: Diagrams | None = None
        """Those that grow with the work."""

    def check(self, states: int = 0) -> None:
        """Raise `LimitReachedError` if there are more states than allowed, or too much was done."""
        if states > self.max_states:
            raise TooManyStatesError(f"more than {self.max_states} states")
        if not states:
            self.left -= 1
            if self.left < 0 or (self.diagrams and self.diagrams.size > MAX_NODES):
                raise LimitReachedError("more work than it is worth")


@dataclass(frozen=True)
class ResidualAutomaton:
    """A language's residuals as the states of a deterministic, complete automaton; 0 is the whole."""

    rows: Sequence[Sequence[LabelledEdge]]
    lasting: frozenset[int]
    universal: frozenset[int]
    """The state, if there is one, that every word satisfies."""
    tells: bool
    """Whether no word is rejected that passes lasting states only."""
    nothing: Sequence[int]
    """The state after a step that shows nothing."""

    def decisive(self) -> int:
        """Return the first state in which it matters what comes: the initial one, or one after it."""
        state = 0
        while len(targets := {target for _, target in self.rows[state]}) == 1:
            (target,) = targets
            if target == state:
                break
            state = target
        return state


class ResidualLanguage:
    """Finds the residuals of one formula's language, within a fixed amount of work."""

    def __init__(self, formula: Formula) -> None:
        effort = Effort()
        self.residuals = Residuals(formula.propositions(), effort)
        effort.diagrams = self.residuals.diagrams
        self.marking = Marking(self.residuals)
        form, names = negation_normal_form(formula), self.residuals.names
        negated = {sub.operands[0].name for sub in form.subformulas() if sub.operator == "!"}
        self._denied = frozenset(index for index, name in enumerate(names) if name in negated)
        self.function = self.residuals.function(form)
        self.residuals.learn_laws()

    def automaton(self) -> ResidualAutomaton:
        """Return all residuals, each once."""
        structure = residual_structure(self.residuals, self.function)
        obvious: dict[int, bool] = {}
        for component in cyclic_components(structure.successors()):
            accepted = self.marking.obviously_accepted(structure, component)
            if accepted is None:
                return self._merged(structure)
            obvious.update(dict.fromkeys(component, accepted))
        # Then it is an obligation property, and a smaller automaton is the smallest (Löding 2001).
        labels = [ONE if obvious.get(state) else ZERO for state in range(len(structure.rows))]
        graph = marked_graph(self.residuals, structure, Marks(labels, []))
        graph = merge_similar(with_plain_marks(with_dead_merged(graph))[0])
        rows = [[(label, target) for label, target, _ in row] for row in graph.rows]
        lasting = set[int]()
        for cycle in cyclic_components(graph.successors()):
            inside = set(cycle)
            if any(mark and t in inside for s in cycle for _, t, mark in graph.rows[s]):
                lasting |= inside
        every = {s for s, row in enumerate(graph.rows) if row == [(ONE, s, True)]}
        return self._automaton(rows, lasting, every, tells=True)

    def _automaton(
        self,
        rows: Sequence[Sequence[LabelledEdge]],
        lasting: set[int],
        universal: set[int],
        *,
        tells: bool,
    ) -> ResidualAutomaton:
        nothing = [next(t for label, t in row if self._is_shown(label)) for row in rows]
        return ResidualAutomaton(rows, frozenset(lasting), frozenset(universal), tells, nothing)

    def _is_shown(self, label: int) -> bool:
        """Tell whether a step that shows nothing satisfies a label."""
        while label > ONE:
            label = self.residuals.diagrams.low[label]
        return label == ONE

    def _merged(self, structure: Structure) -> ResidualAutomaton:
        """Return the residuals with those made one that the same words satisfy."""
        if len(structure.rows) > MAX_COMPARED:
            raise TooManyStatesError(f"more than {MAX_COMPARED} states")
        found = Residue(self.marking).classes([ZERO, ONE, *structure.functions])
        first: dict[int, int] = {}
        for state, name in enumerate(found[2:]):
            first.setdefault(name, state)
        block = [first[name] for name in found[2:]]
        order = reachable(0, lambda state: [block[t] for _, t in structure.rows[state]])
        number = {state: index for index, state in enumerate(order)}
        functions = [
            found[state + 2] if found[state + 2] <= ONE else structure.functions[state]
            for state in order
        ]
        rows: list[list[LabelledEdge]] = []
        for state in order:
            labels: dict[int, int] = {}
            for label, target in structure.rows[state]:
                after = number[block[target]]
                before = labels.get(after, ZERO)
                labels[after] = self.residuals.diagrams.disjunction(label, before)
            rows.append([(label, target) for target, label in labels.items()])
        merged = Structure(functions, rows)
        lasting, tells = set[int](), True
        for component in cyclic_components(merged.successors()):
            some, all_accepted = self.marking.lasting(merged, component)
            lasting |= some
            tells &= all_accepted
        every = {state for state, function in enumerate(functions) if function == ONE}
        return self._automaton(rows, lasting, every, tells=tells)

    def sample(self, residuals: int, letters: int) -> Sample:
        """Return the first residuals that some label sets lead to, with how their loops are judged."""
        tried = self._letters()[:letters]
        numbers = {self._name(self.function): 0}
        functions = [self.function]
        rows: list[list[int]] = []
        for function in functions:  # grows while it is walked
            row = []
            for letter in tried:
                target = self._after(function, letter)
                name = self._name(target)
                if name not in numbers and len(functions) < residuals:
                    numbers[name] = len(functions)
                    functions.append(target)
                row.append(numbers.get(name, -1))
            rows.append(row)
        return Sample(self.marking, functions, tried, rows)

    def _letters(self) -> list[frozenset[int]]:
        """Return the label sets to try: nothing first, then what the formula asks for, and the like."""
        every = frozenset(range(len(self.residuals.names)))
        good = every - self._denied
        letters = [frozenset[int](), good, every - good, every]
        for name in sorted(every):
            letters += [frozenset({name}), good ^ {name}]
        return list(dict.fromkeys(letters))

    def _name(self, function: int) -> int:
        return self.residuals.lawful(function)

    def _after(self, function: int, letter: frozenset[int]) -> int:
        diagrams, node = self.residuals.diagrams, self.residuals.successor(function)
        while diagrams.variable[node] < self.residuals.first:
            node = diagrams.high[node] if diagrams.variable[node] in letter else diagrams.low[node]
        name = self._name(node)
        return name if name <= ONE else node


class Sample:
    """Some residuals of a language, some words between them, and whether words that go round hold.

    What is seen here is so; what is not seen may be so all the same.
    """

    def __init__(
        self,
        marking: Marking,
        functions: Sequence[int],
        letters: Sequence[frozenset[int]],
        rows: Sequence[Sequence[int]],
    ) -> None:
        self._letters, self._rows = letters, rows
        successors = [sorted({t for t in row if t >= 0}) for row in rows]
        accepted, rejected = set[int](), set[int]()
        broken: list[set[int]] = []
        for component in cyclic_components(successors):
            for state in component:
                for word, passed in self._loops(state, set(component)):
                    if marking.loops.holds(functions[state], word):
                        accepted.add(state)
                    else:
                        rejected.add(state)
                        broken.append(passed)
        self.lasting = frozenset(accepted)
        self.mixed = any(passed <= accepted for passed in broken)
        """Whether a rejected word passes lasting residuals only: it does not tell."""
        alive = reaching(successors, accepted)
        self.waiting = reaching(successors, rejected & alive) | rejected
        """From these, some word is rejected, though each of its prefixes could still be accepted; unless
        nothing is accepted from there at all."""
        self.demanding = reaching(successors, rejected)
        """From these, some word is rejected."""

    def idle(self) -> list[int]:
        """Return the residuals passed by showing nothing, the initial one first; -1 is unknown."""
        found = [0]
        while found[-1] >= 0 and found[-1] not in found[:-1]:
            found.append(self._rows[found[-1]][0])
        return found

    def _loops(self, start: int, inside: set[int]) -> list[tuple[list[frozenset[int]], set[int]]]:
        """Return, for each letter that stays inside, a shortest loop that begins with it."""
        loops = []
        for letter, first in zip(self._letters, self._rows[start], strict=True):
            if first in inside:
                rest = self._path(first, start, inside)
                word = [letter, *(step for step, _ in rest)]
                loops.append((word, {start, first, *(state for _, state in rest)}))
        return loops

    def _path(self, source: int, target: int, inside: set[int]) -> list[tuple[frozenset[int], int]]:
        """Return a shortest way, as letters with the residuals that they lead to."""
        came: dict[int, tuple[int, frozenset[int]]] = {}
        for state in (queue := [source]):  # grows while it is walked
            if state == target:
                break
            for letter, after in zip(self._letters, self._rows[state], strict=True):
                if after in inside and after not in came and after != source:
                    came[after] = state, letter
                    queue.append(after)
        path = []
        while target != source:
            before, letter = came[target]
            path.append((letter, target))
            target = before
        return path[::-1]
