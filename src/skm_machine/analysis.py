"""What a mission means, before any robot moves: can it succeed, can it fail, and on which traces."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from skm_machine.logic.syntax import Formula
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine

Trace = list[frozenset[str]]

NAMED_FAILURES: Final = 6
"""How many reasons for failure an analysis names."""


@dataclass(frozen=True)
class Analysis:
    """The answers of `analyse`."""

    satisfiable: bool
    """Whether some trace succeeds (for a mission without end: earns a reward)."""

    can_fail: bool
    """Whether some trace makes success impossible."""

    witness: Trace | None
    """A shortest trace that succeeds."""

    counterexample: Trace | None
    """A shortest trace after which the mission cannot succeed."""

    failures: tuple[Formula, ...]
    """What leads to failure, from one state or another, each formula once; the first few."""


def analyse(mission: Mission) -> Analysis:
    """Return what can be known of a mission from its machine alone."""
    machine = mission.machine
    witness = shortest_trace(machine, lambda outcome: outcome.reward > 0)
    if not machine.satisfiable:
        return Analysis(False, True, None, [frozenset()], ())
    counterexample = shortest_trace(machine, lambda outcome: outcome.target in machine.failure)
    return Analysis(True, counterexample is not None, witness, counterexample, _failures(machine))


def _failures(machine: RewardMachine) -> tuple[Formula, ...]:
    """Return the labels of edges to failure, up to `NAMED_FAILURES`: labels cost time."""
    found: dict[Formula, None] = {}
    for state in range(machine.num_states):
        if state in machine.terminal or state in machine.failure:
            continue
        for outcome in machine.successors(state):
            if outcome.target in machine.failure:
                found.setdefault(machine.label(state, [outcome]))
        if len(found) >= NAMED_FAILURES:
            break
    return tuple(found)[:NAMED_FAILURES]


def shortest_trace(machine: RewardMachine, wanted: Callable[[Outcome], bool]) -> Trace | None:
    """Return a shortest trace whose last step has a wanted outcome, with few labels at each step."""
    queue: deque[tuple[int, Trace]] = deque([(machine.initial, [])])
    seen = {machine.initial}
    while queue:
        state, trace = queue.popleft()
        if state in machine.terminal or state in machine.failure:
            continue
        for index in machine.table.outcomes(state):
            outcome = machine.outcomes[index]
            if wanted(outcome):
                return [*trace, machine.table.example(state, index)]
            if outcome.target not in seen:
                seen.add(outcome.target)
                queue.append((outcome.target, [*trace, machine.table.example(state, index)]))
    return None


@dataclass(frozen=True)
class Judgement:
    """How a mission goes on one trace."""

    states: tuple[int, ...]
    """The machine state after each step; after the end, the state it ended in."""

    accepted_at: int | None
    """The step (from 1) at which the mission first succeeds, and ends unless it is without end."""

    visits: int
    """How many steps earned a reward."""

    satisfied: bool
    """Whether the whole trace satisfies the mission; if endless: it was rewarded and did not fail."""


def judge(mission: Mission, trace: Sequence[Collection[str]]) -> Judgement:
    """Run a mission's machine over a trace."""
    machine, state = mission.machine, mission.machine.initial
    states: list[int] = []
    accepted_at, visits = None, 0
    for number, labels in enumerate(trace, start=1):
        if state not in machine.terminal:
            state, reward = machine.step(state, labels)
            visits += reward > 0
            accepted_at = accepted_at or (number if reward > 0 else None)
        states.append(state)
    if mission.automaton is not None:
        satisfied = mission.automaton.accepts(trace)
    else:
        satisfied = visits > 0 and state not in machine.failure
    return Judgement(tuple(states), accepted_at, visits, satisfied)
