"""The page's check of a mission, and its machine, show what can happen in the world."""

import json

import pytest

from skm_machine import compile_mission
from skm_primitives import load_primitives
from skm_primitives.skills.goals import label_sets_of
from skm_sim import get_domain
from skm_web.mission_check import MissionContext, check_mission
from skm_web.views import MachineView

COLOURS = "F blue & F green & F yellow"


@pytest.fixture(scope="module")
def zones():
    return load_primitives(get_domain("zones"))


def context(skills, *, served, events=()):
    """Return what a page knows: the label sets of the world and, once these are served, the skills."""
    sets = (frozenset(), *label_sets_of(skills.goals))
    return MissionContext(skills.propositions, events, sets, None, skills if served else None)


@pytest.mark.parametrize("served", [True, False])
def test_no_colours_are_shown_together_that_no_zone_has(zones, served):
    found = check_mission(COLOURS, context(zones, served=served))
    assert found["ok"]
    assert found["possible"]
    assert found["witness"] == [["blue"], ["green"], ["yellow"]]


def test_the_boxes_of_the_machine_go_for_what_can_be_had(zones):
    mission = compile_mission(COLOURS, propositions=zones.propositions)
    sets = context(zones, served=False).label_sets
    told = json.dumps(MachineView(mission, sets, 0.99).drawing(0, []), ensure_ascii=False)
    assert "blue ∨ green" in told
    assert "∧ yellow" not in told


def test_the_page_names_the_event_that_can_make_a_mission_fail():
    office = load_primitives(get_domain("office"))
    told = check_mission(
        "G F office & G(low -> ((!A & !office) U coffee))",
        context(office, served=True, events=("low",)),
    )
    assert told["possible"]
    (said,) = [line for line in told["sentences"] if "can make it fail" in line]
    assert said.startswith("low can make it fail whatever the robot does, from every place: ")


def test_a_mission_that_cannot_be_achieved_has_no_success_on_the_page():
    office = load_primitives(get_domain("office"))
    told = check_mission("F(coffee & office)", context(office, served=True))
    assert not told["possible"]
    assert told["witness"] is None
    assert "the mission cannot be achieved" in told["remarks"][0]
