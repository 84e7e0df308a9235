"""Bounds in steps and in seconds: what they mean, how they are written, how small they stay."""

import pickle
import random
import time

import pytest

from bounded_semantics import holds_bounded, random_tree, text_of
from lasso_semantics import random_lasso
from machine_lassos import accepted_forever
from skm_machine import MissionError, compile_mission, holds, parse, translate, translate_omega
from skm_sim import get_domain

NAMES = ("a", "b", "c")


def random_trace(rng):
    return [frozenset(n for n in NAMES if rng.random() < 0.5) for _ in range(rng.randint(1, 9))]


def test_bounded_formulas_mean_what_their_definition_says_on_finite_traces():
    rng = random.Random(1)
    for _ in range(400):
        tree = random_tree(rng, rng.randint(1, 4), NAMES)
        formula = parse(text_of(tree))
        automaton = translate(formula)
        for _ in range(20):
            trace = random_trace(rng)
            expected = holds_bounded(tree, trace)
            assert holds(formula, trace) == expected, (text_of(tree), trace)
            assert automaton.accepts(trace) == expected, (text_of(tree), trace)


def test_bounded_formulas_mean_what_their_definition_says_on_infinite_traces():
    rng = random.Random(2)
    for _ in range(400):
        tree = random_tree(rng, rng.randint(1, 3), NAMES, most=2)
        automaton = translate_omega(text_of(tree))
        for _ in range(20):
            prefix, loop = random_lasso(rng, NAMES)
            expected = holds_bounded(tree, prefix, loop)
            assert automaton.accepts(prefix, loop) == expected, (text_of(tree), prefix, loop)


def test_printing_and_parsing_bounds_is_the_identity():
    rng = random.Random(3)
    for _ in range(500):
        formula = parse(text_of(random_tree(rng, rng.randint(1, 5), NAMES)))
        assert parse(str(formula)) is formula
        assert pickle.loads(pickle.dumps(formula)) is formula


@pytest.mark.parametrize(
    "text",
    [
        "F[0,5] a",
        "G[0,10] !b",
        "a U[2,8] b",
        "a W[1,3] !b",
        "!a R[0,2] b",
        "a M[2,4] b",
        "G(a -> F[0,20] b)",
        "F[0,3] G[0,4](a | b)",
        "F[2,3] a & G[1,7] b",
        "X X X a",
        "X[4] a",
        "F X[5](a & X[20] b)",
        "X[5] X[5000] a",
    ],
)
def test_bounds_are_written_as_they_were_given(text):
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("F[0,0] a", "a"),
        ("F[0,2] a", "a | X(a | X a)"),
        ("F[2,] a", "X X F a"),
        ("F[1:3] a", "F[1,3] a"),
        ("F [ 1 .. 3 ] a", "F[1,3] a"),
        ("GF[0,2]a", "G F[0,2] a"),
        ("<>[0,3] []a", "F[0,3] G a"),
        ("X[3] a", "X X X a"),
        ("F[0,2] a U[0,1] b", "(F[0,2] a) U[0,1] b"),
    ],
)
def test_reads_the_same(text, same):
    assert parse(text) is parse(same)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("F[0,50] a", 53),
        ("G(a -> F[0,20] b)", 23),
        ("G(a -> F[0,100] b)", 103),
        ("G(a -> b U[2,8] c)", 18),
        ("G(a -> F[0,10] b) & G(c -> F[0,10] d)", 123),
        ("F[0,20](a & F[0,20] b)", 253),
    ],
)
def test_machines_stay_small(text, states):
    start = time.thread_time()
    assert translate(parse(text)).num_states == states
    assert translate_omega(text).num_states <= states
    assert time.thread_time() - start < 5


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("F[5] a", 1, r"write F\[0,5\] for 'within 5'"),
        ("F[3,2] a", 1, "must not be above"),
        ("a [0,3] b", 2, "stands behind one of X, F, G"),
        ("![0,3] b", 1, "stands behind"),
        ("F[0,1][0,1] b", 6, "stands behind"),
        ("F[0,3", 1, "never closed"),
        ("F[now] a", 1, "is not a bound: write it as in F"),
        ("F[0,0.5] a", 1, "write 0.5s for seconds"),
        ("F[0d,1d] a", 1, "Known: ms, s, min, h"),
        ("F[3s,2s] a", 1, "must not be above"),
        ("F[0,5001] a", 1, "at most 5000"),
        ("X[0,3] a", 1, "X takes one number"),
        ("a & ", 2, "nothing follows"),
        ("F[0,2]", 0, "nothing follows"),
        ("G[0,2600](a -> F[0,2600] b)", 0, "10100 deep, where each step of a bound counts"),
        (" & ".join(30 * ["F[0,1000] a"]), 281, "steps in bounds"),
        ("(" * 30 + "a" + " U[2,2] b)" * 30, 323, "too long"),
    ],
)
def test_errors_point_at_the_bound(text, column, message):
    start = time.process_time()
    with pytest.raises(MissionError, match=message) as caught:
        parse(text)
    assert time.process_time() - start < 5
    assert caught.value.position == column


