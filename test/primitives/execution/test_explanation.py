"""Why this action: the goals in play, what is avoided, what the shield vetoed."""

import pytest

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy
from skm_primitives.execution.explain import Explainer
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.shield import make_shield
from skm_sim import get_domain


def explained(domain, text, planner="product", shield=True, options=None):
    spec = get_domain(domain)
    skills = load_primitives(spec)
    mission = compile_mission(text, propositions=spec.propositions)
    made = make_shield(mission, skills) if shield else None
    run = MissionRun(make_policy(mission, skills, planner), skills, 100, made)
    env = spec.make()
    observation, _ = env.reset(seed=0, options=options)
    run.begin(observation, [])
    values = skills.values(observation, run.history)
    run.decide(values)
    return run, Explainer(run).explain(values)


@pytest.mark.parametrize("planner", ["product", "paper"])
def test_the_goal_in_pursuit_is_among_those_in_play_and_worth_most(planner):
    run, why = explained("office", "F(coffee & X F office) & G !decoration", planner)
    labels = [run.skills.goals[goal.index].labels for goal in why.goals]
    assert labels == [{"coffee"}]
    assert why.goals[0].pursued
    assert why.goals[0].leads_to == run.machine.step(0, {"coffee"}).target
    assert why.goals[0].value == pytest.approx(run.goal_value)
    assert 0 < why.goals[0].weight <= 1
    assert why.avoid == "decoration"
    assert "decoration" in run.skills.goals[why.dangers[0].index].labels


def test_goals_are_ranked_by_value_times_weight():
    _run, why = explained("office", "F A & F B & F C & F D")
    worth = [goal.value * goal.weight for goal in why.goals]
    assert worth == sorted(worth, reverse=True)
    assert len(why.goals) == 4
    assert [goal.pursued for goal in why.goals] == [True, False, False, False]
    assert (why.avoid, why.dangers) == ("", ())


def test_where_the_world_is_not_known_no_action_is_known_to_be_lost():
    _run, why = explained("safety", "F(button & X F cylinder) & G !region")
    assert why.lost_actions == ()
    assert why.goals[0].pursued
    assert why.dangers


def test_what_the_shield_vetoes_is_told():
    run, why = explained("office", "F coffee & G !decoration")
    state, shield = run.tracker.state, run.shield
    shield.lost[state, shield.world.successors[shield._place, run.decision.action], :] = True
    run.decide(run.values)
    why = Explainer(run).explain(run.values)
    assert "takes its place" in why.veto
    assert why.vetoes == 1
    assert why.lost_actions
    assert run.decision.action not in why.lost_actions
