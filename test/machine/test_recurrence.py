"""Missions without end: exact on ultimately periodic traces, and clear about what is not supported."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lasso_semantics import holds_forever

from skm_machine import UnsupportedMissionError, compile_mission, parse
from skm_machine.logic.syntax import Formula, conjunction, evaluate
from skm_machine.recurrence import is_endless, sort_clauses
from strategies import boolean_formulas, formulas, traces


def run_forever(machine, persistence, prefix, loop):
    """Tell whether prefix·loop^ω is rewarded infinitely often and lacks q only finitely often."""
    state = machine.initial
    for labels in prefix:
        state, _ = machine.step(state, labels)
    seen, history = {}, []
    while state not in seen:
        seen[state] = len(history)
        reward = 0.0
        for labels in loop:
            state, paid = machine.step(state, labels)
            reward += paid
        history.append(reward)
    rewarded = any(history[seen[state] :])
    return rewarded and all(evaluate(persistence, labels) for labels in loop)


SAFE = formulas(unary=("!", "X", "G"), binary=("&", "|", "R", "W"), max_leaves=4)
CO_SAFE = formulas(unary=("!", "X", "F"), binary=("&", "|", "U", "M"), max_leaves=4)


@given(
    recurrences=st.lists(boolean_formulas(), min_size=0, max_size=2),
    persistences=st.lists(boolean_formulas(), min_size=0, max_size=1),
    clauses=st.lists(SAFE | CO_SAFE, max_size=2),
    prefix=traces(max_size=3),
    loop=traces(max_size=3),
)
@settings(max_examples=400)
def test_rewarded_forever_exactly_if_the_mission_holds(
    recurrences, persistences, clauses, prefix, loop
):
    parts = [Formula("G", (Formula("F", (p,)),)) for p in recurrences]
    parts += [Formula("F", (Formula("G", (q,)),)) for q in persistences]
    formula = conjunction(*parts, *clauses)
    try:
        machine = compile_mission(str(formula), horizon="infinite").machine
    except UnsupportedMissionError:
        sort_clauses_fails = not all(_is_decidable(clause) for clause in clauses)
        assert sort_clauses_fails
        return
    expected = holds_forever(formula, prefix, loop)
    persistence = sort_clauses(formula).persistence
    assert run_forever(machine, persistence, prefix, loop) == expected


def _is_decidable(clause):
    """Tell whether a clause of the test is safe or co-safe once its negations are pushed down."""
    try:
        sort_clauses(clause)
    except UnsupportedMissionError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ("G F a", True),
        ("F G a", True),
        ("G F a & G F b & G !c", True),
        ("G(F a & !c)", True),
        ("!F G a", True),
        ("F a & G !b", False),
        ("G(a -> F b)", False),
        ("F(a & X(F b & G !c))", False),
    ],
)
def test_which_missions_have_no_end(text, endless):
    assert is_endless(parse(text)) == endless
    assert compile_mission(text).machine.endless == endless


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
    "text", ["G F(a & X b)", "G F a | F b", "G F a & G(b -> F c)", "(G F a) U b", "X G F a"]
)
def test_what_is_not_supported_says_so_and_names_the_way_out(text):
    with pytest.raises(UnsupportedMissionError, match=r"no machine for the clause .* HOA file"):
        compile_mission(text)
    assert not compile_mission(text, horizon="finite").machine.endless
