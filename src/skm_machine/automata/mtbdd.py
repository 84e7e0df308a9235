"""Decision diagrams: Boolean functions (BDD), and machines' steps by label set (MTBDD)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from skm_machine.automata.limits import LimitReachedError
from skm_machine.errors import NondeterministicError
from skm_machine.logic.formula import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    proposition,
)

# Reduced ordered binary decision diagrams: functions of Booleans as shared nodes, equal iff
# identical.
#
# Small on purpose: what the translator needs, in plain Python. Nodes are integers; 0 is false, 1
# true. Further leaves hold other values, such as the next state of an automaton: a diagram with
# such leaves is a function from label sets to states that never lists the label sets.


ZERO: Final = 0
ONE: Final = 1
_LEAF_VARIABLE: Final = 1 << 60

MAX_NODES: Final = 500_000
"""A mission that needs more is refused, before it takes minutes."""

MAX_CUBES: Final = 100
"""Readable formulas: a label with more parts than this is written in another way."""

Cube = tuple[tuple[int, bool], ...]
"""A conjunction of literals: pairs (variable, whether it is true)."""


class Diagrams:
    """A table of decision diagrams over the variables 0, 1, 2, … which are tested in that order."""

    def __init__(self, check: Callable[[], None] | None = None) -> None:
        """`check` is called now and then while the table grows, and may raise to stop that."""
        self._check = check
        self.variable: list[int] = [_LEAF_VARIABLE, _LEAF_VARIABLE]
        self.low: list[int] = [ZERO, ONE]
        self.high: list[int] = [ZERO, ONE]
        self._nodes: dict[tuple[int, int, int], int] = {}
        self._values: dict[int, int] = {}
        self._if_then_else: dict[tuple[int, int, int], int] = {}

    @property
    def size(self) -> int:
        """The number of nodes in the table."""
        return len(self.variable)

    def node(self, variable: int, low: int, high: int) -> int:
        """Return the function that is `high` where `variable` holds and `low` elsewhere."""
        # Reduced diagrams: a node that tests nothing is left out, so equal functions are equal
        # numbers.
        if low == high:
            return low
        key = (variable, low, high)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.variable)
            if found > MAX_NODES:
                raise LimitReachedError(f"a table of more than {MAX_NODES} nodes")
            # The clock is looked at now and then only: nodes are made by the million.
            if self._check is not None and not found % 1024:
                self._check()
            self.variable.append(variable)
            self.low.append(low)
            self.high.append(high)
        return found

    def leaf(self, value: int) -> int:
        """Return the leaf that holds `value`, for functions whose values are not truth values."""
        # Through the same table, so that equal leaves are one node. Its `low` and `high` are no
        # nodes, but a key that no inner node has.
        node = self.node(_LEAF_VARIABLE, ~value, value)
        self._values[node] = value
        return node

    def value(self, node: int) -> int | None:
        """Return what the leaf `node` holds, or None if it is no such leaf."""
        return self._values.get(node)

    def literal(self, variable: int) -> int:
        """Return the function that is the variable itself."""
        return self.node(variable, ZERO, ONE)

    def if_then_else(self, test: int, then: int, other: int) -> int:
        """Return `then` where `test` holds and `other` elsewhere; every Boolean operator is a case.

        `test` must be Boolean; the other two may have leaves of any kind.
        """
        if test == ONE or then == other:
            return then
        if test == ZERO:
            return other
        # The test itself: then nothing needs to be built, and the memo stays small.
        if then == ONE and other == ZERO:
            return test
        key = (test, then, other)
        found = self._if_then_else.get(key)
        if found is not None:
            return found
        variable, low, high = self.variable, self.low, self.high
        # The first variable that any of the three tests: all diagrams keep one order.
        top = min(variable[test], variable[then], variable[other])
        test_low, test_high = (low[test], high[test]) if variable[test] == top else (test, test)
        then_low, then_high = (low[then], high[then]) if variable[then] == top else (then, then)
        other_low, other_high = (
            (low[other], high[other]) if variable[other] == top else (other, other)
        )
        found = self.node(
            top,
            self.if_then_else(test_low, then_low, other_low),
            self.if_then_else(test_high, then_high, other_high),
        )
        self._if_then_else[key] = found
        return found

    def negation(self, function: int) -> int:
        """Return the negation of `function`."""
        return self.if_then_else(function, ZERO, ONE)

    def conjunction(self, left: int, right: int) -> int:
        """Return the conjunction of two functions."""
        return self.if_then_else(left, right, ZERO)

    def disjunction(self, left: int, right: int) -> int:
        """Return the disjunction of two functions."""
        return self.if_then_else(left, ONE, right)

    def is_literal(self, function: int) -> bool:
        """Tell whether `function` is a variable or the negation of one."""
        return self.low[function] <= ONE and self.high[function] <= ONE

    def implies(self, left: int, right: int) -> bool:
        """Tell whether `left` is false wherever `right` is."""
        return self.if_then_else(left, right, ONE) == ONE

    def constrained(self, function: int, care: int) -> int:
        """Return one function for all that agree with `function` where `care` holds, which must happen.

        This is the generalised cofactor of Coudert and Madre; leaves of any kind are allowed.
        """
        memo: dict[tuple[int, int], int] = {}

        def cofactor(function: int, care: int) -> int:
            # A leaf cannot become simpler, whatever is known.
            if care == ONE or self.variable[function] == _LEAF_VARIABLE:
                return function
            found = memo.get((function, care))
            if found is None:
                top = min(self.variable[function], self.variable[care])
                low, high = self._cofactors(function, top)
                care_low, care_high = self._cofactors(care, top)
                # This side never happens, so the test is not needed.
                if care_low == ZERO:
                    found = cofactor(high, care_high)
                elif care_high == ZERO:
                    found = cofactor(low, care_low)
                else:
                    found = self.node(top, cofactor(low, care_low), cofactor(high, care_high))
                memo[function, care] = found
            return found

        return cofactor(function, care)

    def split(self, roots: tuple[int, ...], variable: int) -> dict[tuple[int, ...], int]:
        """Return functions of the variables before `variable`, by where they lead.

        Where they lead is a combination of nodes below `roots` that test none of these variables.
        """
        memo: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}

        def parts(nodes: tuple[int, ...]) -> dict[tuple[int, ...], int]:
            found = memo.get(nodes)
            if found is None:
                top = min(self.variable[node] for node in nodes)
                if top >= variable:
                    return {nodes: ONE}
                low, high = zip(*(self._cofactors(node, top) for node in nodes), strict=True)
                below, above = parts(low), parts(high)
                found = {
                    key: self.node(top, below.get(key, ZERO), above.get(key, ZERO))
                    for key in below | above
                }
                memo[nodes] = found
            return found

        return parts(roots)

    def of_formula(self, formula: Formula, atom: Callable[[Formula], int]) -> int:
        """Return the function that a Boolean formula says; `atom` gives that of anything not Boolean."""
        functions: dict[Formula, int] = {}
        for sub in formula.subformulas():
            operands = [functions[operand] for operand in sub.operands]
            functions[sub] = self.operation(sub, operands, atom)
        return functions[formula]

    def expanded(
        self,
        formula: Formula,
        known: dict[Formula, int],
        atom: Callable[[Formula], int],
        finish: Callable[[int], int] = int,
    ) -> int:
        """Return the same where `atom` may ask for more formulas: what is `known` grows.

        Each function goes through `finish` before it is used.
        """
        stack = [formula]
        while stack:
            sub = stack[-1]
            # A stack of its own: formulas with bounds are nested deeper than Python recurses.
            missing = [operand for operand in sub.operands if operand not in known]
            if sub in known:
                stack.pop()
            elif missing:
                stack += missing
            else:
                operands = [known[operand] for operand in sub.operands]
                known[sub] = finish(self.operation(sub, operands, atom))
        return known[formula]

    def operation(
        self, formula: Formula, operands: list[int], atom: Callable[[Formula], int]
    ) -> int:
        """Return the function of one operator applied to the functions of its operands."""
        match formula.operator:
            case "true":
                return ONE
            case "false":
                return ZERO
            case "!":
                return self.negation(operands[0])
            case "&":
                result = ONE
                for operand in reversed(operands):
                    result = self.conjunction(operand, result)
                return result
            case "|":
                result = ZERO
                for operand in reversed(operands):
                    result = self.disjunction(operand, result)
                return result
            case "->":
                return self.if_then_else(operands[0], operands[1], ONE)
            case "<->":
                return self.if_then_else(operands[0], operands[1], self.negation(operands[1]))
            case "xor":
                return self.if_then_else(operands[0], self.negation(operands[1]), operands[1])
            case _:
                return atom(formula)

    def cubes(self, function: int, most: int) -> list[Cube] | None:
        """Return an irredundant disjunction of cubes equal to `function` (Minato and Morreale).

        None if it would have more than `most` cubes.
        """
        memo: dict[tuple[int, int], tuple[list[Cube], int]] = {}

        def cover(lower: int, upper: int) -> tuple[list[Cube], int]:
            """Cover all of `lower` and nothing outside of `upper`; also return what was covered."""
            if lower == ZERO:
                return [], ZERO
            if upper == ONE:
                return [()], ONE
            key = (lower, upper)
            if key in memo:
                return memo[key]
            top = min(self.variable[lower], self.variable[upper])
            lower_0, lower_1 = self._cofactors(lower, top)
            upper_0, upper_1 = self._cofactors(upper, top)
            # What must be covered on this side and must not on the other: such cubes need the
            # literal.
            cubes_0, done_0 = cover(self.conjunction(lower_0, self.negation(upper_1)), upper_0)
            cubes_1, done_1 = cover(self.conjunction(lower_1, self.negation(upper_0)), upper_1)
            left = self.disjunction(
                self.conjunction(lower_0, self.negation(done_0)),
                self.conjunction(lower_1, self.negation(done_1)),
            )
            # What is left can be covered without the literal.
            cubes_both, done_both = cover(left, self.conjunction(upper_0, upper_1))
            cubes = [((top, True), *cube) for cube in cubes_1]
            cubes += [((top, False), *cube) for cube in cubes_0]
            cubes += cubes_both
            if len(cubes) > most:
                # Parities have exponentially many cubes; case distinctions are shorter then.
                raise _TooManyCubesError
            memo[key] = (cubes, self.disjunction(done_both, self.node(top, done_0, done_1)))
            return memo[key]

        try:
            return cover(function, function)[0]
        except _TooManyCubesError:
            return None

    def below(self, root: int, variable: int, seen: set[int] | None = None) -> list[int]:
        """Return the nodes first met below `root` that test no variable before `variable`.

        What is in `seen` is passed over, and what is met is added to it: calls that share it take
        no longer together than the diagrams are large.
        """
        seen = set() if seen is None else seen
        found: list[int] = []
        stack = [] if root in seen else [root]
        seen.add(root)
        while stack:
            node = stack.pop()
            if self.variable[node] >= variable:
                found.append(node)
                continue
            for child in (self.high[node], self.low[node]):
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return found

    def support(self, function: int) -> set[int]:
        """Return the variables that `function` depends on."""
        found, seen, stack = set[int](), {ZERO, ONE}, [function]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                found.add(self.variable[node])
                stack += (self.low[node], self.high[node])
        return found

    def rebuild(
        self, root: int, into: Diagrams, leaf: Callable[[int], int | None], memo: dict[int, int]
    ) -> int:
        """Return a copy of `root` in another table.

        Where `leaf(node)` is not None, it is what takes the place of that node. `memo` is shared
        between the calls that copy with the same `leaf`.
        """
        found = memo.get(root)
        if found is None:
            found = leaf(root)
            if found is None:
                low = self.rebuild(self.low[root], into, leaf, memo)
                high = self.rebuild(self.high[root], into, leaf, memo)
                found = into.node(self.variable[root], low, high)
            memo[root] = found
        return found

    def _cofactors(self, function: int, variable: int) -> tuple[int, int]:
        if self.variable[function] == variable:
            return self.low[function], self.high[function]
        return function, function

    def short_formula(self, function: int, atoms: list[Formula]) -> Formula:
        """Return a short Boolean formula for `function`, whose variables stand for `atoms`.

        The shorter of a disjunction of conjunctions and a conjunction of disjunctions, with the
        literals that all its parts share written once; where both are long (as for a parity), the
        case distinction that the diagram is.
        """
        candidates = []
        cubes = self.cubes(function, MAX_CUBES)
        if cubes is not None:
            candidates.append(_factored(cubes, atoms))
        if cubes is None or len(cubes) > 1:
            dual_cubes = self.cubes(self.negation(function), MAX_CUBES)
            if dual_cubes is not None:
                candidates.append(_dual(_factored(dual_cubes, atoms)))
        if not candidates:
            return self._cases(function, atoms, {})
        return min(candidates, key=_cost)

    def _cases(self, function: int, atoms: list[Formula], memo: dict[int, Formula]) -> Formula:
        """Return `function` as nested case distinctions, one for each node."""
        if function <= ONE:
            return TRUE if function == ONE else FALSE
        if function not in memo:
            atom = atoms[self.variable[function]]
            low = self._cases(self.low[function], atoms, memo)
            # One side is the negation of the other: an exclusive or, which would be two cases of
            # equal size.
            if self.high[function] == self.negation(self.low[function]):
                memo[function] = Formula("xor", (atom, low))
            else:
                high = self._cases(self.high[function], atoms, memo)
                memo[function] = disjunction(
                    conjunction(atom, high), conjunction(negation(atom), low)
                )
        return memo[function]


class _TooManyCubesError(Exception):
    """Raised inside of `cubes` to give up."""


def _factored(cubes: list[Cube], atoms: list[Formula]) -> Formula:
    """Return the disjunction of `cubes`, with the literals common to all of them taken out."""
    if not cubes:
        return FALSE
    common = [literal for literal in cubes[0] if all(literal in cube for cube in cubes)]
    rest = [
        conjunction(*(_literal(literal, atoms) for literal in cube if literal not in common))
        for cube in cubes
    ]
    rest.sort(key=lambda formula: (len(formula.operands), str(formula)))
    parts = [_literal(literal, atoms) for literal in common]
    # Positive literals first, as people write them.
    parts.sort(key=lambda formula: formula.operator == "!")
    return conjunction(*parts, disjunction(*rest))


def _literal(literal: tuple[int, bool], atoms: list[Formula]) -> Formula:
    variable, positive = literal
    return atoms[variable] if positive else negation(atoms[variable])


def _dual(formula: Formula) -> Formula:
    """Return the negation of a formula made of literals, `&` and `|`, with the negations pushed down."""
    duals: dict[Formula, Formula] = {}
    for sub in formula.subformulas():
        operands = [duals[operand] for operand in sub.operands]
        if sub.operator == "&":
            duals[sub] = disjunction(*operands)
        elif sub.operator == "|":
            duals[sub] = conjunction(*operands)
        else:
            duals[sub] = negation(sub)
    return duals[formula]


def _cost(formula: Formula) -> tuple[int, int]:
    """Return how long a formula is to read: first its literals, then its negations."""
    literals, negations, stack = 0, 0, [formula]
    while stack:
        sub = stack.pop()
        stack.extend(sub.operands)
        literals += sub.operator == "prop"
        negations += sub.operator == "!"
    return (literals, negations)


# What a machine does on each label set, for each of its states: one decision diagram per state.
#
# Automata and reward machines both stand on this table. A step is a look-up; the symbolic edges
# that people read are computed from the diagrams when they are asked for.


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
        # Callers mostly have frozensets: to make them anew would cost more than the look-up.
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
        # A node is younger than those below it, so sorted by number each comes after its children.
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
                # A state that can get there makes all leaves that lead to it good, too.
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
                    # Of label sets of equal length the one without the variable: `low` comes first.
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
        # A table of its own: outcomes that become equal merge, and the old nodes can be freed.
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
                # The whole overlap as a formula: it says what to exclude, better than one label set
                # would.
                example = diagrams.short_formula(overlap, [proposition(p) for p in propositions])
                raise NondeterministicError(
                    f"state {state} is not deterministic: several edges fit where '{example}' holds"
                )
            covered = diagrams.disjunction(covered, function)
            root = diagrams.if_then_else(function, diagrams.leaf(outcome), root)
        roots.append(root)
    return DecisionTable(tuple(propositions), diagrams, tuple(roots))
