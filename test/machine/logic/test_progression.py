"""What is left of a formula after a trace, against the semantics by definition."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skm_machine.logic.parser import parse
from skm_machine.logic.progression import what_is_left
from skm_machine.logic.semantics import holds
from strategies import formulas, traces


@settings(max_examples=300, deadline=None)
@given(formulas(), traces(), st.data())
def test_it_holds_on_the_rest_exactly_where_the_formula_holds_on_the_whole(formula, trace, data):
    cut = data.draw(st.integers(0, len(trace) - 1))
    assert holds(what_is_left(formula, trace[:cut]), trace[cut:]) == holds(formula, trace)


def test_a_sequence_gets_shorter_with_each_of_its_goals():
    tour = parse("F(a & X F(b & X F(c & X F d))) & G !e")
    assert str(what_is_left(tour, [{"a"}, set(), {"b"}])) == "F(c & X F d) & G !e"


def test_a_bound_counts_down():
    assert what_is_left(parse("F[0,5] a"), [set(), set()]) is parse("F[0,3] a")
