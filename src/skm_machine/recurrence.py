"""Recurring missions: missions with no end, of any formula.

Recurrences `G F p` (p Boolean) are counted in any order; all other clauses are monitored by one
automaton: the finite one, if a prefix decides each of them (safe, `G !c`, or co-safe, `F(a & X F b)`),
else that of all of LTL (with the finite one of long bounds beside it). `rounds` makes the machine of
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from skm_machine.automata.dfa import Automaton
from skm_machine.automata.graphs import components, cyclic_components, reaching
from skm_machine.automata.growth import too_large
from skm_machine.automata.ldba import as_automaton, best_graph
from skm_machine.automata.limits import LimitReachedError, Limits, deep_diagrams_are_a_limit
from skm_machine.automata.ltlf import MAX_SECONDS, MAX_STATES, translated
from skm_machine.automata.mtbdd import ZERO, DecisionTable, Diagrams
from skm_machine.automata.omega import OmegaAutomaton
from skm_machine.automata.timed import ClockTable, timed_automaton
from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.formula import Formula, conjunction, negation
from skm_machine.logic.normal_forms import chains_of_next, negation_normal_form
from skm_machine.logic.timed import timed_parts
from skm_machine.reward_machine import Outcome, RewardMachine, from_automaton

# What a recurring mission asks for besides its recurrences, as one automaton that is monitored.
#
# Every move of it says what it is worth to the round under way (`AcceptanceMark`). Its ε-transitions
# make commitments.


class AcceptanceMark(Enum):
    """What a move is worth to the round under way."""

    NONE = 0
    """The round starts anew: nothing counts yet."""
    WAITING = 1
    """The round goes on, and waits for a marked move."""
    MARK = 2
    """The marked move that every round needs."""
    ALWAYS = 3
    """All moves hereabouts are marked: none has to be waited for."""


@dataclass(frozen=True)
class RecurrenceMonitor:
    """An automaton with credits; deterministic but for its ε-transitions."""

    table: DecisionTable
    targets: tuple[int | None, ...]
    """The state that each outcome leads to; None where the run ends."""
    marks: dict[tuple[int, int], AcceptanceMark]
    """For each state and outcome."""
    initial: int
    dead: frozenset[int]
    """States from which nothing is accepted any more."""
    quiescent: frozenset[int]
    """States from which doing nothing forever would be accepted: no obligation is pending."""
    epsilon_transitions: tuple[tuple[int, ...], ...] = ()

    def target(self, outcome: int) -> int | None:
        """Return the state that an outcome leads to; None if all is lost there."""
        found = self.targets[outcome]
        return None if found is None or found in self.dead else found

    def epsilon_transitions_from(self, state: int) -> list[int]:
        """Return the targets of the ε-transitions of a state from which something can be accepted."""
        return (
            [to for to in self.epsilon_transitions[state] if to not in self.dead]
            if self.epsilon_transitions
            else []
        )


def monitor_finite(automaton: Automaton) -> RecurrenceMonitor:
    """Monitor clauses that a prefix decides: what is accepted so far counts, all else does not."""
    mark = {
        (state, target): AcceptanceMark.ALWAYS
        if target in automaton.accepting
        else AcceptanceMark.NONE
        for state in range(automaton.num_states)
        for target in automaton.table.outcomes(state)
    }
    quiescent = _quiescent(
        [automaton.table.outcome(s, ()) for s in range(automaton.num_states)], automaton
    )
    successors = [automaton.table.outcomes(state) for state in range(automaton.num_states)]
    # A prefix alone does not decide a run without end: an accepting state must come again and
    # again.
    lasting = [c for c in cyclic_components(successors) if not automaton.accepting.isdisjoint(c)]
    live = {state for component in lasting for state in component}
    return RecurrenceMonitor(
        automaton.table,
        tuple(range(automaton.num_states)),
        mark,
        automaton.initial,
        frozenset(range(automaton.num_states)) - reaching(successors, live),
        quiescent,
    )


def _quiescent(idle: Sequence[int], automaton: Automaton) -> frozenset[int]:
    """Return the states from which steps that show nothing, `idle`, end in a cycle that is accepted."""
    rounds = cyclic_components([[after] for after in idle])
    return reaching(
        [[after] for after in idle],
        {state for found in rounds if automaton.accepting.issuperset(found) for state in found},
    )


def monitor_omega(automaton: OmegaAutomaton) -> RecurrenceMonitor:
    """Monitor a Büchi automaton that is deterministic but for its ε-transitions."""
    states = range(automaton.num_states)
    moves = [
        [
            (outcome, move)
            for outcome in automaton.table.outcomes(state)
            for move in automaton.outcomes[outcome]
        ]
        for state in states
    ]
    successors = [[move.target for _, move in row] for row in moves]
    component: dict[int, int] = {}
    marked: list[bool] = []
    everywhere: list[bool] = []
    rounds: set[tuple[int, int]] = set()
    for index, found in enumerate(cyclic_components(successors)):
        component.update(dict.fromkeys(found, index))
        inside = set(found)
        within = [
            _Edge(s, outcome, move.target, bool(move.marks))
            for s in found
            for outcome, move in moves[s]
            if move.target in inside
        ]
        marked.append(any(edge.marked for edge in within))
        everywhere.append(all(edge.marked for edge in within))
        rounds |= _completing(within)
    mark = {}
    for state in states:
        for outcome, move in moves[state]:
            there = component.get(move.target, -1)
            # Outside of cycles, or in one without a mark: no round can be completed here.
            if there < 0 or not marked[there]:
                mark[state, outcome] = AcceptanceMark.NONE
            elif everywhere[there]:
                mark[state, outcome] = AcceptanceMark.ALWAYS
            else:
                done = (state, outcome) in rounds
                mark[state, outcome] = AcceptanceMark.MARK if done else AcceptanceMark.WAITING
    live = {state for state, index in component.items() if marked[index]}
    following = [
        [*row, *automaton.epsilon_transitions_from(state)] for state, row in enumerate(successors)
    ]
    dead = frozenset(states) - reaching(following, live)
    nothing: Sequence[frozenset[str]] = [frozenset()]
    # By definition: does the word in which nothing ever shows belong to what is left?
    quiescent = [s for s in states if replace(automaton, initial=s).accepts([], nothing)]
    targets = tuple(found[0].target if found else None for found in automaton.outcomes)
    return RecurrenceMonitor(
        automaton.table,
        targets,
        mark,
        automaton.initial,
        dead,
        frozenset(quiescent),
        automaton.epsilon_transitions,
    )


class _Edge(NamedTuple):
    """A move within a component."""

    source: int
    outcome: int
    target: int
    marked: bool


def _completing(edges: Sequence[_Edge]) -> set[tuple[int, int]]:
    """Return the marked moves of a component, as state and outcome, that complete a round.

    A translation marks all moves that it may, as each place of a sequence that comes again and again.
    Here a round is the whole of it. The states are put in an order in which moves without a mark never
    lead back, but within a cycle of their own; the first is the one that was found first, if it can be.
    Marks count on the moves that lead back, so that the same cycles have one.
    """
    states = sorted({edge.source for edge in edges})
    number = {state: index for index, state in enumerate(states)}
    plain: list[list[int]] = [[] for _ in states]
    for edge in edges:
        if not edge.marked:
            # Only moves without a mark bind the order: a cycle without a mark must not be cut by a
            # round.
            plain[number[edge.source]].append(number[edge.target])
    knot = [0] * len(states)
    knots = components(plain)
    for index, found in enumerate(knots):
        for state in found:
            knot[state] = index
    following = [{knot[to] for state in found for to in plain[state]} for found in knots]
    # The lowest state of a component leads, which is the one that was explored first: rounds begin
    # as the formula reads.
    rank = _first_things_first(following, [min(found) for found in knots])
    place = {state: rank[knot[number[state]]] for state in states}
    return {
        (edge.source, edge.outcome)
        for edge in edges
        if edge.marked and place[edge.target] <= place[edge.source]
    }


def _first_things_first(following: Sequence[set[int]], wish: Sequence[int]) -> list[int]:
    """Return the place of each node in an order in which none comes before one that leads to it.

    Where there is a choice, the one with the smallest wish comes first. Nodes may lead to themselves.
    """
    before = [0] * len(following)
    for node, targets in enumerate(following):
        for target in targets - {node}:
            before[target] += 1
    ready = [(wish[node], node) for node, count in enumerate(before) if count == 0]
    heapify(ready)
    place = [0] * len(following)
    for index in range(len(following)):
        _, node = heappop(ready)
        place[node] = index
        for target in following[node] - {node}:
            before[target] -= 1
            if before[target] == 0:
                heappush(ready, (wish[target], target))
    return place


# Two automata monitored at the same time: one that prefixes decide, and one that goes on forever.


_Pair = tuple[int, int]


def monitor_both(
    finite: RecurrenceMonitor, endless: RecurrenceMonitor, limits: Limits
) -> RecurrenceMonitor:
    """Monitor both: a round starts anew where it does in one of them, and needs what `endless` needs.

    `finite` has no ε-transitions.
    """
    product = _Product(finite, endless)
    roots, epsilon_transitions = [], []
    for pair in product.pairs:  # grows while it is walked
        roots.append(product.root(pair))
        found = endless.epsilon_transitions_from(pair[1])
        epsilon_transitions.append(tuple(product.number((pair[0], to)) for to in found))
        limits.check(len(roots))
    quiescent = [
        pair[0] in finite.quiescent and pair[1] in endless.quiescent for pair in product.pairs
    ]
    return RecurrenceMonitor(
        DecisionTable(product.names, product.diagrams, tuple(roots)),
        tuple(product.targets),
        product.marks,
        0,
        product.dead(epsilon_transitions),
        frozenset(number for number, is_quiescent in enumerate(quiescent) if is_quiescent),
        tuple(epsilon_transitions) if any(epsilon_transitions) else (),
    )


class _Product:
    """The pairs of states found so far, and their moves."""

    def __init__(self, finite: RecurrenceMonitor, endless: RecurrenceMonitor) -> None:
        self.parts = finite, endless
        names = [name for part in self.parts for name in part.table.propositions]
        self.names = tuple(dict.fromkeys(names))
        self.diagrams = Diagrams()
        self.pairs: list[_Pair] = []
        self.targets: list[int | None] = []
        """The pair that each outcome leads to; None where all is lost."""
        self.marks: dict[_Pair, AcceptanceMark] = {}
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
                counts = finite.marks[pair[0], one] is not AcceptanceMark.NONE
                mark = endless.marks.get((pair[1], other), AcceptanceMark.NONE)
                self.marks[number, outcome] = mark if counts else AcceptanceMark.NONE
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
            # `or 0` only tells the type checker what `lost` says.
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

    def dead(self, epsilon_transitions: list[tuple[int, ...]]) -> frozenset[int]:
        """Return the pairs from which no rounds are completed forever."""
        moves: list[list[tuple[int, AcceptanceMark]]] = [[] for _ in self.pairs]
        for (number, outcome), mark in self.marks.items():
            target = self.targets[outcome]
            if target is not None:
                moves[number].append((target, mark))
        successors = [[target for target, _ in row] for row in moves]
        live: set[int] = set()
        for component in cyclic_components(successors):
            inside = set(component)
            marks = {c for state in component for to, c in moves[state] if to in inside}
            if not marks.isdisjoint((AcceptanceMark.MARK, AcceptanceMark.ALWAYS)):
                live |= inside
        following = [[*row, *epsilon_transitions[number]] for number, row in enumerate(successors)]
        return frozenset(range(len(self.pairs))) - reaching(following, live)


# The machine of a recurring mission: it goes in rounds.
#
# A round is complete when every p of a recurrence `G F p` has been seen, in any order, and what
# else is asked for has been accepted once more (`watch`). So a run satisfies the mission exactly
# if it completes rounds forever, without breaking a commitment again and again.
#
# **Commitments.** Where the monitored automaton has an ε-transition, so has the machine: its states
# then hold both the state without a commitment and that under it. A step that breaks the commitment
# leads back to the former, and the round starts anew; nothing is lost but time.


NO_COMMITMENT = -1


class _State(NamedTuple):
    monitored: int
    commitment: int
    """The state under a commitment; `NO_COMMITMENT`."""
    seen: frozenset[int]
    """The recurrences seen in this round, by number; one number more for a marked move."""


class Rounds:
    """The product of what is monitored with the recurrences seen in this round."""

    def __init__(
        self,
        recurrences: Sequence[Formula],
        monitor: RecurrenceMonitor,
        names: tuple[str, ...],
        limits: Limits,
    ) -> None:
        self.monitor = monitor
        self.names = names
        self.limits = limits
        self.diagrams = Diagrams(limits.check)
        self.variables = [names.index(name) for name in monitor.table.propositions]
        self.recurrences = [self._function(p) for p in recurrences]
        self.mark = len(self.recurrences)
        self.outcomes: dict[Outcome, int] = {}
        self.states: list[_State | None] = []
        self.numbers: dict[_State | None, int] = {}
        self.rounds: dict[tuple[_State, bool, int], int] = {}
        self.conditions: dict[int, dict[int, int]] = {}

    def _function(self, formula: Formula) -> int:
        return self.diagrams.of_formula(
            formula, lambda atom: self.diagrams.literal(self.names.index(atom.name))
        )

    def machine(self) -> RewardMachine:
        """Explore the product from its initial state."""
        start = self.monitor.initial
        self._number(None if start in self.monitor.dead else self._state(start))
        roots, epsilon_transitions = [], []
        for state in self.states:  # grows while it is walked
            roots.append(self._leaf(None) if state is None else self._root(state))
            epsilon_transitions.append(() if state is None else self._epsilon_transitions(state))
            self.limits.check(len(roots))
        numbered = list(enumerate(self.states))
        return RewardMachine(
            DecisionTable(self.names, self.diagrams, tuple(roots)),
            tuple(self.outcomes),
            0,
            frozenset(number for number, state in numbered if state is None),
            endless=True,
            epsilon_transitions=tuple(epsilon_transitions) if any(epsilon_transitions) else (),
            committed=frozenset(n for n, state in numbered if state and state.commitment >= 0),
            quiescent=frozenset(n for n, state in numbered if state and self._is_quiescent(state)),
        )

    def _is_quiescent(self, state: _State) -> bool:
        return state.monitored in self.monitor.quiescent

    def _state(
        self, monitored: int, commitment: int = NO_COMMITMENT, seen: frozenset[int] = frozenset()
    ) -> _State:
        """Return a product state; of states with the same future, the first."""
        same = self.monitor.table.same_as
        # States that read alike may still have other ε-transitions, and are kept apart then.
        if not self.monitor.epsilon_transitions:
            monitored = same(monitored)
        return _State(monitored, commitment if commitment < 0 else same(commitment), seen)

    def _number(self, state: _State | None) -> int:
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    def _leaf(self, state: _State | None, reward: bool = False) -> int:
        outcome = Outcome(self._number(state), float(reward))
        return self.diagrams.leaf(self.outcomes.setdefault(outcome, len(self.outcomes)))

    def _epsilon_transitions(self, state: _State) -> tuple[int, ...]:
        """Return the states under a commitment that may be made here; under one, the way out of it."""
        if state.commitment >= 0:
            return (self._number(self._state(state.monitored)),)
        found = self.monitor.epsilon_transitions_from(state.monitored)
        return tuple(dict.fromkeys(self._number(self._state(state.monitored, to)) for to in found))

    def _conditions(self, monitored: int) -> dict[int, int]:
        """Return the function of each outcome of a state that is monitored."""
        if monitored not in self.conditions:
            table = self.monitor.table
            self.conditions[monitored] = {
                outcome: table.condition(monitored, outcome, self.diagrams, self.variables)
                for outcome in table.outcomes(monitored)
            }
        return self.conditions[monitored]

    def _root(self, state: _State) -> int:
        """Return the diagram of one product state."""
        table = self.monitor.table
        branches = {}
        for outcome in table.outcomes(state.monitored):
            target = self.monitor.target(outcome)
            if target is None:
                branches[outcome] = self._leaf(None)
            elif state.commitment < 0:
                mark = self.monitor.marks[state.monitored, outcome]
                branches[outcome] = self._after(mark, target, NO_COMMITMENT, state.seen)
            else:
                where = self._conditions(state.monitored)[outcome]
                branches[outcome] = self._under_commitment(state, target, where)
        return table.grafted(state.monitored, branches.__getitem__, self.diagrams, self.variables)

    def _under_commitment(self, state: _State, target: int, where: int) -> int:
        """Return the diagram of what is under a commitment, `where` the rest goes to `target`."""
        # Where the commitment is broken: back to the state without it, in a new round.
        branch = self._leaf(self._state(target))
        for outcome, condition in self._conditions(state.commitment).items():
            kept = self.monitor.target(outcome)
            if kept is not None and self.diagrams.conjunction(where, condition) != ZERO:
                mark = self.monitor.marks[state.commitment, outcome]
                after = self._after(mark, target, kept, state.seen)
                branch = self.diagrams.if_then_else(condition, after, branch)
        return branch

    def _after(
        self, mark: AcceptanceMark, monitored: int, commitment: int, seen: frozenset[int]
    ) -> int:
        """Return the diagram of a move with this mark, by which recurrences hold now."""
        if mark is AcceptanceMark.NONE:
            return self._leaf(self._state(monitored, commitment))
        if mark is AcceptanceMark.MARK:
            seen |= {self.mark}
        elif mark is AcceptanceMark.ALWAYS:
            # Nothing has to be waited for hereabouts; a mark from before would count twice.
            seen -= {self.mark}
        return self._round(
            self._state(monitored, commitment, seen), mark is AcceptanceMark.ALWAYS, 0
        )

    def _round(self, state: _State, always: bool, index: int) -> int:
        """Return the diagram that adds to `seen` every recurrence from `index` on that holds now."""
        if index == self.mark:
            # All recurrences and the mark: one more than there are recurrences.
            if len(state.seen) + always <= self.mark:
                return self._leaf(state)
            return self._leaf(self._state(state.monitored, state.commitment), reward=True)
        key = (state, always, index)
        # The same suffix of recurrences is asked for after every move: without the memo, 2^n
        # diagrams.
        if key not in self.rounds:
            more = state._replace(seen=state.seen | {index})
            self.rounds[key] = self.diagrams.if_then_else(
                self.recurrences[index],
                self._round(more, always, index + 1),
                self._round(state, always, index + 1),
            )
        return self.rounds[key]


LONG: Final = 8
"""Bounds of more steps than this are monitored apart."""


@dataclass(frozen=True)
class Clauses:
    """A recurring mission, sorted into its clauses."""

    recurrences: tuple[Formula, ...]
    """Each p of a `G F p`, Boolean."""
    others: tuple[tuple[Formula, Formula | None], ...]
    """All other clauses, each with how it reads on prefixes, if a prefix decides it."""

    @property
    def apart(self) -> tuple[Formula | None, Formula | None]:
        """What is monitored on prefixes, and what on infinite traces.

        One automaton, where that is small.

        Two where a prefix decides clauses with long bounds, and others only the whole run decides.
        """
        decided = [finite for _, finite in self.others if finite is not None]
        if len(decided) == len(self.others):
            return conjunction(*decided), None
        bounds = [finite for _, finite in self.others if finite is not None and _is_long(finite)]
        rest = [clause for clause, finite in self.others if finite is None or finite not in bounds]
        return conjunction(*bounds) if bounds else None, conjunction(*rest)


def sort_clauses(formula: Formula) -> Clauses:
    """Sort the conjuncts of a recurring mission."""
    recurrences: dict[Formula, None] = {}
    others: list[tuple[Formula, Formula | None]] = []
    stack = [negation_normal_form(formula)]
    while stack:
        clause = _without_repetition(stack.pop())
        inner = clause.operands[0] if len(clause.operands) == 1 else clause
        if clause.operator == "&":
            stack.extend(reversed(clause.operands))
        elif clause.operator == "G" and inner.operator == "&":
            # G distributes over conjunctions, so each operand is a clause of its own.
            stack.extend(Formula("G", (operand,)) for operand in reversed(inner.operands))
        elif clause.operator == "G" and inner.operator == "F" and inner.operands[0].is_boolean():
            recurrences[inner.operands[0]] = None
        elif _lacks(clause, "G", "R", "W"):
            others.append((clause, clause))
        elif _lacks(clause, "F", "U", "M"):
            others.append((clause, _with_weak_next(clause)))
        else:
            others.append((clause, None))
    return Clauses(tuple(recurrences), tuple(others))


def _is_long(formula: Formula) -> bool:
    return any(delay > LONG for delay in chains_of_next(formula).values())


def _without_repetition(formula: Formula) -> Formula:
    """Shorten a run of G and F to what it means: `G G` to G, `F G F` to `G F`, `G F G` to `F G`."""
    while formula.operator in ("F", "G"):
        inner = formula.operands[0]
        innermost = inner.operands[0] if inner.operator in ("F", "G") else inner
        if formula.operator == inner.operator or (
            inner.operator in ("F", "G") and innermost.operator == formula.operator
        ):
            formula = inner
        else:
            break
    return formula


def _lacks(formula: Formula, *operators: str) -> bool:
    return all(sub.operator not in operators for sub in formula.subformulas())


def _with_weak_next(formula: Formula) -> Formula:
    """Return a safe clause as it reads on prefixes: `X a` is not yet broken where the prefix ends.

    What breaks it is said with the strong next, which the translation of bounds needs to stay small.
    """
    # Negated twice: the inner formula has strong next only, as the translation of bounds expects.
    return negation(negation_normal_form(negation(formula)))


def recurring_machine(
    formula: Formula, *, max_states: int = MAX_STATES, max_seconds: float = MAX_SECONDS
) -> RewardMachine:
    """Return the machine of a recurring mission, with the reward 1 for each completed round."""
    try:
        return _recurring_machine(formula, Limits(max_states, max_seconds))
    except LimitReachedError as problem:
        raise too_large(formula, problem, _count) from problem


def _recurring_machine(formula: Formula, limits: Limits) -> RewardMachine:
    with deep_diagrams_are_a_limit():
        clauses = sort_clauses(formula)
        monitor = _monitor(clauses, limits)
        return Rounds(clauses.recurrences, monitor, formula.propositions(), limits).machine()


def timed_recurring_machine(
    formula: Formula, *, max_states: int = MAX_STATES, max_seconds: float = MAX_SECONDS
) -> tuple[RewardMachine, ClockTable]:
    """Return the machine of a recurring mission with bounds in seconds, and its clocks.

    All clauses that a prefix decides are monitored by one automaton with clocks. Of the others those
    with bounds in seconds are, too: a round is complete when no obligation is pending.
    """
    limits = Limits(max_states, max_seconds)
    try:
        with deep_diagrams_are_a_limit():
            clauses = sort_clauses(formula)
            round_ = _one_round(clauses)
            if round_ is not None:
                found = timed_automaton(round_, limits, formula.propositions())
                # A mission of one round that starts over: its clocks start with each round.
                machine = from_automaton(found.automaton, repeat=True)
                return machine, replace(found.clocks, repeats=True)
            on_prefixes, others = [], []
            for clause, finite in clauses.others:
                if finite is not None:
                    on_prefixes.append(finite)
                elif timed_parts(clause):
                    _check_rounds(clause)
                    on_prefixes.append(clause)
                else:
                    others.append(clause)
            found = timed_automaton(conjunction(*on_prefixes), limits, formula.propositions())
            monitor = monitor_finite(found.automaton)
            if others:
                rest = conjunction(*others)
                graph = best_graph(rest, limits)
                endless = monitor_omega(as_automaton(graph, rest.propositions()))
                monitor = monitor_both(monitor, endless, limits)
            names = (*formula.propositions(), *found.clocks.names)
            return Rounds(clauses.recurrences, monitor, names, limits).machine(), found.clocks
    except LimitReachedError as problem:
        reason = f"the mission's machine grows too large: {problem}"
        raise UnsupportedMissionError(reason) from problem


def _one_round(clauses: Clauses) -> Formula | None:
    """Return what a round has to bring about, where that says it all; None where it does not.

    `G F a & G F b`, with a and b that a prefix decides, is "a and b, at some time, again and again": so
    the mission `F a & F b`, which starts over each time it succeeds. What must always hold is part of
    every round. Only needed where bounds in seconds stand below `G F`.
    """
    asked: list[Formula] = [Formula("F", (p,)) for p in clauses.recurrences]
    needed = False
    for clause, _ in clauses.others:
        inner = clause.operands[0] if clause.operator == "G" else clause
        if clause.operator == "G" and inner.is_boolean():
            asked.append(clause)
        elif clause.operator == "G" and inner.operator == "F" and _lacks(inner, "G", "R", "W"):
            asked.append(inner)
            needed = needed or bool(timed_parts(inner))
        else:
            return None
    return conjunction(*asked) if needed else None


def _check_rounds(clause: Formula) -> None:
    """Refuse a clause with bounds in seconds whose rounds cannot be told by prefixes."""
    below: dict[Formula, bool] = {}
    """Whether a part has something that lasts forever in it."""
    for sub in clause.subformulas():
        lasting = any(below[operand] for operand in sub.operands)
        if sub.operator in ("F", "U", "M") and lasting:
            raise UnsupportedMissionError(
                f"'{sub}' asks for something that lasts forever, and has bounds in seconds beside it:"
                " such a mission is only read with an end (horizon finite)"
            )
        below[sub] = lasting or sub.operator in ("G", "R", "W")
    if clause.operator == "G" and clause.operands[0].operator == "F":
        inner = clause.operands[0]
        raise UnsupportedMissionError(
            f"'{clause}' has bounds in seconds below 'G F', and stands beside clauses that are no such"
            f" patrol: give '{inner}' as a mission that repeats (--repeat)"
        )


def _monitor(clauses: Clauses, limits: Limits) -> RecurrenceMonitor:
    finite, rest = clauses.apart
    monitored = None if finite is None else monitor_finite(translated(finite, limits))
    if rest is None:
        assert monitored is not None
        return monitored
    graph = best_graph(rest, limits)
    endless = monitor_omega(as_automaton(graph, rest.propositions()))
    return endless if monitored is None else monitor_both(monitored, endless, limits)


def _count(formula: Formula, limits: Limits) -> int:
    return _recurring_machine(formula, limits).num_states
