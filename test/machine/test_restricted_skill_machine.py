"""Algorithm 2 on machines restricted to label sets that occur: zones that never overlap."""

import pytest

from skm_machine import compile_mission, parse, plan_paper
from skm_machine.logic.formula import evaluate
from skm_machine.possible import shown_everywhere
from skm_machine.skill_machine import plan_possible

COLOURS = ("blue", "green", "magenta", "yellow")
ONE_COLOUR = (frozenset(), *(frozenset({name}) for name in COLOURS))


def first_skills(mission):
    """Return what to do at first, on the whole machine and on the restricted one."""
    machine = compile_mission(mission).machine
    restricted = plan_possible(machine, shown_everywhere(machine, ONE_COLOUR), 0.9)
    return (plan.skills.get(machine.initial) for plan in (plan_paper(machine), restricted))


def test_algorithm_2_asks_for_three_colours_at_once_unless_restricted_to_what_occurs():
    """phi9: blue, green and yellow at once would be one step on the machine; no state shows it."""
    free, restricted = first_skills("(F blue) & (!blue U (green & F yellow))")
    assert not any(evaluate(free.reach, labels) for labels in ONE_COLOUR)
    assert restricted.reach is parse("green")
    assert restricted.avoid is parse("blue")
    assert restricted.value == pytest.approx(0.9**2)


def test_what_fails_a_restricted_machine_is_a_constraint_by_itself():
    """phi10: σ_C is (magenta | yellow) & !blue on the whole machine, which hats make laxer."""
    free, restricted = first_skills("!(magenta | yellow) U (blue & F green)")
    assert free.satisfied_by({"blue", "green"}, {"magenta"})
    assert not restricted.satisfied_by({"blue"}, {"magenta"})
    assert restricted.satisfied_by({"blue"}, {"green"})


def test_a_mission_whose_success_never_shows_has_no_restricted_skill():
    free, restricted = first_skills("F(blue & X F(green & yellow))")
    assert free is not None
    assert restricted is None
