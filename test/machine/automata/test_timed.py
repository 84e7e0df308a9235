"""Bounds in seconds: an automaton with clocks against the definition, and what it must say."""

from __future__ import annotations

import random
from functools import partial

import pytest

from skm_machine import compile_mission as compile_any
from skm_machine import parse
from skm_machine.analysis import judge
from skm_machine.automata.limits import Limits
from skm_machine.automata.timed import timed_automaton
from skm_machine.errors import MissionError
from skm_machine.logic.formula import Formula, negation, proposition
from skm_machine.logic.timed import NANOSECONDS, Window, holds_timed, timed
from skm_machine.monitor import Monitor, Verdict
from skm_machine.reward_machine import from_automaton
from skm_machine.tracker import MissionTracker, Status

compile_mission = partial(compile_any, clock=True)
PLAIN = ("&", "|", "->", "<->", "X", "F", "G", "U", "R", "W", "M")
TIMED = ("F", "G", "U", "R", "W", "M")
FORMULAS, TRACES = 120, 12


def drawn(rng: random.Random, depth: int) -> Formula:
    """Return a random formula with bounds of a few nanoseconds, all even."""
    if depth == 0 or rng.random() < 0.15:
        atom = proposition(rng.choice("ab"))
        return atom if rng.random() < 0.7 else negation(atom)
    if rng.random() < 0.1:
        return negation(drawn(rng, depth - 1))
    kind = rng.choice(PLAIN + 2 * TIMED)
    bounded = rng.random() < 0.5 and kind in TIMED
    operands = tuple(drawn(rng, depth - 1) for _ in range(1 if kind in "XFG" else 2))
    if not bounded:
        return Formula(kind, operands)
    first = 2 * rng.choice([0, 0, 0, 1, 2])
    last = rng.choice([first, first + 2, first + 6, None])
    return timed(kind, Window(first, last), operands)


def labels_of(rng: random.Random) -> frozenset[str]:
    return frozenset(name for name in "ab" if rng.random() < 0.5)


def test_the_machine_with_clocks_agrees_with_the_definition_on_random_formulas():
    rng = random.Random(4)
    judged = refused = 0
    ends = {Status.ACCEPTED: 0, Status.FAILED: 0, Status.RUNNING: 0}
    while judged < FORMULAS:
        formula = drawn(rng, rng.choice([1, 2, 3]))
        assert parse(str(formula)) is formula
        try:
            found = timed_automaton(formula, Limits(1000, 0.5))
        except MissionError:
            refused += 1
            continue
        judged += 1
        machine = from_automaton(found.automaton)
        for _ in range(TRACES):
            tracker = MissionTracker(machine, (), found.clocks)
            ends[compared(rng, formula, tracker)] += 1
    assert refused < judged / 3
    assert min(ends[Status.ACCEPTED], ends[Status.FAILED]) > FORMULAS


def compared(rng: random.Random, formula: Formula, tracker: MissionTracker) -> Status:
    """Run a random timed trace through a tracker, and compare it with the definition all the way."""
    first, entered = labels_of(rng), list[tuple[int, frozenset[str]]]()
    tracker.start(first, 0)
    now, just_entered = 0, True
    for _ in range(9):
        if tracker.status is not Status.RUNNING:
            break
        before, now = now, now + 2 * rng.choice([0, 1, 1, 2, 3] if just_entered else [1, 1, 2, 3])
        just_entered = rng.random() < 0.6
        meanwhile = range(before, now if just_entered else now + 1)
        right = any(holds_timed(formula, 0, first, entered, time) for time in meanwhile)
        if just_entered:
            labels = labels_of(rng)
            entered.append((now, labels))
            tracker.update(labels, time=now)
            right = right or holds_timed(formula, 0, first, entered, now)
        else:
            tracker.advance(now)
        assert (tracker.status is Status.ACCEPTED) == right, (str(formula), first, entered, now)
    if tracker.status is Status.FAILED:
        time, longer = now if just_entered else now + 1, list(entered)
        for _ in range(6):
            time += rng.choice([0, 1, 2])
            longer.append((time, labels_of(rng)))
            assert not holds_timed(formula, 0, first, longer, time + 9), (str(formula), longer)
    return tracker.status


def followed(text: str, *entered: tuple[float, str], until: float = 0.0) -> str:
    """Return the verdict on states entered at these seconds, and when it came."""
    monitor = Monitor(compile_mission(text))
    monitor.begin((), 0)
    for seconds, labels in entered:
        monitor.enter(labels.split(), round(seconds * NANOSECONDS))
        if monitor.verdict is not Verdict.POSSIBLE:
            return monitor.verdict.value
    monitor.advance(round(until * NANOSECONDS))
    return monitor.verdict.value


def test_within_five_seconds_is_five_seconds_however_many_steps_that_takes():
    slow, quick = [(27.5, "office")], [(0.05 * k, "") for k in range(1, 90)]
    assert followed("F[0s,5s] office", *slow) == "violated"
    assert followed("F[0s,5s] office", *quick, (4.9, "office")) == "satisfied"
    assert followed("F[0s,5s] office", *quick, (5.0, "office")) == "satisfied"
    assert followed("F[0s,5s] office", *quick, (5.01, "office")) == "violated"


