"""`skm check --domain` tells what the planner will do: the defects that it had, one by one."""

import time

import numpy as np
import pytest

from skm_machine import analyse, compile_mission
from skm_machine.analysis import meaning
from skm_machine.events import EventScript, event_verdict
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.planning.outlook import outlook, risks_from
from skm_sim import get_domain
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES

PATROL = "G F dock & G F kitchen & G F lab & G(call -> F coffee)"
BATTERY = "G F office & G(low_battery -> ((!lab & !office) U dock))"


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    """Return the example map as a domain, with its skills."""
    folder = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, folder)
    spec = get_domain(str(folder))
    return spec, load_primitives(spec)


def looked_at(spec, skills, text, *events):
    mission = compile_mission(text, propositions=spec.propositions, events=events)
    return mission, outlook(mission, skills)


@pytest.mark.parametrize(
    ("domain", "text", "together"),
    [
        ("office", "F coffee & F mail & F office", {"coffee", "mail", "office"}),
        ("zones", "F blue & F green & F yellow", {"blue", "green", "yellow"}),
        ("moving_targets", "F blue & F purple", {"blue", "purple"}),
    ],
)
def test_a_domain_shows_no_success_of_labels_that_never_hold_together(domain, text, together):
    spec = get_domain(domain)
    mission, found = looked_at(spec, load_primitives(spec), text)
    assert found.possible
    assert not any(together <= labels for labels in found.analysis.witness)
    shown = {labels for sets in found.shown.values() for labels in sets}
    assert set(found.analysis.witness) <= shown
    assert not any(together <= labels for labels in shown)
    first = found.skills.skills[mission.machine.initial]
    assert " & ".join(sorted(together)) not in str(first.reach)
    assert not any(outcome.reward > 0 for outcome in first.best)


def test_the_boxes_of_states_say_what_can_be_reached_next():
    spec = get_domain("zones")
    mission, found = looked_at(spec, load_primitives(spec), "F blue & F green & F yellow")
    machine, skills = mission.machine, found.skills.skills
    assert str(skills[machine.initial].reach) == "blue | green | yellow"
    after = machine.step(machine.initial, {"green"}).target
    assert str(skills[after].reach) == "blue | yellow"


def test_the_shortest_success_in_a_known_world_can_be_driven(hall):
    spec, skills = hall
    text = "F(coffee & X F(office & X F dock)) & G !stairs"
    mission, found = looked_at(spec, skills, text)
    world, policy = skills.world_model, make_policy(mission, skills)
    shortest = min(policy.steps_from(cell) for cell in range(len(world.successors)))
    assert len(found.analysis.witness) == shortest > 40
    there = np.ones(len(world.successors), np.bool_)
    for labels in found.analysis.witness:
        reached = np.unique(world.successors[there])
        shows = [world.label_sets[world.label_ids[cell]] == labels for cell in reached]
        there = np.zeros_like(there)
        there[reached[shows]] = True
        assert there.any()
    assert found.analysis.counterexample == [frozenset({"lobby", "stairs"})]
    assert found.steps[mission.machine.initial][0] == shortest


def test_the_shortest_round_on_a_map_with_an_event_can_be_driven(hall):
    _, found = looked_at(*hall, PATROL, "call")
    round_ = found.analysis.witness
    assert not any(
        {"dock", "kitchen"} <= labels or {"kitchen", "lab"} <= labels for labels in round_
    )
    assert not any("call" in labels for labels in round_)
    assert {"dock", "kitchen", "lab"} <= frozenset().union(*round_)
    assert len(round_) > 50
    assert all(" & " not in str(skill.reach) for skill in found.skills.skills.values())


def test_a_patrol_with_an_event_on_a_map_is_planned_and_checked_in_seconds(hall):
    """It took 27 CPU seconds to plan, by thousands of sweeps over machine × cells."""
    spec, skills = hall
    mission = compile_mission(PATROL, propositions=spec.propositions, events=("call",))
    started = time.process_time()
    make_policy(mission, skills)
    planned = time.process_time()
    outlook(mission, skills)
    assert planned - started < 2
    assert time.process_time() - planned < 2


def test_check_and_run_agree_that_an_event_may_find_the_robot_where_it_must_go(hall):
    """Check said that no event can make it fail, run that it cannot be achieved from here."""
    spec, skills = hall
    mission, found = looked_at(spec, skills, BATTERY, "low_battery")
    (risk,) = found.verdict.risks
    assert risk.events == ("low_battery",)
    assert risk.counterexample.steps[-1] == {"low_battery", "office"}
    assert risk.starts == found.starts == (1736, 1736)
    sentences = meaning(mission, found.analysis, found.verdict, found.shown)
    assert any("low_battery can make it fail whatever the robot does" in line for line in sentences)
    assert not any("no event can make it fail" in line for line in sentences)
    env, policy = spec.make(), make_policy(mission, skills)
    start, _ = env.reset(seed=0)
    (warned,) = risks_from(policy, skills, start)
    assert warned.events == ("low_battery",)
    quiet = run_episode(
        env, skills, policy, max_steps=100, seed=0, events=EventScript("low_battery")
    )
    assert quiet.outcome == "satisfied so far"
    arrives = len(warned.counterexample.steps)
    script = EventScript(f"low_battery@{arrives}")
    met = run_episode(env, skills, policy, max_steps=100, seed=0, events=script)
    assert (met.outcome, met.steps) == ("failed", arrives)
    assert met.transitions[-1].labels == warned.counterexample.steps[-1]


def test_without_a_domain_no_more_is_claimed_than_was_proved():
    """A robot that could be in the office and the dock at once keeps it: that is all that was proved."""
    mission = compile_mission(BATTERY, events=("low_battery",))
    assert event_verdict(mission.machine, mission.events).risks == ()
    (said,) = [line for line in meaning(mission, analyse(mission)) if "of: low_battery" in line]
    assert "if the robot could show any labels" in said


def test_where_no_way_is_free_of_risk_the_risk_is_taken_from_every_start():
    """From some starts it was taken, from others the mission was refused as impossible."""
    spec = get_domain("office")
    skills = load_primitives(spec)
    text = "G F office & G(low -> ((!A & !office) U coffee))"
    mission = compile_mission(text, propositions=spec.propositions, events=("low",))
    policy = make_policy(mission, skills)
    for cell in range(0, 120, 7):
        episode = run_episode(
            spec.make(),
            skills,
            policy,
            max_steps=80,
            options={"cell": cell},
            events=EventScript("low"),
        )
        assert episode.outcome == "satisfied so far"


def test_what_the_world_ends_is_a_failure_though_the_machine_goes_on():
    """The mail is there once: whoever fetches it before the coffee cannot fetch it after."""
    spec = get_domain("office")
    _, found = looked_at(spec, load_primitives(spec), "F(coffee & X F(mail & mail_present))")
    assert found.analysis.can_fail
    assert found.analysis.counterexample[-1] >= {"mail"}
