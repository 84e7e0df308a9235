"""Formulas that tell label sets apart, and Algorithm 2 on machines restricted to those that occur."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skm_machine import compile_mission, parse, plan_paper
from skm_machine.logic.syntax import FALSE, TRUE, evaluate
from skm_machine.machine_values import transition_value
from skm_machine.restricted import plan_restricted, separating
from strategies import NAMES, formulas

COLOURS = ("blue", "green", "magenta", "yellow")
ONE_COLOUR = (frozenset(), *(frozenset({name}) for name in COLOURS))
"""Zones that do not overlap: never two colours at once."""
LABELS = st.frozensets(st.sampled_from(NAMES))


@given(st.frozensets(LABELS), st.frozensets(LABELS))
def test_a_separating_formula_holds_on_one_side_only(inside, outside):
    inside -= outside
    formula = separating(inside, outside)
    assert all(evaluate(formula, labels) for labels in inside)
    assert not any(evaluate(formula, labels) for labels in outside)


def test_a_separating_formula_is_short():
    assert separating([], ONE_COLOUR) is FALSE
    assert separating(ONE_COLOUR, []) is TRUE
    assert separating(ONE_COLOUR[3:], ONE_COLOUR[:3]) is parse("magenta | yellow")


def test_algorithm_2_asks_for_three_colours_at_once_unless_restricted_to_what_occurs():
    """phi9: blue, green and yellow at once would be one step on the machine; no state shows it."""
    machine = compile_mission("(F blue) & (!blue U (green & F yellow))").machine
    free = plan_paper(machine).skills[machine.initial]
    assert not any(evaluate(free.reach, labels) for labels in ONE_COLOUR)
    restricted = plan_restricted(machine, 0.9, ONE_COLOUR).skills[machine.initial]
    assert restricted.reach is parse("green")
    assert restricted.avoid is parse("blue")
    assert restricted.value == pytest.approx(0.9**2)


def test_what_fails_a_restricted_machine_is_a_constraint_by_itself():
    """phi10: σ_C is (magenta | yellow) & !blue on the whole machine, which hats make laxer."""
    machine = compile_mission("!(magenta | yellow) U (blue & F green)").machine
    free = plan_paper(machine).skills[machine.initial]
    restricted = plan_restricted(machine, 0.9, ONE_COLOUR).skills[machine.initial]
    assert free.satisfied_by({"blue", "green"}, {"magenta"})
    assert not restricted.satisfied_by({"blue"}, {"magenta"})
    assert restricted.satisfied_by({"blue"}, {"green"})


def test_a_restricted_state_from_which_success_never_shows_wants_nothing():
    machine = compile_mission("F(blue & X F(green & yellow))").machine
    plan = plan_restricted(machine, 0.9, ONE_COLOUR)
    assert all(skill.value == 0 and skill.reach is FALSE for skill in plan.skills.values())


@given(formulas(), st.frozensets(LABELS, min_size=1))
def test_restricted_values_solve_the_bellman_equation(formula, label_sets):
    machine = compile_mission(str(formula), propositions=NAMES).machine
    values = plan_restricted(machine, 0.9, label_sets).values
    for state in set(range(machine.num_states)) - machine.terminal:
        worth = (
            transition_value(machine, state, outcome, values, 0.9)
            for labels in label_sets
            for outcome in machine.options(state, labels)
        )
        assert values[state] == pytest.approx(max(worth), abs=1e-6)