def test_a_deadline_passes_though_the_robot_stands_still():
    assert followed("F[0s,5s] office", until=5.0) == "possible"
    assert followed("F[0s,5s] office", until=5.01) == "violated"


def test_stay_ten_seconds_takes_ten_seconds():
    text = "F(coffee & X G[0s,10s] coffee)"
    assert followed(text, (1, "coffee"), (2, "coffee"), until=11.9) == "possible"
    assert followed(text, (1, "coffee"), (2, "coffee"), until=12.1) == "satisfied"
    away = [(1, "coffee"), (2, "coffee"), (9, ""), (10, "coffee"), (11, "coffee")]
    assert followed(text, *away, until=20.9) == "possible"
    assert followed(text, *away, until=21.1) == "satisfied"


def test_an_answer_counts_from_the_oldest_call():
    text = "G(call -> F[0s,120s] coffee)"
    calls = [(10, "call"), (60, "call")]
    assert followed(text, *calls, (129, "coffee"), until=500) == "possible"
    assert followed(text, *calls, (131, "coffee")) == "violated"
    assert (
        followed(text, *calls, (129, "coffee"), (140, "call"), (259, ""), until=261) == "violated"
    )


def test_a_window_that_opens_later_counts_who_is_there_already():
    assert followed("F[5s,10s] coffee", (3, "coffee"), until=4.9) == "possible"
    assert followed("F[5s,10s] coffee", (3, "coffee"), until=5) == "satisfied"
    assert followed("F[5s,10s] coffee", (3, "coffee"), (4, ""), until=10.1) == "violated"
    assert followed("G[5s,10s] !coffee", (3, "coffee"), (4, ""), until=10.1) == "satisfied"


def test_bounds_of_an_hour_have_as_few_states_as_those_of_a_second():
    for hour, second in (("F[0s,1h] a", "F[0s,1s] a"), ("G(c -> F[0min,60min] a)", None)):
        states = compile_mission(hour).machine.num_states
        assert states < 6
        assert second is None or states == compile_mission(second).machine.num_states
    assert followed("F[0s,1h] a", (3599.9, "a")) == "satisfied"
    assert followed("F[0s,1h] a", (3600.1, "a")) == "violated"


def test_a_mission_that_repeats_starts_its_clocks_again():
    mission = compile_mission("F[0s,5s] a", repeat=True)
    tracker = MissionTracker(mission.machine, (), mission.clocks)
    tracker.start((), 0)
    for seconds, labels in ((4, "a"), (8, "a"), (12.5, "a")):
        tracker.update(labels, time=round(seconds * NANOSECONDS))
    assert tracker.accepting_visits == 3
    tracker.update((), time=round(17.6 * NANOSECONDS))
    assert tracker.status is Status.FAILED


def test_a_trace_with_times_is_judged_by_them():
    mission = compile_mission("F[0s,5s] a")
    assert judge(mission, [set(), {"a"}], [1.0, 4.5]).accepted_at == 2
    assert judge(mission, [set(), {"a"}], [1.0, 5.5]).accepted_at is None
    with pytest.raises(MissionError, match="say when each state"):
        judge(mission, [{"a"}])
    in_steps = compile_mission("F[0s,1s] a", step_seconds=0.1)
    assert judge(in_steps, [set()] * 9 + [{"a"}]).accepted_at == 10
    assert judge(in_steps, [set()] * 10 + [{"a"}]).accepted_at is None


def test_a_patrol_that_stays_at_each_place_goes_in_rounds():
    mission = compile_mission("G F(a & X G[0s,3s] a) & G F b & G !c")
    assert mission.recurring
    tracker = MissionTracker(mission.machine, (), mission.clocks)
    tracker.start((), 0)
    for second, labels in enumerate(
        ["a", "a", "a", "a", "a", "b", "a", "a", "a", "a", "a", "b", "c"]
    ):
        if tracker.status is Status.RUNNING:
            tracker.update(labels, time=(second + 1) * NANOSECONDS)
    assert tracker.accepting_visits == 2
    assert tracker.status is Status.FAILED


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("F[0s,60s] a", "a mission with an end"),
        ("F(a & X G[0s,10s] a)", "a mission with an end"),
        ("G[0s,10s] !a", "a mission with an end"),
        ("G(c -> F[0s,120s] a)", "a recurring mission"),
        ("G(c -> F[0s,120s] a) & G F b", "a recurring mission"),
    ],
)
def test_how_missions_with_seconds_are_read(text, kind):
    reading = compile_mission(text).reading
    assert reading is not None
    assert reading.kind == kind


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("G(a -> F[2s,5s] b)", r"begins 2s after it is asked for.*'F\[0s,5s\]' takes one clock"),
        ("G F(a & X G[0s,9s] a) & G(b -> F a)", "give 'F.*' as a mission that repeats"),
        ("F G(a & F[0s,5s] b)", "horizon finite"),
    ],
)
def test_what_cannot_be_told_exactly_is_refused_with_what_would_be_right(text, sentence):
    with pytest.raises(MissionError, match=sentence):
        compile_mission(text)
