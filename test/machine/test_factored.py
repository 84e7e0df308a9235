"""Missions in parts mean what the conjunction means."""

import json
from pathlib import Path
from random import Random

import pytest

from skm_machine import (
    MissionTracker,
    Status,
    UnsupportedMissionError,
    compile_mission,
    holds,
    parse,
)
from skm_machine.automata.ltlf import minimal_automaton
from skm_machine.factored import FactoredMachine, clauses_of, factored_recurring, finite_part
from skm_machine.logic.normal_forms import seen_through
from skm_machine.logic.semantics import holds_forever
from skm_machine.monitor import Monitor, Verdict

DATA = Path(__file__).parents[1] / "data"
CLAUSES = (
    "F {a}",
    "G !{a}",
    "F({a} & X F {b})",
    "!{a} U {b}",
    "!{a} W {b}",
    "G({a} -> F {b})",
    "G({a} -> X G !{a})",
    "F[0,4] {a}",
    "X X {a}",
    "F({a} | {b})",
    "F({a} & X(!{b} U {a}))",
)
RECURRING = ("G F {a}", "G !{a}", "G({a} -> F {b})", "F {a}", "G F({a} | {b})", "{a} W {b}")


def conjunction(rng, templates, count, names="abcd"):
    clauses = []
    for _ in range(count):
        a, b = rng.sample(names, 2)
        clauses.append(f"({rng.choice(templates).format(a=a, b=b)})")
    return " & ".join(clauses)


def labels(rng, names="abcd"):
    return frozenset(name for name in names if rng.random() < 0.25)


def in_parts(text):
    """The parts of any conjunction, also of those that would be one machine."""
    return FactoredMachine(
        [
            finite_part(clause, minimal_automaton(clause, through=True))
            for clause in clauses_of(parse(text))
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_success_is_that_of_the_formula_and_of_one_machine(seed):
    rng = Random(seed)
    text = conjunction(rng, CLAUSES, rng.randint(2, 5))
    formula = seen_through(parse(text))
    machine = in_parts(text)
    one = compile_mission(text, horizon="auto", parts="never")
    if one.machine.endless:
        one = None
    for _ in range(20):
        trace = [labels(rng) for _ in range(rng.randint(1, 14))]
        tracker = MissionTracker(machine, ())
        tracker.start(frozenset())
        for step, shown in enumerate(trace, start=1):
            satisfied = holds(formula, trace[:step])
            if tracker.status is not Status.RUNNING:
                assert not satisfied, "a mission that has failed is never satisfied"
                continue
            tracker.update(shown)
            assert (tracker.status is Status.ACCEPTED) == satisfied
            if tracker.status is Status.ACCEPTED:
                break
        if one is not None:
            whole = MissionTracker(one.machine, ())
            for shown in trace:
                if whole.status is Status.RUNNING:
                    whole.update(shown)
            assert (whole.status is Status.ACCEPTED) == (tracker.status is Status.ACCEPTED)
            assert tracker.status is not Status.FAILED or whole.status is Status.FAILED


@pytest.mark.parametrize("seed", range(60))
def test_rounds_go_on_for_ever_exactly_if_the_run_satisfies_it(seed):
    rng = Random(seed)
    text = conjunction(rng, RECURRING, rng.randint(2, 5)) + " & G F d"
    found = factored_recurring(parse(text), most=0)
    if found is None:
        pytest.fail(f"{text} was not factored")
    machine = found.machine
    for _ in range(15):
        prefix = [labels(rng) for _ in range(rng.randint(0, 4))]
        loop = [labels(rng) for _ in range(rng.randint(1, 5))]
        state = machine.initial
        rounds, seen = 0, {}
        for number, shown in enumerate([*prefix, *loop * 200]):
            state, reward = machine.step(state, shown)
            rounds += reward > 0
            seen[number] = rounds
        lasting = rounds > seen[len(prefix) + 100 * len(loop)]
        assert lasting == holds_forever(parse(text), prefix, loop), (text, prefix, loop)


@pytest.mark.parametrize(
    "mission",
    [json.loads(line) for line in (DATA / "large_missions.jsonl").read_text().splitlines()],
)
def test_the_witnesses_of_the_oracle_are_accepted_at_their_last_step(mission):
    compiled = compile_mission(mission["formula"], horizon="finite", parts="if large")
    trace = [frozenset(shown) for shown, count in mission["witness"] for _ in range(count)]
    tracker = MissionTracker(compiled.machine, ())
    for shown in trace:
        assert tracker.status is Status.RUNNING
        tracker.update(shown)
    assert tracker.status is Status.ACCEPTED


def visits(count, name="p"):
    return " & ".join(f"F {name}{i}" for i in range(count))


def test_a_mission_that_fits_is_one_machine_as_ever():
    assert not compile_mission("F a & F b & G !c", parts="if large").in_parts
    assert compile_mission(visits(11), parts="if large").in_parts
    assert not compile_mission(visits(11)).in_parts
    assert compile_mission(visits(20)).in_parts
    assert compile_mission(" & ".join(f"G F p{i}" for i in range(50))).in_parts


def test_limits_are_those_of_one_machine_and_the_refusal_names_the_way_out():
    with pytest.raises(UnsupportedMissionError, match=r"on a map .* its clauses are kept apart"):
        compile_mission(f"G p & {visits(20)}", max_states=20_000, max_seconds=0.5)
    with pytest.raises(UnsupportedMissionError, match="kept in 21 parts"):
        compile_mission(f"G p & {visits(20)}").machine.delta  # noqa: B018


def test_states_have_the_same_numbers_whoever_meets_them_first():
    """What is recorded can be compared with a replay."""
    for text in (visits(12), visits(40)):
        first = compile_mission(text, parts="if large").machine
        second = compile_mission(text, parts="if large").machine
        one, _ = first.step(first.initial, {"p3"})
        two, _ = second.step(second.initial, {"p5"})
        assert first.step(one, {"p5"}) == second.step(two, {"p3"})
        assert 0 < one < 2**31
        assert first.name(one)[1:].count("1") == 1
        assert first.names[first.failed] == "failed"


def test_what_is_owed_and_how_it_fails_are_told_part_by_part():
    mission = compile_mission(f"{visits(20)} & G !w")
    monitor = Monitor(mission)
    monitor.begin(())
    assert monitor.way_to_violate() == [frozenset({"w"})]
    assert len(monitor.way_to_satisfy()) == 1
    monitor.enter({"p3"})
    assert mission.machine.pending_clauses(monitor.state) == [
        f"F p{i}" for i in range(20) if i != 3
    ]
    monitor.enter({f"p{i}" for i in range(20)})
    assert monitor.verdict is Verdict.SATISFIED
    monitor.begin(())
    monitor.enter({"w"})
    assert monitor.verdict is Verdict.VIOLATED


def test_a_contradiction_between_clauses_with_a_common_proposition_is_told():
    mission = compile_mission(f"{visits(20)} & G !p3")
    assert not mission.machine.satisfiable


def test_what_needs_all_states_at_once_is_refused_with_the_reason():
    machine = compile_mission(
        " & ".join(f"F p{number}" for number in range(14)), parts="if large"
    ).machine
    for ask in (lambda: machine.delta, lambda: machine.outcomes, machine.iterate_edges):
        with pytest.raises(UnsupportedMissionError, match="kept in 14 parts"):
            ask()
    assert machine.epsilon_transitions == ()
