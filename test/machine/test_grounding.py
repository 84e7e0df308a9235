"""A machine without what a world never shows does as before on what it shows."""

import random

import pytest

from skm_machine import analyse, compile_mission, ground, judge

SHOWN = [frozenset(), frozenset("a"), frozenset("ab"), frozenset("cd")]
MISSIONS = (
    "F(a & X F c) & G !d",
    "F(b & X F d) & (!c U a)",
    "F a & F b & F c",
    "G F b & G F c",
    "F(e & X F a) | F b",
)


@pytest.mark.parametrize("text", MISSIONS)
def test_it_judges_traces_of_these_label_sets_as_before(text):
    mission = compile_mission(text, propositions="abcde")
    grounded = ground(mission, SHOWN)
    assert grounded.machine.num_states <= mission.machine.num_states
    rng = random.Random(0)
    for _ in range(200):
        trace = [rng.choice(SHOWN) for _ in range(rng.randrange(1, 8))]
        before, after = judge(mission, trace), judge(grounded, trace)
        assert (after.accepted_at, after.visits) == (before.accepted_at, before.visits)
        names = [machine.names for machine in (mission.machine, grounded.machine)]
        ends = [names[0][before.states[-1]], names[1][after.states[-1]]]
        assert ends[1].startswith("failed") or not ends[0].startswith("failed")


def test_what_cannot_happen_is_not_drawn_and_traces_are_of_the_world():
    mission = compile_mission("F(b & X F c) & G !e", propositions="abcde")
    grounded = ground(mission, SHOWN)
    assert analyse(mission).can_fail
    analysis = analyse(grounded, SHOWN)
    assert not analysis.can_fail
    assert analysis.witness == [frozenset("ab"), frozenset("cd")]
    assert "e" not in grounded.machine.propositions
