"""Two automata watched at the same time: one that prefixes decide, and one that goes on for ever."""

from __future__ import annotations

from skm_machine.automata.bdd import Diagrams
from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.limits import Limits
from skm_machine.automata.reachability import cyclic_components, reaching
from skm_machine.watch import Credit, Watch

_Pair = tuple[int, int]


def watch_both(finite: Watch, endless: Watch, limits: Limits) -> Watch:
    """Watch both: a round starts anew where it does in one of them, and needs what `endless` needs.

    `finite` has no jumps.
    """
    product = _Product(finite, endless)
    roots, jumps = [], []
    for pair in product.pairs:  # grows while it is walked
        roots.append(product.root(pair))
        found = endless.jumps_from(pair[1])
        jumps.append(tuple(product.number((pair[0], to)) for to in found))
        limits.check(len(roots))
    calm = [pair[0] in finite.calm and pair[1] in endless.calm for pair in product.pairs]
    return Watch(
        DecisionTable(product.names, product.diagrams, tuple(roots)),
        tuple(product.targets),
        product.credits,
        0,
        product.dead(jumps),
        frozenset(number for number, is_calm in enumerate(calm) if is_calm),
        tuple(jumps) if any(jumps) else (),
    )


class _Product:
    """The pairs of states found so far, and their moves."""

    def __init__(self, finite: Watch, endless: Watch) -> None:
        self.parts = finite, endless
        names = [name for part in self.parts for name in part.table.propositions]
        self.names = tuple(dict.fromkeys(names))
        self.diagrams = Diagrams()
        self.pairs: list[_Pair] = []
        self.targets: list[int | None] = []
        """The pair that each outcome leads to; None where all is lost."""
        self.credits: dict[_Pair, Credit] = {}
        self._numbers: dict[_Pair, int] = {}
        self._outcomes: dict[_Pair, int] = {}
        self._known: dict[_Pair, dict[int, int]] = {}
        self.number((finite.initial, endless.initial))

    def number(self, pair: _Pair) -> int:
        """Return the number of a pair of states."""
        if pair not in self._numbers:
            self._numbers[pair] = len(self.pairs)
            self.pairs.append(pair)
        return self._numbers[pair]

    def root(self, pair: _Pair) -> int:
        """Return the diagram of the moves of both, and set down what they are worth."""
        finite, endless = self.parts
        root, number = self.diagrams.leaf(0), self._numbers[pair]
        for one, first in self._conditions(0, pair[0]).items():
            branch = self.diagrams.leaf(0)
            for other, second in self._conditions(1, pair[1]).items():
                outcome = self._outcome(one, other)
                counts = finite.credits[pair[0], one] is not Credit.NONE
                credit = endless.credits.get((pair[1], other), Credit.NONE)
                self.credits[number, outcome] = credit if counts else Credit.NONE
                leaf = self.diagrams.leaf(outcome)
                branch = self.diagrams.if_then_else(second, leaf, branch)
            root = self.diagrams.if_then_else(first, branch, root)
        return root

    def _outcome(self, one: int, other: int) -> int:
        if (one, other) not in self._outcomes:
            self._outcomes[one, other] = len(self.targets)
            finite, endless = self.parts
            first, second = finite.target(one), endless.target(other)
            lost = first is None or second is None
            self.targets.append(None if lost else self.number((first or 0, second or 0)))
        return self._outcomes[one, other]

    def _conditions(self, part: int, state: int) -> dict[int, int]:
        """Return the function of each outcome that the state of one part has."""
        if (part, state) not in self._known:
            table = self.parts[part].table
            variables = [self.names.index(name) for name in table.propositions]
            found = {
                outcome: table.condition(state, outcome, self.diagrams, variables)
                for outcome in table.outcomes(state)
            }
            self._known[part, state] = found
        return self._known[part, state]

    def dead(self, jumps: list[tuple[int, ...]]) -> frozenset[int]:
        """Return the pairs from which no rounds are completed for ever."""
        moves: list[list[tuple[int, Credit]]] = [[] for _ in self.pairs]
        for (number, outcome), credit in self.credits.items():
            target = self.targets[outcome]
            if target is not None:
                moves[number].append((target, credit))
        successors = [[target for target, _ in row] for row in moves]
        hopeful: set[int] = set()
        for component in cyclic_components(successors):
            inside = set(component)
            credits = {c for state in component for to, c in moves[state] if to in inside}
            if not credits.isdisjoint((Credit.MARK, Credit.ALWAYS)):
                hopeful |= inside
        onward = [[*row, *jumps[number]] for number, row in enumerate(successors)]
        return frozenset(range(len(self.pairs))) - reaching(onward, hopeful)
