"""Reward machines (Definition 2.2, RM): what a mission rewards, state by state.

The mission succeeds at the first step at which the trace so far satisfies it, so an automaton becomes
a reward machine by giving 1 on every edge into an accepting state and ending there. States from which
no reward can be had any more are failure states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from skm_machine.automata.dfa import Automaton
from skm_machine.automata.mtbdd import DecisionTable, table_from_edges
from skm_machine.logic.formula import TRUE, Formula, disjunction


class Outcome(NamedTuple):
    """What a step does: the next state (δ_u) and the reward (δ_r)."""

    target: int
    reward: float


@dataclass(frozen=True)
class Edge:
    """A symbolic edge: all label sets that satisfy `label` go from `source` to `target` for `reward`."""

    source: int
    """The state that it leaves."""
    target: int
    """The state that it leads to."""
    label: Formula
    """What has to hold for it to be taken."""
    reward: float
    """What taking it earns: 1 for success or a completed round, else 0."""
    commitment: bool = False
    """Whether it reads nothing, and makes a commitment: `label` is then what keeps it in the next
    step."""


@dataclass(frozen=True, eq=False)
class RewardMachine:
    """⟨U, u_0, δ_u, δ_r⟩ with numbered states; deterministic and complete."""

    delta: DecisionTable
    """δ as decision diagrams: for each state and label set, an index into `outcomes`."""

    outcomes: tuple[Outcome, ...]
    """What can happen: next state and reward, each once."""
    initial: int
    """The state that every mission begins in."""
    terminal: frozenset[int]
    """States in which the mission ends."""

    endless: bool = False
    """Whether the mission has no end: it is scored by its rewarded steps."""

    co_safe: bool = False
    """Whether success is for good: every continuation of the trace satisfies the mission as well."""

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that the edges may read."""
        return self.delta.propositions

    @property
    def num_states(self) -> int:
        """The number of states, terminal and failure states included."""
        return len(self.delta)

    epsilon_transitions: tuple[tuple[int, ...], ...] = ()
    """For each state, the states that a run may go to without reading anything: to those under a
    commitment, or from there out of it. () where nothing is ever committed."""

    committed: frozenset[int] = frozenset()
    """The states under a commitment."""

    quiescent: frozenset[int] = frozenset()
    """States in which no obligation is pending: but for recurrences, doing nothing would be all
    right."""

    def commitments(self, state: int) -> tuple[int, ...]:
        """Return the states under a commitment that can be made in `state`."""
        return (
            self.epsilon_transitions[state]
            if self.epsilon_transitions and state not in self.committed
            else ()
        )

    def keeps(self, state: int, outcome: Outcome) -> bool:
        """Tell whether a step breaks no commitment."""
        return state not in self.committed or outcome.target in self.committed

    def options(self, state: int, labels: Collection[str]) -> tuple[Outcome, ...]:
        """Return what a step may do.

        First what it does without an ε-transition, then after each ε-transition.

        ε-transitions to commitments that the step would break are not among them.
        """
        first = self.step(state, labels)
        if not self.epsilon_transitions:
            return (first,)
        after = [
            (epsilon, self.step(epsilon, labels)) for epsilon in self.epsilon_transitions[state]
        ]
        kept = [outcome for epsilon, outcome in after if self.keeps(epsilon, outcome)]
        return tuple(dict.fromkeys([first, *kept]))

    def step(self, state: int, labels: Collection[str]) -> Outcome:
        """Return the next state and the reward on entering an environment state with `labels`."""
        return self.outcomes[self.delta.outcome(state, labels)]

    def table(self, label_sets: Sequence[Collection[str]]) -> list[list[Outcome]]:
        """Return δ as rows `[state][label set]`; a state in which the mission ends stays as it is."""
        return [
            [Outcome(state, 0.0)] * len(label_sets)
            if state in self.terminal
            else [self.step(state, labels) for labels in label_sets]
            for state in range(self.num_states)
        ]

    def successors(self, state: int) -> list[Outcome]:
        """Return what can happen in `state`, also under a commitment made there, each outcome once."""
        found = [self.outcomes[index] for index in self.delta.outcomes(state)]
        for epsilon in self.commitments(state):
            after = [self.outcomes[index] for index in self.delta.outcomes(epsilon)]
            found += [outcome for outcome in after if self.keeps(epsilon, outcome)]
        return list(dict.fromkeys(found)) if self.epsilon_transitions else found

    def label(self, state: int, outcomes: Collection[Outcome]) -> Formula:
        """Return a short Boolean formula of the label sets that have one of `outcomes` in `state`."""
        indices = {self.outcomes.index(outcome) for outcome in outcomes}
        ways = [
            self.delta.label(way, *indices.intersection(self.delta.outcomes(way)))
            for way in (state, *self.commitments(state))
        ]
        return ways[0] if len(ways) == 1 else disjunction(*ways)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All symbolic edges of the states in which the mission goes on."""
        return tuple(self.iterate_edges())

    def iterate_edges(self) -> Iterator[Edge]:
        """Yield these edges one by one: some machines have too many of them."""
        for state in range(self.num_states):
            if state not in self.terminal and state not in self.failure:
                for index in self.delta.outcomes(state):
                    target, reward = self.outcomes[index]
                    yield Edge(state, target, self.delta.label(state, index), reward)

    @cached_property
    def commitment_edges(self) -> tuple[Edge, ...]:
        """The ε-transitions to commitments, each with what keeps the commitment in the next step."""
        return tuple(
            Edge(state, to, self.commitment_label(to), 0.0, commitment=True)
            for state in range(self.num_states)
            for to in self.commitments(state)
        )

    def commitment_label(self, state: int) -> Formula:
        """Return the label sets that break no commitment in `state`."""
        found = self.delta.outcomes(state)
        kept = [index for index in found if self.keeps(state, self.outcomes[index])]
        return self.delta.label(state, *kept)

    @cached_property
    def failure(self) -> frozenset[int]:
        """States from which no reward can be had any more; not those in which it has just been paid."""
        paying = {index for index, outcome in enumerate(self.outcomes) if outcome.reward > 0}
        live = self._before(paying)
        while (
            with_epsilon := {
                s for s, to in enumerate(self.epsilon_transitions) if not live.isdisjoint(to)
            }
            - live
        ):
            found = live | with_epsilon
            leading = {
                index for index, outcome in enumerate(self.outcomes) if outcome.target in found
            }
            live = found | self._before(paying | leading)
        possible = self.delta.all_outcomes(self.terminal)
        paid = {self.outcomes[index].target for index in paying & possible}
        states = range(self.num_states)
        return frozenset(states) - live - (paid & self.terminal)

    def _before(self, outcomes: Collection[int]) -> frozenset[int]:
        """Return the states from which one of `outcomes` can come about, in one step or more."""
        return self.delta.reaching(
            outcomes, lambda index: self.outcomes[index].target, self.terminal
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each state: u0, u1, … while the mission runs, then `accepted` or `failed`."""
        kinds = [self._kind(state) for state in range(self.num_states)]
        count: Counter[str] = Counter()
        names = []
        for kind in kinds:
            plain = kind != "u" and kinds.count(kind) == 1
            names.append(kind if plain else f"{kind}{count[kind]}")
            count[kind] += 1
        return tuple(names)

    def _kind(self, state: int) -> str:
        if state in self.failure:
            return "failed"
        return "accepted" if state in self.terminal else "u"

    @property
    def satisfiable(self) -> bool:
        """Whether some trace earns a reward."""
        return self.initial not in self.failure

    def begun_in(self, state: int) -> RewardMachine:
        """Return the machine of what is left in a state: the same, but it begins there."""
        return replace(self, initial=state)

    def repeating(self) -> RewardMachine:
        """Return the machine that starts over at each success: its rewarded ends lead to the start.

        The step after a success is the first of the next round: none is lost.
        """
        again = tuple(
            Outcome(self.initial if reward > 0 and target in self.terminal else target, reward)
            for target, reward in self.outcomes
        )
        kept = self.delta.reachable(self.initial, lambda index: again[index].target)
        number = {state: index for index, state in enumerate(sorted(kept))}
        return RewardMachine(
            self.delta.mapped(number, lambda index: index),
            tuple(Outcome(number.get(target, 0), reward) for target, reward in again),
            number[self.initial],
            frozenset(number[state] for state in self.terminal if state in number),
            endless=True,
        )


