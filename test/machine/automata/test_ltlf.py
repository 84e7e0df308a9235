"""The translator: exact against Spot's answers and the semantics, minimal, and fast."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings

from skm_machine import compile_mission, holds, parse, translate
from skm_machine.errors import SkmError, UnsupportedMissionError
from skm_machine.logic.formula import evaluate
from strategies import formulas, traces
from tasks import TASKS

ORACLE = Path(__file__).parents[2] / "data" / "ltlf.jsonl"


def test_all_of_spots_answers():
    """Every trace judged as Spot does, by the automaton and by definition; states as few as Spot's."""
    start = time.process_time()
    cases = [json.loads(line) for line in ORACLE.read_text().splitlines()]
    assert len(cases) == 400
    for case in cases:
        formula = parse(case["ltl"])
        automaton = translate(formula)
        assert automaton.num_states == case["states"], case["ltl"]
        for steps, satisfied in case["traces"]:
            trace = [set(step) for step in steps]
            assert automaton.accepts(trace) == satisfied, (case["ltl"], trace)
            assert holds(formula, trace) == satisfied, (case["ltl"], trace)
    assert time.process_time() - start < 20


@given(formulas(), traces())
@settings(max_examples=500)
def test_automata_agree_with_the_semantics(formula, trace):
    assert translate(formula).accepts(trace) == holds(formula, trace)


@given(formulas())
def test_automata_are_minimal_deterministic_and_complete(formula):
    """No two states agree on all continuations, and each label set takes exactly one edge."""
    automaton = translate(formula)
    letters = [
        frozenset(name for bit, name in enumerate("abc") if number >> bit & 1)
        for number in range(8)
    ]
    for state in range(automaton.num_states):
        for letter in letters:
            fitting = [
                edge.target
                for edge in automaton.transitions
                if edge.source == state and evaluate(edge.label, letter)
            ]
            assert fitting == [automaton.step(state, letter)]
    distinct = {(s, s in automaton.accepting) for s in range(automaton.num_states)}
    signature = {state: state in automaton.accepting for state, _ in distinct}
    for _ in range(automaton.num_states):
        rows = {
            state: (signature[state], *(signature[automaton.step(state, x)] for x in letters))
            for state in signature
        }
        numbers = {row: index for index, row in enumerate(dict.fromkeys(rows.values()))}
        signature = {state: numbers[row] for state, row in rows.items()}
    assert len(set(signature.values())) == automaton.num_states


def test_the_empty_trace_is_never_accepted():
    assert not translate(parse("true")).accepts([])
    assert not holds(parse("true"), [])


def test_dead_and_settled_states():
    automaton = translate(parse("F a & G !b"))
    after_b = automaton.step(automaton.initial, {"b"})
    after_a = automaton.step(automaton.initial, {"a"})
    assert automaton.dead == {after_b}
    assert after_a in automaton.accepting
    assert automaton.settled == frozenset(), "a later b would still spoil it"
    settled = translate(parse("F a"))
    assert settled.settled == {settled.step(0, {"a"})}


@pytest.mark.parametrize("task", TASKS)
def test_task_formulas_have_their_states_quickly(task):
    text, states = TASKS[task]
    formula = parse(text)
    assert translate(formula).num_states == states


@pytest.mark.parametrize(
    ("text", "states"),
    [
        (" & ".join(f"F p{i}" for i in range(8)), 257),
        ("".join(f"F(p{i} & X " for i in range(19)) + "F p19" + ")" * 19, 21),
        ("F(" + " & ".join(f"p{i}" for i in range(16)) + ")", 2),
        ("F(" + " xor ".join(f"p{i}" for i in range(16)) + ")", 2),
        ("(" + " | ".join(f"p{i}" for i in range(15)) + ") U q", 3),
        (" & ".join(f"G(p{i} -> F q{i})" for i in range(8)), 258),
    ],
    ids=["eight places", "sequence of 20", "and of 16", "xor of 16", "or of 15", "eight responses"],
)
def test_growth(text, states):
    """What a naive translation would enumerate (2^16 label sets) never ends here."""
    assert translate(parse(text)).num_states <= states


@pytest.mark.parametrize(
    ("text", "states"),
    [
        (" U (".join(f"p{i}" for i in range(16)) + ")" * 15, 17),
        (" U (".join(f"p{i}" for i in range(40)) + ")" * 39, 41),
        (" & ".join(f"G(p{i} -> F q{i})" for i in range(12)), 4097),
        (" & ".join(f"G F p{i}" for i in range(12)), 4095),
    ],
    ids=["until of 16", "until of 40", "twelve responses", "twelve recurrences"],
)
def test_what_took_minutes_takes_seconds(text, states):
    start = time.thread_time()
    horizon = "finite" if "->" in text else "auto"
    assert compile_mission(text, horizon=horizon).machine.num_states == states
    assert time.thread_time() - start < 5


def test_the_limits_of_a_translation_can_be_set():
    places = parse(" & ".join(f"F p{i}" for i in range(8)))
    assert translate(places, max_states=1000).num_states == 256
    with pytest.raises(
        UnsupportedMissionError, match=r"more than 100 states.*8 parts multiply.*'F p0'"
    ):
        translate(places, max_states=100)
    with pytest.raises(
        UnsupportedMissionError, match=r"in the clause 'X\(F p0 & F p1.*parts multiply"
    ):
        translate(parse(f"X a | X({' & '.join(f'F p{i}' for i in range(30))})"))


def test_labels_stay_short():
    labels = {str(edge.label) for edge in translate(parse("F(blue & !(a & b))")).transitions}
    assert labels == {"!blue | a & b", "blue & (!a | !b)", "true"}
    parity = translate(parse("F(" + " xor ".join(f"p{i}" for i in range(16)) + ")"))
    assert max(len(str(edge.label)) for edge in parity.transitions) < 300


def test_too_large_a_mission_is_refused_in_time():
    start = time.process_time()
    with pytest.raises(UnsupportedMissionError, match="more than"):
        translate(parse(" & ".join(f"F p{i}" for i in range(30))))
    with pytest.raises(UnsupportedMissionError, match="more than"):
        translate(parse(" & ".join(f"F(p{i} & X p{i + 1})" for i in range(300))))
    assert time.process_time() - start < 30


def test_an_unknown_translator_is_an_error():
    with pytest.raises(SkmError, match="Known: builtin, spot"):
        translate(parse("a"), translator="magic")
    for mission in ("F a", "G F a"):
        with pytest.raises(SkmError, match="did you mean 'builtin'"):
            compile_mission(mission, translator="buildin")
