"""The bridge to Spot: what the real Spot 2.12 printed for 60 formulas, and a stand-in that prints it.

Spot itself is on no registry, so `test/data/spot_hoa.jsonl` holds its automata: of finite traces, and
of infinite ones with Büchi (deterministic or not), parity and any acceptance.
"""

import json
import random
import sys
import types
from pathlib import Path

import pytest

from lasso_semantics import random_lasso
from skm_machine import (
    UnsupportedMissionError,
    compile_mission,
    holds,
    parse,
    read_hoa,
    read_hoa_omega,
    translate,
    translate_omega,
)
from skm_machine.formats.hoa import read_hoa_automaton
from skm_machine.spot_translator import SpotMissingError, spot_text

DATA = Path(__file__).parents[1] / "data"
PRINTED = [json.loads(line) for line in (DATA / "spot_hoa.jsonl").read_text().splitlines()]
LASSOS = {
    case["ltl"]: case["lassos"]
    for case in map(json.loads, (DATA / "ltl_lasso.jsonl").read_text().splitlines())
}
INFINITE = ("buchi", "deterministic_buchi", "parity", "generic")

EVENTUALLY_A = """HOA: v1
States: 2
Start: 1
AP: 1 "a"
acc-name: Buchi
Acceptance: 1 Inf(0)
properties: trans-labels explicit-labels state-acc complete deterministic
--BODY--
State: 0 {0}
[t] 0
State: 1
[0] 0
[!0] 1
--END--
"""


def test_spots_automata_of_finite_traces_are_ours():
    rng = random.Random(0)
    for case in PRINTED:
        formula = parse(case["ltl"])
        automaton, ours = read_hoa_automaton(case["finite"]), translate(formula)
        assert automaton.num_states == ours.num_states, case["ltl"]
        for _ in range(50):
            prefix, rest = random_lasso(rng, formula.propositions())
            trace = prefix + rest
            assert automaton.accepts(trace) == holds(formula, trace), (case["ltl"], trace)


@pytest.mark.parametrize("kind", INFINITE)
def test_spots_automata_of_infinite_traces_judge_as_spot_does(kind):
    """Nondeterministic Büchi, parity and generic acceptance are read, and decide lassos."""
    printed = [(case["ltl"], case[kind]) for case in PRINTED if case[kind] is not None]
    assert len(printed) == (36 if kind == "deterministic_buchi" else 60)
    for text, hoa in printed:
        automaton = read_hoa_omega(hoa)
        assert automaton.deterministic == ("deterministic" in hoa), text
        again = read_hoa_omega(automaton.to_hoa())
        for prefix, loop, satisfied in LASSOS[text]:
            assert automaton.accepts(prefix, loop) == satisfied, (text, prefix, loop)
            assert again.accepts(prefix, loop) == satisfied, (text, prefix, loop)
        if kind == "deterministic_buchi":
            assert read_hoa(hoa).num_states >= 1


@pytest.mark.parametrize(
    ("text", "finite", "infinite"),
    [
        ("X a", 'X[!]("a")', 'X("a")'),
        ("a | b xor c", '("a") | (("b") xor ("c"))', '("a") | (("b") xor ("c"))'),
        ("!G F a -> true", '(!(G(F("a")))) -> (true)', '(!(G(F("a")))) -> (true)'),
    ],
)
def test_formulas_are_written_as_spot_reads_them(text, finite, infinite):
    assert spot_text(parse(text), strong_next="X[!]") == finite
    assert spot_text(parse(text)) == infinite


class _Automaton:
    def __init__(self, text):
        self.text = text

    def to_str(self, form):
        assert form == "hoa"
        return self.text


@pytest.fixture
def stand_in(monkeypatch):
    spot = types.ModuleType("spot")
    spot.formula = lambda text: text
    spot.from_ltlf = lambda formula: formula
    spot.translate = lambda formula, *options: _Automaton(EVENTUALLY_A)
    spot.to_finite = lambda automaton: automaton
    monkeypatch.setitem(sys.modules, "spot", spot)
    return spot


def test_spots_automaton_is_read_as_the_builtin_one(stand_in):
    automaton = translate(parse("F a"), translator="spot")
    assert automaton.num_states == translate(parse("F a")).num_states
    for trace in ([set()], [{"a"}], [set(), {"a"}, set()]):
        assert automaton.accepts(trace) == holds(parse("F a"), trace)


def test_full_ltl_goes_through_spot(stand_in):
    stand_in.translate = lambda formula, *options: _Automaton(
        EVENTUALLY_A.replace("State: 0 {0}\n[t] 0", "State: 0 {0}\n[0] 0\n[!0] 1")
    )
    assert compile_mission("G F(a & X true)", translator="spot").machine.endless


@pytest.fixture
def recorded(monkeypatch):
    """Return a stand-in that answers with what the real Spot printed."""
    by_text = {spot_text(parse(case["ltl"])): case for case in PRINTED}
    by_text |= {spot_text(parse(case["ltl"]), strong_next="X[!]"): case for case in PRINTED}
    spot = types.ModuleType("spot")
    spot.formula = lambda text: by_text[text]
    spot.from_ltlf = lambda case: case | {"buchi": case["finite"], "deterministic_buchi": None}
    spot.to_finite = lambda automaton: automaton

    def answer(case, kind, *options):
        if kind == "buchi" and "deterministic" in options:
            return _Automaton(case["deterministic_buchi"] or case["buchi"])
        return _Automaton(case[kind])

    spot.translate = answer
    monkeypatch.setitem(sys.modules, "spot", spot)


def test_what_spot_printed_comes_through_the_translators(recorded):
    machines = 0
    for case in PRINTED:
        formula = parse(case["ltl"])
        states = translate(formula, translator="spot").num_states
        assert states == translate(formula).num_states
        automaton = translate_omega(formula, translator="spot")
        for prefix, loop, satisfied in LASSOS[case["ltl"]]:
            assert automaton.accepts(prefix, loop) == satisfied
        if case["deterministic_buchi"] is None and "Fin" in case["parity"]:
            with pytest.raises(UnsupportedMissionError, match="no deterministic Büchi automaton"):
                compile_mission(case["ltl"], horizon="infinite", translator="spot")
        else:
            compile_mission(case["ltl"], horizon="infinite", translator="spot")
            machines += 1
    assert machines > 36, "a deterministic parity automaton with Büchi acceptance will do"


def test_another_package_called_spot_is_told_apart(monkeypatch):
    monkeypatch.setitem(sys.modules, "spot", types.ModuleType("spot"))
    with pytest.raises(SpotMissingError, match="another package"):
        translate(parse("F a"), translator="spot")


def test_without_spot_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "spot", None)
    with pytest.raises(SpotMissingError, match="builtin"):
        translate(parse("F a"), translator="spot")
