"""Caution: exact on arrays, and what it is for, on the skills that come with skm."""

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.networks import CAUTION, Caution
from skm_sim import get_domain
from skm_sim.safety.layout import SKILLS, sample_feasible

NOTHING, BUTTON, REGION = (frozenset(names.split()) for names in ("", "button", "region"))
GOALS = [Goal(shown, may) for shown in (NOTHING, BUTTON, REGION) for may in (NOTHING, REGION)]
STRICT_BUTTON, FREE_BUTTON, STRICT_REGION = 2, 3, 4


def logits_of(values):
    """Return the logits of two networks that agree on values `[goal, action]`, in one state."""
    values = np.asarray(values)
    logits = np.log(values / (1 - values))
    return np.stack([logits[None], logits[None]]).astype(np.float32)


@pytest.mark.parametrize(("kept", "expected"), [(0.999, 0), (0.9, 1)])
def test_the_risk_counts_beside_the_value_where_something_is_forbidden(kept, expected):
    """The button is worth 0.97 or 0.93; to show nothing later, unharmed, `kept` or all of the value."""
    values = [[0.8 * kept, 0.8], [0.8, 0.8], [0.97, 0.93], [0.97, 0.93], [0.5, 0.5], [0.5, 0.5]]
    risk = CAUTION * np.log(kept) / 2  # the mean of both labels that can be shown
    assert (np.log(0.97) + risk < np.log(0.93)) == bool(expected)
    values[STRICT_REGION] = [0.97, 0.93]
    best = Caution(GOALS, REGION).best(logits_of(values))[0]
    assert best[STRICT_BUTTON] == expected
    assert best[FREE_BUTTON] == best[STRICT_REGION] == 0  # they may touch it, or want it


def test_at_a_goal_that_is_a_constraint_itself_the_others_are_risked():
    """A button that is the first thing touched: once there, leaving it without a region counts."""
    both = BUTTON | REGION
    goals = [Goal(shown, may) for shown in (NOTHING, BUTTON) for may in (NOTHING, BUTTON, both)]
    strict, own = goals.index(Goal(BUTTON, NOTHING)), goals.index(Goal(NOTHING, BUTTON))
    values = np.full((len(goals), 2), 0.8)
    values[strict] = [0.97, 0.93]
    assert Caution(goals, both).best(logits_of(values))[0][strict] == 0
    values[own] = [0.5, 0.8]  # The first action makes it hard to leave the button unharmed.
    assert Caution(goals, both).best(logits_of(values))[0][strict] == 1
    values[own], values[0] = [0.8, 0.8], [0.01, 0.8]  # That leaving it touches it does not count.
    assert Caution(goals, both).best(logits_of(values))[0][strict] == 0


def test_without_constraints_the_best_action_is_the_best():
    goals = [Goal(NOTHING), Goal(BUTTON)]
    logits = np.random.default_rng(0).normal(size=(2, 7, 2, 5)).astype(np.float32)
    best = Caution(goals, ()).best(logits)
    np.testing.assert_array_equal(best, logits.mean(0).argmax(-1))


@pytest.mark.parametrize("domain", ["safety", "safety_region"])
def test_a_robot_stays_at_a_cylinder_beside_a_region(domain):
    """Without caution all four are lost by the skills of `safety_region`, after 31 to 97 steps."""
    safety = get_domain(domain)
    skills, env = load_primitives(safety), safety.make()
    text = "G F button & G F cylinder & G !region"
    policy = make_policy(compile_mission(text, propositions=safety.propositions), skills)
    stages = [SKILLS["button, no region"], SKILLS["cylinder, no region"]]
    layouts, _ = sample_feasible(np.random.default_rng([0, 2]), 81, stages)
    ends = [
        run_episode(env, skills, policy, max_steps=100, options={"layout": layouts[index]}).outcome
        for index in (53, 69, 77, 80)
    ]
    assert ends.count("satisfied so far") >= 3
