"""What a standing order asks for besides its recurrences, as one automaton that is watched.

Every move of it says what it is worth to the round under way (`Credit`). Its jumps commit to promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.omega import OmegaAutomaton
from skm_machine.automata.reachability import components, cyclic_components, reaching


class Credit(Enum):
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
class Watch:
    """An automaton with credits; deterministic but for its jumps."""

    table: DecisionTable
    targets: tuple[int | None, ...]
    """The state that each outcome leads to; None where the run ends."""
    credits: dict[tuple[int, int], Credit]
    """For each state and outcome."""
    initial: int
    dead: frozenset[int]
    """States from which nothing is accepted any more."""
    calm: frozenset[int]
    """States from which doing nothing for ever would be accepted: nothing is owed."""
    jumps: tuple[tuple[int, ...], ...] = ()

    def target(self, outcome: int) -> int | None:
        """Return the state that an outcome leads to; None if all is lost there."""
        found = self.targets[outcome]
        return None if found is None or found in self.dead else found

    def jumps_from(self, state: int) -> list[int]:
        """Return where the run may jump to, if anything can be accepted from there."""
        return [to for to in self.jumps[state] if to not in self.dead] if self.jumps else []


def watch_finite(automaton: Automaton) -> Watch:
    """Watch clauses that a prefix decides: what is accepted so far counts, all else does not."""
    credit = {
        (state, target): Credit.ALWAYS if target in automaton.accepting else Credit.NONE
        for state in range(automaton.num_states)
        for target in automaton.table.outcomes(state)
    }
    calm = _calm([automaton.table.outcome(s, ()) for s in range(automaton.num_states)], automaton)
    successors = [automaton.table.outcomes(state) for state in range(automaton.num_states)]
    lasting = [c for c in cyclic_components(successors) if not automaton.accepting.isdisjoint(c)]
    hopeful = {state for component in lasting for state in component}
    return Watch(
        automaton.table,
        tuple(range(automaton.num_states)),
        credit,
        automaton.initial,
        frozenset(range(automaton.num_states)) - reaching(successors, hopeful),
        calm,
    )


def _calm(idle: Sequence[int], automaton: Automaton) -> frozenset[int]:
    """Return the states from which steps that show nothing, `idle`, end in a cycle that is accepted."""
    rounds = cyclic_components([[after] for after in idle])
    return reaching(
        [[after] for after in idle],
        {state for found in rounds if automaton.accepting.issuperset(found) for state in found},
    )


def watch_omega(automaton: OmegaAutomaton) -> Watch:
    """Watch a Büchi automaton that is deterministic but for its jumps."""
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
    credit = {}
    for state in states:
        for outcome, move in moves[state]:
            there = component.get(move.target, -1)
            if there < 0 or not marked[there]:
                credit[state, outcome] = Credit.NONE
            elif everywhere[there]:
                credit[state, outcome] = Credit.ALWAYS
            else:
                done = (state, outcome) in rounds
                credit[state, outcome] = Credit.MARK if done else Credit.WAITING
    hopeful = {state for state, index in component.items() if marked[index]}
    onward = [[*row, *automaton.jumps_from(state)] for state, row in enumerate(successors)]
    dead = frozenset(states) - reaching(onward, hopeful)
    nothing: Sequence[frozenset[str]] = [frozenset()]
    calm = [s for s in states if replace(automaton, initial=s).accepts([], nothing)]
    targets = tuple(found[0].target if found else None for found in automaton.outcomes)
    return Watch(
        automaton.table,
        targets,
        credit,
        automaton.initial,
        dead,
        frozenset(calm),
        automaton.jumps,
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
            plain[number[edge.source]].append(number[edge.target])
    knot = [0] * len(states)
    knots = components(plain)
    for index, found in enumerate(knots):
        for state in found:
            knot[state] = index
    following = [{knot[to] for state in found for to in plain[state]} for found in knots]
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
