"""The bridge to Spot, with a stand-in that prints what Spot prints: Spot itself is on no registry."""

import sys
import types

import pytest

from skm_machine import compile_mission, holds, parse, translate
from skm_machine.spot_translator import SpotMissingError

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


def test_another_package_called_spot_is_told_apart(monkeypatch):
    monkeypatch.setitem(sys.modules, "spot", types.ModuleType("spot"))
    with pytest.raises(SpotMissingError, match="another package"):
        translate(parse("F a"), translator="spot")


def test_without_spot_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "spot", None)
    with pytest.raises(SpotMissingError, match="builtin"):
        translate(parse("F a"), translator="spot")
