"""Teams of learned skills: several point robots in one arena of Zones, one formula, one verdict."""

import numpy as np
import pytest

from skm_machine import SkmError, holds
from skm_primitives import load_primitives
from skm_primitives.execution.learned_team_run import LearnedTeamRun, learned_team_mission
from skm_primitives.planning.learned_teams import LearnedTeamPlanner
from skm_sim import get_domain
from skm_sim.zones.env import zone_lidar

ZONES = get_domain("zones")
BOTH = ("r1", "r2")
HEAD_ON = {"r1": (0.25, 1.57, -2.66), "r2": (-2.18, 0.3, 0.48)}
"""In arena 1 each robot begins beyond the zone that the other one goes to."""


@pytest.fixture(scope="module")
def skills():
    return load_primitives(ZONES)


def team_run(skills, text, *, seed=0, starts=None, names=BOTH, **options):
    world = ZONES.part("team")(names)
    world.reset(seed, starts or {})
    mission = learned_team_mission(text, names, ZONES.propositions)
    return mission.formula, LearnedTeamRun(mission.machine, world, skills, **options)


def planner_for(skills, text):
    machine = learned_team_mission(text, BOTH, ZONES.propositions).machine
    return machine.start, LearnedTeamPlanner(machine, BOTH, skills)


def test_a_team_fulfils_one_formula_by_its_labels_and_keeps_apart(skills):
    formula, run = team_run(skills, "F r1.green & F r2.blue & F yellow & G !magenta")
    episode = run.run(1000)
    assert episode.outcome == "accepted", episode.reason
    assert holds(formula, episode.labels)
    assert len(episode.labels) == len(episode.paths) == episode.steps + 1
    assert episode.collisions == 0
    assert episode.closest > 0.2


def test_robots_that_meet_head_on_collide_unless_they_are_shown_to_each_other(skills):
    _, blind = team_run(
        skills, "F r1.green & F r2.blue", seed=1, starts=HEAD_ON, shown=False, yields=False
    )
    _, seeing = team_run(skills, "F r1.green & F r2.blue", seed=1, starts=HEAD_ON)
    without, episode = blind.run(1000), seeing.run(1000)
    assert without.collisions > 0, "else this shows nothing"
    assert (episode.outcome, episode.collisions) == ("accepted", 0)


def test_others_are_seen_as_zones_that_begin_before_them(skills):
    world = ZONES.part("team")(BOTH)
    world.reset(1, {"r1": (0.0, 0.0, 0.0), "r2": (1.0, 0.0, 0.0)})
    seen = world.observe(["magenta", ""])
    pose = np.array([[0.0, 0.0, 0.0]])
    other = np.tile(np.array([1.0 + 0.4 - 0.22, 0.0]), (1, 1, 2, 1))
    zones = np.array(world.as_dict()["zones"])[None]
    alone = zone_lidar(pose, zones)
    zones[:, 2] = other
    np.testing.assert_allclose(seen[0, -64:], zone_lidar(pose, zones)[0])
    np.testing.assert_allclose(world.observe(["", ""])[0, -64:], alone[0])
    assert not np.allclose(seen[0, -64:], alone[0])


def test_the_nearer_robot_goes_there(skills):
    parts, planner = planner_for(skills, "F blue & F green")
    values = np.zeros((2, len(skills.goals)))
    for robot, near in enumerate(("green", "blue")):
        for name in ("green", "blue"):
            values[robot][planner.shows[name]] = 0.9 if name == near else 0.3
    nowhere = [frozenset(), frozenset()]
    assert planner.plan(parts, nowhere, values) == {0: "green", 1: "blue"}


def test_a_robot_waits_before_what_it_must_not_enter_yet(skills):
    parts, planner = planner_for(skills, "(!r1.green U r2.blue) & F r1.green")
    nowhere = [frozenset(), frozenset()]
    first, second = planner.legs({1: "r2.blue", 0: "r1.green"}, parts, nowhere)
    assert (first.target, first.waits) == ("green", True)
    assert (second.target, second.waits) == ("blue", False)
    green = ZONES.constraints.index("green")
    assert planner.allows[second.goals][:, green].any(), "r2 may pass green: only r1 must not"


def test_a_robot_without_work_steps_aside_where_another_must_not_find_it(skills):
    text = "F r1.green & F r2.green & G !(r1.green & r2.green)"
    parts, planner = planner_for(skills, text)
    after, _ = planner.asks.advance(parts, frozenset({"r1.green", "green"}))
    in_green = [frozenset({"green"}), frozenset()]
    aside, waiting = planner.legs({1: "r2.green"}, after, in_green)
    assert waiting.waits
    assert aside.goals.any()
    assert not (aside.goals & planner.shows["green"]).any()
    lost, _ = planner.legs({1: "r2.green"}, after, in_green, gone=[0])
    assert lost.goals is None, "one that is gone moves no more"


def test_a_robot_that_is_gone_stands_and_the_other_does_its_work(skills):
    formula, run = team_run(skills, "F green & F blue")
    episode = run.run(1000, {"r2": 10})
    assert (episode.outcome, holds(formula, episode.labels)) == ("accepted", True)
    assert np.ptp(episode.paths[60:, 1], axis=0).max() < 0.02


def test_a_clause_that_needs_a_robot_that_is_gone_ends_the_mission(skills):
    _, run = team_run(skills, "F r2.green & F blue")
    episode = run.run(1000, {"r2": 10})
    assert (episode.outcome, episode.steps) == ("impossible", 10)
    assert episode.reason == "'r2.green' cannot be achieved any more: r2 is gone"


def test_an_arena_takes_three_robots():
    with pytest.raises(SkmError, match="there are 4 robots; an arena takes 3"):
        ZONES.part("team")(("r1", "r2", "r3", "r4"))


def test_robots_begin_apart_or_are_refused():
    world = ZONES.part("team")(("r1", "r2", "r3"))
    for seed in range(20):
        world.reset(seed, {"r2": (-1.0, 2.0)})
        where = world.positions
        np.testing.assert_allclose(where[1], (-1.0, 2.0))
        gaps = [np.hypot(*(where[a] - where[b])) for a, b in ((0, 1), (0, 2), (1, 2))]
        assert min(gaps) >= 0.4
    with pytest.raises(SkmError, match="r2 and r3 begin too close"):
        world.reset(0, {"r2": (-1.0, 2.0), "r3": (-0.9, 2.0)})
