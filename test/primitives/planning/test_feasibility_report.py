"""What the skills cannot keep of a mission is said before it runs; the empty label set is a goal."""

import pytest

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.feasibility_report import feasibility_report
from skm_sim import get_domain


@pytest.mark.parametrize(
    ("domain", "text", "unlearned", "blocked"),
    [
        ("safety_region", "F(region & X F cylinder) & G(!button | cylinder)", ("button",), ""),
        ("safety_region", "(!button U region) & F button", ("button",), ""),
        ("safety", "(!button U region) & F button", (), ""),
        ("safety", "F(button & X F cylinder) & G !region", (), ""),
        ("office", "F coffee & G !mail", (), ""),
        ("office", "F(coffee & office)", (), "satisfies 'coffee & office'"),
        ("office", "F G office", (), "keeps 'office' forever"),
        # People are gone only once the office has been visited: from no start, as visits count from 0.
        ("office", "F office & G !people_present", (), "satisfies 'office & !people_present'"),
    ],
)
def test_what_no_skill_was_learned_for(domain, text, unlearned, blocked):
    spec = get_domain(domain)
    found = feasibility_report(
        compile_mission(text, propositions=spec.propositions), load_primitives(spec)
    )
    assert found.unlearned == unlearned
    assert blocked in found.blocked
    assert bool(found.blocked) == bool(blocked)
    assert len(found.sentences) == bool(unlearned) + bool(blocked)


@pytest.mark.parametrize(
    ("text", "most"), [("F(!square & !circle)", 1), ("F(!square & !circle & X square)", 20)]
)
def test_a_step_that_shows_nothing_is_a_goal(text, most):
    spec = get_domain("moving_targets")
    skills = load_primitives(spec)
    policy = make_policy(compile_mission(text, propositions=spec.propositions), skills)
    for seed in range(3):
        episode = run_episode(spec.make(), skills, policy, max_steps=50, seed=seed)
        assert episode.outcome == "accepted"
        assert episode.steps <= most
