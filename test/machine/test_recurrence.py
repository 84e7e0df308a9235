"""Recurring missions: exact on ultimately periodic traces, and read as the rule says."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasso_semantics import holds_forever, random_formula, random_lasso
from machine_lassos import accepted_forever
from skm_machine import UnsupportedMissionError, compile_mission, plan_paper
from skm_machine.automata.ldba import best_graph
from skm_machine.automata.limits import LimitReachedError, Limits
from skm_machine.logic.formula import Formula, conjunction
from skm_machine.logic.parser import parse
from skm_machine.tracker import BuchiVisits, MissionTracker, Status
from strategies import boolean_formulas, formulas, traces

SAFE = formulas(unary=("!", "X", "G"), binary=("&", "|", "R", "W"), max_leaves=4)
CO_SAFE = formulas(unary=("!", "X", "F"), binary=("&", "|", "U", "M"), max_leaves=4)


@given(
    recurrences=st.lists(boolean_formulas(), min_size=0, max_size=2),
    persistences=st.lists(boolean_formulas(), min_size=0, max_size=1),
    clauses=st.lists(SAFE | CO_SAFE, max_size=2),
    prefix=traces(max_size=3),
    loop=traces(max_size=3),
)
@settings(max_examples=300)
def test_clauses_are_rewarded_forever_exactly_if_they_hold(
    recurrences, persistences, clauses, prefix, loop
):
    parts = [Formula("G", (Formula("F", (p,)),)) for p in recurrences]
    parts += [Formula("F", (Formula("G", (q,)),)) for q in persistences]
    formula = conjunction(*parts, *clauses)
    machine = compile_mission(str(formula), horizon="infinite").machine
    assert accepted_forever(machine, prefix, loop) == holds_forever(formula, prefix, loop)


def test_any_formula_is_rewarded_forever_exactly_if_it_holds():
    rng, names, with_epsilon = random.Random(4), ["a", "b", "c"], 0
    for _ in range(250):
        formula = random_formula(rng, rng.randint(2, 14), names)
        machine = compile_mission(str(formula), horizon="infinite").machine
        with_epsilon += bool(machine.epsilon_transitions)
        for _ in range(10):
            prefix, loop = random_lasso(rng, names)
            expected = holds_forever(formula, prefix, loop)
            assert accepted_forever(machine, prefix, loop) == expected, formula
    assert with_epsilon > 10


@pytest.mark.parametrize(
    ("text", "recurring"),
    [
        ("G F a", True),
        ("F G a", True),
        ("G F a & G F b & G !c", True),
        ("G(F a & !c)", True),
        ("!F G a", True),
        ("G(a -> F b)", True),
        ("G F a | F G b", True),
        ("G !a", True),
        ("!a W b", True),
        ("G(a -> X b)", True),
        ("G a", True),
        ("G(a | b) & (c W d)", True),
        ("!(a U b)", True),
        ("X G a", True),
        ("X X G a", True),
        ("G a | F b", True),
        ("F a -> F b", True),
        ("(a -> F b) & G !c", True),
        ("F(a & G a)", True),
        ("F(a & X G a)", True),
        ("a & G(a -> X a)", True),
        ("G a & F a", True),
        ("F c & G(a -> F b)", True),
        ("F c & F G d", True),
        ("G[0,10] a", False),
        ("F[0,5] a & G b", False),
        ("F[0,500] a & G b", False),
        ("F(a & G !b)", False),
        ("F(a | G a)", False),
        ("G(a -> F b) & G !a & F c", False),
        ("!G a", False),
        ("a & X b", False),
        ("F a & G !b", False),
        ("F a & G(a -> X b)", False),
        ("F(a & X(F b & G !c))", False),
        ("F(!a & !b)", False),
        ("!a U b", False),
        ("true", False),
    ],
)
def test_the_rule_tells_recurring_missions_from_missions_with_an_end(text, recurring):
    mission = compile_mission(text)
    assert mission.machine.endless == recurring
    assert mission.reading.recurring == recurring
    assert mission.reading.why
    assert mission.reading.other
    for horizon, endless in (("finite", False), ("infinite", True)):
        assert compile_mission(text, horizon=horizon).machine.endless == endless


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("G F a", 1),
        ("G F a & G F b & G !c", 4),
        ("G F a & G F b & G F c", 7),
        ("G F a & F(b & X F c)", 3),
        ("G F a & F b & G !c", 3),
        ("G F(a & X b)", 2),
        ("G(a -> F b)", 2),
    ],
)
def test_deterministic_machines_stay_small(text, states):
    machine = compile_mission(text).machine
    assert not machine.epsilon_transitions
    assert machine.num_states <= states


def test_patrol_counts_rounds_in_any_order():
    machine = compile_mission("G F a & G F b & G !c").machine
    state, total = machine.initial, 0.0
    for labels in ["b", "", "a", "a", "b", "ab"]:
        state, reward = machine.step(state, set(labels))
        total += reward
    assert total == 3
    state, _ = machine.step(state, {"c"})
    assert state in machine.failure


@pytest.mark.parametrize(
    "text",
    [
        "G F(a & X F(b & X F c))",
        "G F(a & F(b & F c)) & G !d",
        "patrol a, b, c in order",
        "patrol a, b, c in strict order",
    ],
)
def test_a_round_of_a_sequence_is_the_whole_of_it(text):
    tracker = MissionTracker(compile_mission(text).machine, ())
    for labels in ["", "a", "", "b", "", "c", "", "a", "b", "c", "a", "b"]:
        tracker.update(set(labels))
    assert [move.step for move in tracker.transitions if move.reward > 0] == [6, 10]


def test_a_broken_promise_costs_the_round_and_not_the_mission():
    tracker = MissionTracker(compile_mission("F G a").machine, ())
    for labels in ["", "a", "a", "", "a"]:
        tracker.update(set(labels))
    assert tracker.status is Status.RUNNING
    assert tracker.accepting_visits == 3
    assert [(move.source, move.target) for move in tracker.transitions if move.reward == 0] == [
        (1, 0)
    ]


def test_the_papers_planner_keeps_promises():
    machine = compile_mission("F G a").machine
    skills = plan_paper(machine).skills
    assert [str(skills[state].reach) for state in (0, 1)] == ["a", "a"]
    assert [str(skills[state].avoid) for state in (0, 1)] == ["false", "!a"]


def test_a_response_owes_until_it_is_answered():
    machine = compile_mission("G(call -> F door) & G F hall").machine
    tracker = MissionTracker(machine, ())
    quiescent = []
    for labels in [(), ("call",), ("hall",), ("door",)]:
        tracker.update(labels)
        quiescent.append(tracker.state in machine.quiescent)
    assert quiescent == [True, False, False, True]


def test_visits_of_acceptance_wait_for_the_recurrences_in_turn():
    """To and fro between a and b: a round each way, a visit with each return."""
    passes = BuchiVisits(parse("G F a & G F b & G !c"))
    machine = compile_mission("G F a & G F b & G !c").machine
    state, rounds = machine.initial, 0
    for labels in ["a", "", "b", "b", "", "a", "a", "", "b", ""]:
        passes.step(labels)
        state, reward = machine.step(state, set(labels))
        rounds += int(reward)
    assert (passes.count, rounds) == (2, 3)
    assert [str(formula) for formula in passes.recurrences] == ["a", "b"]


def test_what_holds_at_once_is_visited_in_one_step_and_once():
    passes = BuchiVisits(parse("G F a & G F b"))
    for _ in range(3):
        passes.step({"a", "b"})
    assert passes.count == 3
    none = BuchiVisits(parse("F G a"))
    none.step({"a"})
    assert (none.count, none.recurrences) == (0, ())


def test_responses_of_many_outcomes_become_a_machine_that_answers_each():
    """Six of them: 193 states with 64 outcomes each, of which each was once looked for alone."""
    many = " & ".join(f"G(p{i} -> F q{i})" for i in range(6))
    machine = compile_mission(many, max_seconds=60).machine
    assert machine.num_states == 193
    tracker = MissionTracker(machine, ())
    quiescent = []
    for labels in [["p0", "p5"], ["q5"], ["p3"], ["q0", "q3"], ["p1", "q1"]]:
        tracker.update(labels)
        quiescent.append(tracker.state in machine.quiescent)
    assert quiescent == [False, False, False, True, True]


def test_recurring_missions_too_large_are_refused_within_one_limit_for_all_their_parts():
    """The bounds are watched apart, the responses by another automaton; both have one clock."""
    many = " & ".join(f"G(p{i} -> F q{i})" for i in range(12))
    start = time.thread_time()
    with pytest.raises(
        UnsupportedMissionError, match=r"more than 0.6 seconds. Its 14 parts multiply"
    ):
        compile_mission(f"{many} & G(a -> F[0,30] b) & G(c -> F[0,30] d)", max_seconds=0.6)
    assert time.thread_time() - start < 10


@pytest.mark.parametrize(
    ("text", "satisfiable"),
    [("G F a & F G !a", False), ("G F a & F G(!a | b)", True), ("G F a & G !a", False)],
)
def test_a_promise_that_no_round_can_keep_is_unsatisfiable(text, satisfiable):
    assert compile_mission(text).machine.satisfiable == satisfiable


def test_the_time_for_the_smallest_automaton_is_no_limit_for_what_comes_after(monkeypatch):
    """A clock on which translating takes 40 of 100 seconds, and all that follows 40 more."""
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    now = [0.0]
    limits = Limits(1000, 100.0)
    graph = best_graph(parse("G(a -> F b) & G(c -> F d)"), limits)
    now[0] = 80.0
    _grow(graph.diagrams, 10)
    now[0] = 101.0
    with pytest.raises(LimitReachedError, match="more than 100 seconds"):
        _grow(graph.diagrams, 5000)


def _grow(diagrams, first):
    """Add so many nodes that the diagrams look at the clock."""
    for variable in range(first, first + 2000):
        diagrams.literal(variable)
