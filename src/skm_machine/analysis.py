"""What a mission means, before any robot moves: can it succeed, can it fail, and on which traces."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from skm_machine.automata.extremes import Extremes
from skm_machine.logic.syntax import Formula
from skm_machine.mission import Mission
from skm_machine.possible import Shown, possible_label, possible_outcomes
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import eager

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


def analyse(mission: Mission, shown: Shown | None = None) -> Analysis:
    """Return what can be known of a mission from its machine alone.

    Where the world is known to show some label sets only, traces are made of these.
    """
    machine = mission.machine
    if not machine.satisfiable:
        return Analysis(False, True, None, [frozenset()], ())
    witness = shortest_trace(machine, lambda outcome: outcome.reward > 0, shown)
    counterexample = shortest_trace(
        machine, lambda outcome: outcome.target in machine.failure, shown
    )
    failures = _failures(machine) if shown is None else possible_failures(machine, shown)
    return Analysis(True, counterexample is not None, witness, counterexample, failures)


def possible_failures(machine: RewardMachine, shown: Shown) -> tuple[Formula, ...]:
    """Return what leads to failure where some label sets can show only, up to `NAMED_FAILURES`."""
    found: dict[Formula, None] = {}
    for state in sorted(shown):
        outcomes = possible_outcomes(machine, state, shown)
        fatal = [outcome for outcome in outcomes if outcome.target in machine.failure]
        if fatal and state not in machine.failure:
            found.setdefault(possible_label(machine, state, fatal, shown[state]))
    return tuple(found)[:NAMED_FAILURES]


def _failures(machine: RewardMachine) -> tuple[Formula, ...]:
    """Return the labels of edges to failure, up to `NAMED_FAILURES`: labels cost time."""
    failing = Extremes(
        machine.table, [float(outcome.target in machine.failure) for outcome in machine.outcomes]
    )
    found: dict[Formula, None] = {}
    for state in range(machine.num_states):
        if state in machine.terminal or state in machine.failure:
            continue
        for way in (state, *machine.promises(state)):
            for index in failing.outcomes(way, 1.0)[:NAMED_FAILURES]:
                if machine.keeps(way, machine.outcomes[index]) or way == state:
                    found.setdefault(machine.label(state, [machine.outcomes[index]]))
        if len(found) >= NAMED_FAILURES:
            break
    return tuple(found)[:NAMED_FAILURES]


def shortest_trace(
    machine: RewardMachine,
    wanted: Callable[[Outcome], bool],
    shown: Shown | None = None,
    start: int | None = None,
) -> Trace | None:
    """Return a shortest trace whose last step has a wanted outcome, with few labels at each step.

    It begins in the machine state `start`, or the initial one; it is made of what can show in each
    state, if that is given.
    """
    first = machine.initial if start is None else start
    steps = _all_steps(machine) if shown is None else _steps_among(machine, shown)
    came_from: dict[int, tuple[int, _Step]] = {}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        if state in machine.terminal or state in machine.failure:
            continue
        last: list[frozenset[str]] = []
        for step in steps(state):
            target = step.outcome.target
            if wanted(step.outcome):
                last.append(step.labels())
            elif target not in came_from and target != first:
                came_from[target] = state, step
                queue.append(target)
        if last:
            trace = [min(last, key=len)]
            while state != first:
                state, before = came_from[state]
                trace.append(before.labels())
            return trace[::-1]
    return None


class _Step(NamedTuple):
    """What can happen, and a label set that does it, worked out when it is asked for."""

    outcome: Outcome
    labels: Callable[[], frozenset[str]]


def _steps_among(machine: RewardMachine, shown: Shown) -> Callable[[int], Iterator[_Step]]:
    """Return what can happen in a state on what can show in it, few labels first."""

    def steps(state: int) -> Iterator[_Step]:
        examples = sorted(shown.get(state, ()), key=lambda labels: (len(labels), sorted(labels)))
        for way in (state, *machine.promises(state)):
            for labels in examples:
                yield _Step(machine.step(way, labels), partial(frozenset[str], labels))

    return steps


def _all_steps(machine: RewardMachine) -> Callable[[int], Iterator[_Step]]:
    """Return what can happen in a state that could not happen in those that were asked for before."""
    seen: set[int] = set()

    def steps(state: int) -> Iterator[_Step]:
        for way in (state, *machine.promises(state)):
            for index in machine.table.fresh_outcomes(way, seen):
                yield _Step(machine.outcomes[index], partial(machine.table.example, way, index))

    return steps


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
            state, reward = eager(machine, state, machine.options(state, labels))
            visits += reward > 0
            accepted_at = accepted_at or (number if reward > 0 else None)
        states.append(state)
    if mission.automaton is not None:
        satisfied = mission.automaton.accepts(trace)
    else:
        satisfied = visits > 0 and state not in machine.failure
    return Judgement(tuple(states), accepted_at, visits, satisfied)
