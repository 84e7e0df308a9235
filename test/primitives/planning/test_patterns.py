"""Every mission pattern of the catalogue is carried out in the office."""

import pytest

from skm_machine import compile_mission, holds
from skm_machine.logic.patterns import PATTERNS
from skm_machine.tracker import Status
from skm_primitives import load_primitives, make_policy, run_episode
from skm_sim import get_domain
from skm_sim.office.spec import EXAMPLES

OFFICE = get_domain("office")


def carried_out(example):
    """Run a mission; return it with the episode and the labels of the states that were entered."""
    mission = compile_mission(example, propositions=OFFICE.propositions)
    skills = load_primitives(OFFICE)
    trace = []
    episode = run_episode(
        OFFICE.make(),
        skills,
        make_policy(mission, skills, "product"),
        max_steps=300,
        seed=0,
        options={"start": (2, 2)},
        watch=lambda tracker, _: trace.append(tracker.labels),
    )
    return mission, episode, trace


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_the_example_is_carried_out(pattern):
    mission, episode, trace = carried_out(EXAMPLES[pattern.name])
    assert mission.format == "words"
    if mission.machine.endless:
        assert episode.status is Status.RUNNING
        assert episode.accepting_visits >= 2
    else:
        assert episode.status is Status.ACCEPTED
        assert holds(mission.formula, trace)
        assert not any(holds(mission.formula, trace[:end]) for end in range(len(trace)))


def test_a_patrol_in_order_goes_round():
    _, _, trace = carried_out("patrol A, B in order; never decoration")
    places = [place for labels in trace for place in ("A", "B") if place in labels]
    assert places == ["A", "B"] * (len(places) // 2) + ["A"] * (len(places) % 2)
    assert len(places) > 8
