"""What a mission means, before any robot moves: can it succeed, can it fail, and on which traces."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from skm_machine.automata.extremes import Extremes
from skm_machine.errors import MissionError
from skm_machine.events import Counterexample, EventVerdict, event_verdict
from skm_machine.factored import FactoredMachine
from skm_machine.logic.formula import FALSE, TRUE, Formula, proposition
from skm_machine.logic.printer import labels_text
from skm_machine.logic.timed import NANOSECONDS, seconds_text
from skm_machine.mission import Mission
from skm_machine.possible import Shown, possible_label, possible_outcomes
from skm_machine.reward_machine import Edge, Outcome, RewardMachine
from skm_machine.tracker import MissionTracker, Status, eager

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
    if isinstance(machine, FactoredMachine):
        return _analyse_parts(machine)
    witness = shortest_trace(machine, lambda outcome: outcome.reward > 0, shown)
    counterexample = shortest_trace(
        machine, lambda outcome: outcome.target in machine.failure, shown
    )
    if mission.clocks is not None:
        failures = _timed_failures(mission)
    else:
        failures = _failures(machine) if shown is None else possible_failures(machine, shown)
    return Analysis(True, counterexample is not None, witness, counterexample, failures)


def _analyse_parts(machine: FactoredMachine) -> Analysis:
    """Return the same of a mission in parts: by its parts, one by one."""
    failing = machine.way_to_fail(machine.initial)
    found: dict[Formula, None] = {}
    for part in machine.watched:
        for state in range(part.num_states):
            if state not in part.dead and (label := part.fatal(state)) is not FALSE:
                found.setdefault(label)
        if len(found) >= NAMED_FAILURES:
            break
    witness = machine.way_to_succeed(machine.initial)
    return Analysis(True, failing is not None, witness, failing, tuple(found)[:NAMED_FAILURES])


def _timed_failures(mission: Mission) -> tuple[Formula, ...]:
    """Return what leads to failure where clocks tick: what labels do, then which ticks."""
    machine, ticks = mission.machine, () if mission.clocks is None else mission.clocks.names
    quiet = dict.fromkeys(ticks, False)
    tables = [(machine.delta.given(quiet), "")]
    tables += [(machine.delta.given({**quiet, tick: True}), tick) for tick in ticks]
    found: dict[Formula, None] = {}
    for table, tick in tables:
        for state in range(machine.num_states):
            fatal = [
                i for i in table.outcomes(state) if machine.outcomes[i].target in machine.failure
            ]
            if fatal and state not in machine.terminal and state not in machine.failure:
                found.setdefault(proposition(tick) if tick else table.label(state, *fatal))
    return tuple(found)[:NAMED_FAILURES]


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
        machine.delta, [float(outcome.target in machine.failure) for outcome in machine.outcomes]
    )
    found: dict[Formula, None] = {}
    for state in range(machine.num_states):
        if state in machine.terminal or state in machine.failure:
            continue
        for way in (state, *machine.commitments(state)):
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
        for way in (state, *machine.commitments(state)):
            for labels in examples:
                yield _Step(machine.step(way, labels), partial(frozenset[str], labels))

    return steps


def _all_steps(machine: RewardMachine) -> Callable[[int], Iterator[_Step]]:
    """Return what can happen in a state that could not happen in those that were asked for before."""
    seen: set[int] = set()

    def steps(state: int) -> Iterator[_Step]:
        for way in (state, *machine.commitments(state)):
            for index in machine.delta.fresh_outcomes(way, seen):
                yield _Step(machine.outcomes[index], partial(machine.delta.example, way, index))

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


def judge(
    mission: Mission,
    trace: Sequence[Collection[str]],
    seconds: Sequence[float] | None = None,
) -> Judgement:
    """Run a mission's machine over a trace; `seconds` says when each of its states was entered.

    A mission with bounds in seconds needs that, or steps that have a length.
    """
    if mission.clocks is not None:
        return _judge_timed(mission, trace, seconds)
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


def _judge_timed(
    mission: Mission, trace: Sequence[Collection[str]], seconds: Sequence[float] | None
) -> Judgement:
    step = mission.step_seconds
    if seconds is None:
        if step is None:
            raise MissionError(
                "the mission has bounds in seconds: say when each state of the trace is entered, as in"
                " 'a@2.5; b@7'"
            )
        seconds = [step * number for number in range(1, len(trace) + 1)]
    tracker = MissionTracker(mission.machine, (), mission.clocks)
    states: list[int] = []
    accepted_at = None
    for number, (labels, second) in enumerate(zip(trace, seconds, strict=True), start=1):
        if tracker.status is Status.RUNNING:
            tracker.update(labels, time=round(second * NANOSECONDS))
            accepted_at = accepted_at or (number if tracker.accepting_visits else None)
        states.append(tracker.state)
    satisfied = tracker.accepting_visits > 0 and tracker.status is not Status.FAILED
    return Judgement(tuple(states), accepted_at, tracker.accepting_visits, satisfied)


# What a mission means in sentences: how it succeeds, how it fails, what events can do to it.


MOST_COMMITMENTS: Final = 6
MANY_STEPS: Final = 4
"""So many equal steps in a row are summarised by their number."""


def meaning(
    mission: Mission,
    analysis: Analysis,
    verdict: EventVerdict | None = None,
    shown: Shown | None = None,
) -> list[str]:
    """Return, in sentences, how the mission succeeds and fails.

    `verdict` and `shown` are what events can do, and what can show, in the world that it is for.
    """
    machine = mission.machine
    states = "1 state" if machine.num_states == 1 else f"{machine.num_states} states"
    if isinstance(machine, FactoredMachine):
        sizes = [part.num_states for part in machine.watched + machine.recurrences]
        least, most = min(sizes), max(sizes)
        each = f"{least}" if least == most else f"{least} to {most}"
        states = f"{len(sizes)} parts of {each} states (one machine would have {machine.size_text})"
    elif shown is not None and len(shown) < machine.num_states:
        states = f"{len(shown)} of its {states}, the others cannot be reached,"
    count = f"{states} over {', '.join(mission.propositions) or 'no propositions'}"
    if not analysis.satisfiable:
        return [count, "unsatisfiable: no trace can ever succeed"]
    lines = [count, *_clock_meaning(mission)]
    if machine.endless:
        lines.append("has no end: every completed round counts 1")
        lines += [
            f"may commit in {machine.names[edge.source]}, to be in {machine.names[edge.target]}: "
            + _commitment_meaning(machine, edge)
            for edge in machine.commitment_edges[:MOST_COMMITMENTS]
        ]
    elif machine.co_safe:
        lines.append("success is for good (co-safe): nothing that follows could undo it")
    else:
        lines.append("success is 'so far': the mission ends at its first accepting step")
    if analysis.witness is not None:
        what = "shortest round:   " if machine.endless else "shortest success: "
        if mission.in_parts:
            what = "a round:          " if machine.endless else "a success:        "
        lines.append(f"{what} {trace_text(analysis.witness)}")
    if analysis.counterexample is not None:
        failure = trace_text(analysis.counterexample)
        # In a known world it is also lost where the machine could succeed, but nothing is near enough.
        fails = _fails(machine, analysis.counterexample)
        where = "" if fails else "  (from some places, what is left is too far then)"
        lines.append(f"shortest failure:  {failure}{where}")
        lines.append(f"can fail by:       {'  or  '.join(map(str, analysis.failures))}")
    elif analysis.witness is not None:
        lines.append("cannot fail: success stays possible whatever happens")
    if mission.events and mission.in_parts:
        names = ", ".join(mission.events)
        lines.append(
            f"what the events {names} can do to it is not worked out for a mission in parts"
        )
    elif mission.events:
        lines += _events_meaning(verdict or event_verdict(machine, mission.events))
    return lines


def _clock_meaning(mission: Mission) -> list[str]:
    """Return, in sentences, what the clock does to the mission."""
    clocks = mission.clocks
    if clocks is None:
        return []
    lines = ["seconds are judged by the clock: ticks of it are steps of the machine"]
    for tick in clocks.ticks:
        text, window = clocks.texts[tick.operator], clocks.windows[tick.operator]
        if tick.kind == "closes" and window.last is not None:
            time = seconds_text(window.last)
            lines.append(
                f"{tick.name}: the window of '{text}' is over, {time} after it was asked for"
            )
        elif tick.kind == "opens":
            time = seconds_text(window.first)
            lines.append(
                f"{tick.name}: the window of '{text}' opens, {time} after it was asked for"
            )
    return lines


def _commitment_meaning(machine: RewardMachine, edge: Edge) -> str:
    """Return what a commitment says: what is to hold always, or else what is to come again and again."""
    if edge.label is not TRUE:
        return f"always {edge.label}"
    state = edge.target
    outcomes = [o for o in machine.successors(state) if machine.keeps(state, o)]
    paid = [o for o in outcomes if o.reward > 0]
    if not paid or any(o.target != state for o in outcomes):
        return f"only what {machine.names[state]} asks for"
    return f"{machine.label(state, paid)}, again and again"


def _events_meaning(verdict: EventVerdict) -> list[str]:
    """Return, in sentences, what events can do to the mission."""
    lines = []
    for risk in verdict.risks:
        where = ""
        if risk.starts is not None:
            lost, possible = risk.starts
            where = (
                f", from {lost} of {possible} places" if lost < possible else ", from every place"
            )
        names = " and ".join(risk.events)
        lines.append(
            f"{names} can make it fail whatever the robot does{where}: "
            f"{counterexample_text(risk.counterexample)}"
        )
    blamed = {name for risk in verdict.risks for name in risk.events}
    others = [name for name in verdict.declared if name not in blamed]
    if others:
        what = "no other event alone" if blamed else "no event"
        lines.append(f"{what} can make it fail {verdict.proved_for}, of: {', '.join(others)}")
    return lines


def _fails(machine: RewardMachine, trace: Trace) -> bool:
    """Tell whether a trace fails the machine itself, whatever the world."""
    if isinstance(machine, FactoredMachine):
        return True
    state = machine.initial
    for labels in trace:
        state = machine.step(state, labels).target
    return state in machine.failure


def counterexample_text(counterexample: Counterexample) -> str:
    """Return on one line how events defeat the robot."""
    parts = [
        trace_text(list(part)) for part in (counterexample.steps, counterexample.forever) if part
    ]
    if counterexample.forever:
        parts[-1] += ", and so forever"
    return " ; then ".join(parts)


def trace_text(trace: Trace) -> str:
    """Return a trace on one line; of many equal steps in a row, how many there are."""
    parts: list[str] = []
    for labels, group in groupby(map(labels_text, trace)):
        count = len(list(group))
        parts += [f"{labels} × {count}"] if count >= MANY_STEPS else [labels] * count
    return " ; ".join(parts)