def from_automaton(automaton: Automaton, *, repeat: bool = False) -> RewardMachine:
    """Return the reward machine that pays 1 on acceptance and then ends, or with `repeat` starts over.

    What could only be reached after acceptance is dropped.
    """
    ends = automaton.accepting | automaton.dead
    reached = automaton.table.reachable(automaton.initial, ends=ends)
    working = [state for state in reached if state not in ends]
    number = {state: index for index, state in enumerate(working)}
    terminal: list[int] = []
    for kind in (automaton.accepting, automaton.dead):
        if not kind.isdisjoint(reached):
            terminal.append(len(working) + len(terminal))
            number.update(dict.fromkeys(kind, terminal[-1]))
    outcomes: dict[Outcome, int] = {}

    def index(outcome: Outcome) -> int:
        return outcomes.setdefault(outcome, len(outcomes))

    table = automaton.table.mapped(
        working,
        lambda target: index(Outcome(number[target], float(target in automaton.accepting))),
        [index(Outcome(state, 0.0)) for state in terminal],
    )
    co_safe = automaton.accepting.intersection(reached) <= automaton.settled
    machine = RewardMachine(table, tuple(outcomes), 0, frozenset(terminal), co_safe=co_safe)
    return machine.repeating() if repeat else machine


def from_edges(
    propositions: Sequence[str],
    edges: Sequence[Iterable[tuple[Formula, Outcome]]],
    *,
    initial: int = 0,
    terminal: Collection[int] = (),
    endless: bool = False,
    co_safe: bool = False,
) -> RewardMachine:
    """Return the machine with these edges `(label, outcome)` for each state.

    Edges of one state may not overlap. Label sets that no edge covers, and every label set in a
    terminal state with no edges of its own, lead to an added failure state if there are any.
    """
    sink = Outcome(len(edges), 0.0)
    index: dict[Outcome, int] = {sink: 0}
    rows = [
        [(label, index.setdefault(outcome, len(index))) for label, outcome in row]
        if state not in terminal
        else [(TRUE, index.setdefault(Outcome(state, 0.0), len(index)))]
        for state, row in enumerate(edges)
    ]
    table = table_from_edges(propositions, rows, default=0)
    if not any(0 in table.outcomes(state) for state in range(len(table))):
        return RewardMachine(
            table, tuple(index), initial, frozenset(terminal), endless, co_safe=co_safe
        )
    table = table.mapped(range(len(table)), lambda outcome: outcome, constants=[0])
    ends = frozenset({*terminal, sink.target})
    return RewardMachine(table, tuple(index), initial, ends, endless, co_safe=co_safe)
