"""Skills learned among four colours serve two to ten of them."""

from dataclasses import replace

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.skills.checkpoint import WrongDomainError
from skm_sim import get_domain
from skm_sim.zones.layout import Arena
from skm_sim.zones.variants import ZONES_EIGHT, ZONES_RAW, ZONES_SIX, ZONES_TEN, ZONES_TWO

ZONES = get_domain("zones")


@pytest.mark.parametrize("spec", [ZONES_TWO, ZONES_SIX, ZONES_EIGHT, ZONES_TEN])
def test_a_goal_is_worth_what_it_is_among_four_colours_if_it_looks_the_same(spec):
    skills, before = load_primitives(spec), load_primitives(ZONES)
    assert (skills.domain, skills.propositions) == (spec.name, spec.propositions)
    assert skills.digest == before.digest
    count = len(spec.propositions)
    assert len(skills.goals) == count * 2 ** (count - 1)
    env, four = spec.make(), ZONES.make()
    seen, _ = four.reset(seed=3)
    lidars = np.zeros(env.observation_space.shape)
    both = min(count, len(ZONES.propositions)) * 16 + 16
    lidars[:both], seen[both:] = seen[:both], 0.0  # The colours that both have; no others in sight.
    exact = 1e-6 if Arena(count).radius == Arena().radius else 0.02  # Ten are a little smaller.
    every = dict(zip(skills.goals, skills.values(lidars).value.tolist(), strict=True))
    for goal, value in zip(before.goals, before.values(seen).value.tolist(), strict=True):
        if goal in every:
            assert every[goal] == pytest.approx(value, abs=exact)
    assert len(set(every) & set(before.goals)) >= min(count, 4)


def test_what_lies_behind_goals_keeps_to_its_classes():
    before, after = load_primitives(ZONES), load_primitives(ZONES_SIX)
    table = after.world_model.table
    goals = {goal: index for index, goal in enumerate(after.goals)}
    known = {goal: index for index, goal in enumerate(before.goals)}
    free = {name: goals[_goal(after, name, ())] for name in after.propositions}
    behind = table[free["red"], free["cyan"]]
    one, two = known[_goal(before, "blue", ())], known[_goal(before, "green", ())]
    assert behind == pytest.approx(before.world_model.table[one, two], abs=0.02)
    assert table[free["red"], free["red"]] > 0.9 > behind
    strict = goals[_goal(after, "cyan", ("red",))]
    assert table[free["red"], strict] < behind / 2  # It begins in what is forbidden.


def _goal(skills, name, avoided):
    allowed = frozenset(skills.constraints) - set(avoided)
    return next(g for g in skills.goals if g.labels == {name} and g.violated == allowed)


def test_missions_among_six_colours_are_done_with_skills_learned_among_four():
    spec, skills = ZONES_SIX, load_primitives(ZONES_SIX)
    mission = compile_mission("!(cyan | yellow) U (red & F blue)", propositions=spec.propositions)
    policy = make_policy(mission, skills)
    episode = run_episode(spec.make(), skills, policy, max_steps=1000, seed=1)
    assert episode.outcome == "accepted"


def test_skills_of_objects_that_look_different_are_refused():
    with pytest.raises(WrongDomainError, match="its ObjectSets may differ in their kinds only"):
        load_primitives(replace(ZONES_RAW, checkpoint=ZONES.checkpoint, skills_of="zones"))
    with pytest.raises(WrongDomainError, match=r"not in 'zones_six' or 'safety'"):
        load_primitives(replace(ZONES_SIX, skills_of="safety"))
