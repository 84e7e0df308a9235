"""Formulas that mean the same are read the same: with an end, or as recurring missions."""

import json
import random
from pathlib import Path

import pytest

from equivalent_formulas import NAMES, differ, rewritten
from lasso_semantics import holds_forever, random_formula
from skm_machine import compile_mission, reading
from skm_machine.analysis import judge
from skm_machine.automata.limits import LimitReachedError
from skm_machine.automata.ltlf import minimal_automaton
from skm_machine.logic.normal_forms import seen_through
from skm_machine.logic.parser import parse

SPOT = Path(__file__).parents[1] / "data" / "ltl_lasso.jsonl"


def is_recurring(formula):
    return reading.read_formula(formula, "auto", lambda: [minimal_automaton(formula)]).recurring


@pytest.mark.parametrize(
    "texts",
    [
        ("F G a", "F(a & G a)", "F(a & X G a)", "G F G a", "!G F !a", "true U (false R a)"),
        ("G a", "a & G(a -> X a)", "G a & F a", "a W false", "X G a & a"),
        ("F a & G !b", "!b U (a & G !b)", "G !b & (!b U a)"),
        ("G[0,3] a", "a & X a & X X a & X X X a", "!F[0,3] !a"),
        ("X !a", "!X a"),
        ("F(a | b)", "F(a | b | G a)", "F a | F b | F G(a & b)"),
        ("F c & G !a", "F c & G(a -> F b) & G !a"),
        ("G F a", "G(F a | G a)", "F G F a", "G(a | X F a)"),
    ],
)
def test_equivalent_formulas_are_read_the_same(texts):
    """`F(a & G a)` was over at the first a, though it means the same as `F G a`."""
    first, *others = map(parse, texts)
    for other in others:
        assert not differ(random.Random(0), first, other, 200)
        assert is_recurring(other) == is_recurring(first), str(other)


def test_300_pairs_that_spots_lassos_do_not_tell_apart_are_read_the_same():
    rng, recurring = random.Random(25), 0
    lines = SPOT.read_text().splitlines()
    for line in lines:
        spot = json.loads(line)
        formula = parse(spot["ltl"])
        other = rewritten(rng, formula, rng.randint(1, 3))
        for prefix, loop, satisfied in spot["lassos"]:
            assert holds_forever(other, list(map(set, prefix)), list(map(set, loop))) == satisfied
        recurring += is_recurring(formula)
        assert is_recurring(formula) == is_recurring(other), (str(formula), str(other))
    assert len(lines) == 300
    assert 50 < recurring < 250


def test_pairs_of_small_formulas_are_read_the_same():
    rng = random.Random(3)
    for _ in range(150):
        formula = random_formula(rng, rng.randint(2, 9), NAMES)
        other = rewritten(rng, formula, rng.randint(1, 4))
        assert not differ(rng, formula, other, 10)
        assert is_recurring(formula) == is_recurring(other), (str(formula), str(other))


def test_what_a_sample_shows_is_what_the_whole_shows(monkeypatch):
    """A few residuals are looked at first; with none, the automaton of all decides."""
    rng = random.Random(9)
    formulas = [random_formula(rng, rng.randint(3, 10), NAMES) for _ in range(150)]
    quick = [is_recurring(formula) for formula in formulas]
    monkeypatch.setattr(reading, "SAMPLES", ())
    assert [is_recurring(formula) for formula in formulas] == quick


def test_a_formula_too_large_to_be_judged_by_its_runs_is_read_by_its_form(monkeypatch):
    def too_much(*_):
        raise LimitReachedError("more work than it is worth")

    monkeypatch.setattr(reading, "ResidualLanguage", too_much)
    for text, recurring in (("F a & G !b", False), ("G F a", True), ("G a", True)):
        mission = compile_mission(text)
        assert mission.recurring == recurring
        assert "by its form" in mission.reading.why


@pytest.mark.parametrize(
    ("text", "trace", "accepted_at"),
    [
        ("G[0,3] a", "a;a;a;a;a", 4),
        ("G[0,3] a", "a;a;;a;a", None),
        ("F(a & X G[0,3] a)", "a;a;;a;a;a;a;a;a", 8),
        ("F[0,2] b & G[0,4] !c", ";b;;;;", 5),
        ("F[0,2] b & G[0,4] !c", ";b;c;;;", None),
        ("a W[0,2] b", "a;a;a;a", 3),
        ("a W[0,2] b", "a;b", 2),
        ("!X a", ";;", 2),
        ("G[0,2] F b", "b;;;b", 4),
        ("F b & !F(a & X F(a & X F a))", "a;a;b", 3),
        ("F a & G !b", ";a", 2),
    ],
)
def test_a_bound_is_seen_through(text, trace, accepted_at):
    """`G[0,3] a` beside or below an F held as soon as the trace ended: at the first step."""
    judged = judge(compile_mission(text), [set(labels) for labels in trace.split(";")])
    assert judged.accepted_at == accepted_at


def test_seeing_bounds_through_changes_nothing_on_infinite_traces():
    rng, changed = random.Random(1), 0
    for _ in range(200):
        formula = random_formula(rng, rng.randint(2, 10), NAMES)
        through = seen_through(formula)
        changed += through is not formula
        assert not differ(rng, formula, through, 20)
    assert changed > 8


def test_who_asks_for_finite_traces_gets_them_by_definition():
    assert judge(compile_mission("G[0,3] a", horizon="finite"), [{"a"}]).accepted_at == 1