def test_seconds_are_a_window_on_the_clock_whatever_a_step_takes():
    def read(text, step):
        return str(compile_mission(text, step_seconds=step, clock=True).formula)

    assert read("F[0s,3s] a", 0.5) == read("F[0,3s] a", None) == "F[0s,3s] a"
    assert read("G[250ms, 0.1min] a", 0.5) == "G[0.25s,6s] a"
    assert read("a U[1s,] b", 0.4) == "a U[1s,] b"
    assert read("F[0.6s,0.9s] a", 0.5) == "F[0.6s,0.9s] a"
    with pytest.raises(MissionError, match="there is no clock"):
        compile_mission("F[0s,3s] a")


def test_only_a_world_with_a_clock_has_seconds():
    physics = get_domain("safety").make().unwrapped.world.physics
    assert get_domain("safety").step_seconds == pytest.approx(physics.timestep * 10)
    assert get_domain("office").step_seconds is None


@pytest.mark.parametrize("text", ["(a U " * 700 + "X b" + ")" * 700, "G(a -> F[0,1300] b)"])
def test_what_is_too_deep_is_refused_in_time(text):
    for translation in (translate, translate_omega):
        start = time.thread_time()
        with pytest.raises(MissionError, match="the mission's machine grows too large"):
            translation(parse(text), max_seconds=0.5)
        assert time.thread_time() - start < 3


def test_a_sequence_of_300_targets_has_a_machine():
    text = "".join(f"F(p{i} & X " for i in range(299)) + "F p299" + ")" * 299
    assert compile_mission(text).machine.num_states == 301


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("F[0,500] a", 503),
        ("G[0,300] !b", 303),
        ("a U[10,400] b", 403),
        ("a U[10,1000] b", 1003),
        ("G(a -> F[0,500] b) & G F c", 1004),
        ("F[0,500] a & F[0,400] b", 1303),
        ("G(a -> F[0,300] b) & G(c -> F d)", 603),
        ("G(a -> F[0,50] b) & F G c", 105),
        ("G(a -> F[5,20] b)", 273),
    ],
)
def test_long_bounds_are_counters(text, states):
    start = time.thread_time()
    assert compile_mission(text).machine.num_states <= states
    assert time.thread_time() - start < 5


def test_long_bounds_mean_what_their_definition_says():
    rng = random.Random(4)
    for _ in range(15):
        first, last = sorted((rng.randint(0, 60), rng.randint(20, 200)))
        operands = ("a",) if rng.random() < 0.4 else ("a", "b")
        operator = rng.choice("FG" if len(operands) == 1 else "UWRM")
        tree = (operator, first, last, *operands)
        automaton = translate(parse(text_of(tree)))
        for _ in range(10):
            chance = rng.choice((0.01, 0.99))
            trace = [
                frozenset(n for n in NAMES if rng.random() < chance)
                for _ in range(rng.randint(last - 2, last + 3))
            ]
            assert automaton.accepts(trace) == holds_bounded(tree, trace), text_of(tree)


def test_responses_with_bounds_and_promises_together_mean_what_they_say():
    rng = random.Random(5)
    for last in (9, 13):
        response = ("G", 0, None, ("|", ("!", "a"), ("F", 0, last, "b")))
        lasting = ("F", 0, None, ("G", 0, None, "c"))
        again = ("G", 0, None, ("F", 0, None, "a"))
        owed = ("G", 0, None, ("|", ("!", "c"), ("F", 0, None, "a")))
        for other in (lasting, ("|", lasting, again), owed):
            tree = ("&", response, other)
            machine = compile_mission(text_of(tree), horizon="infinite").machine
            for _ in range(40):
                prefix, loop = random_lasso(rng, NAMES)
                silence = [frozenset("c")] * rng.randint(0, 2 * last)
                expected = holds_bounded(tree, prefix + silence, loop)
                assert accepted_forever(machine, prefix + silence, loop) == expected


def test_a_delayed_window_that_is_too_large_is_refused_with_the_reason():
    start = time.thread_time()
    with pytest.raises(MissionError, match=r"F\[20,60\] b.* begins 20 steps later.*F\[0,60\] b"):
        compile_mission("G(a -> F[20,60] b) & G F c")
    assert time.thread_time() - start < 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("G(a -> X[20] b)", r"'X\[20\] b' begins 20 steps later.*'F\[0,20\] b'"),
        ("F(a & X[25] b)", r"'X\[25\] b' begins 25 steps later.*'F\[0,25\] b'"),
        (
            "G(a -> X[30] !b) & G(c -> F[2,5] d)",
            r"in the clause 'G\(a -> X\[30\] !b\)'.*'X\[30\] !b' begins 30",
        ),
    ],
)
def test_a_step_much_later_that_is_too_large_is_refused_with_the_reason(text, said):
    with pytest.raises(MissionError, match=said):
        compile_mission(text)
