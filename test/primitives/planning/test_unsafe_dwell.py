"""Brittle goals, on a line whose places are several steps wide, with exact values."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from skm_machine import compile_mission
from skm_primitives import make_policy, run_episode
from skm_primitives.planning.lookahead import goal_outcomes
from skm_primitives.planning.shield import make_shield
from skm_primitives.planning.unsafe_dwell import Brittle
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues, GoalToGoal, RemoteSkills

GAMMA = 0.99
LENGTH, START = 40, 20
NAMES = ("a", "b", "wet")
WIDE = {"wet": range(26, 33), "a": (*range(3), *range(30, 33)), "b": (*range(6, 9), 33)}
"""The nearest `a` is wet, with a `b` beside it, two steps further on; a dry one is further away."""
ONLY_WET = {**WIDE, "a": range(30, 33)}
A, WET_A, B, WET = (frozenset(names.split()) for names in ("a", "a wet", "b", "wet"))
GOALS = tuple(Goal(shown, may) for shown in (A, WET_A, B, WET) for may in (frozenset(), WET))
DRY_AFTER_A = "F(a & X F b) & G(a -> X G !wet)"


class Line(gymnasium.Env):
    """A robot that goes a cell to the left or the right."""

    observation_space = Box(0, LENGTH, (1,), np.int64)
    action_space = Box(-1.0, 1.0, (1,))

    def __init__(self, places):
        self.labels = [
            frozenset(name for name in NAMES if cell in places[name]) for cell in range(LENGTH)
        ]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = START
        return self._seen()

    def step(self, action):
        self.cell = min(max(self.cell + int(np.sign(action[0])), 0), LENGTH - 1)
        observation, info = self._seen()
        return observation, 0.0, False, False, info

    def _seen(self):
        return np.array([self.cell]), {"labels": self.labels[self.cell]}


def way_to(labels, cell, goal):
    """Return the direction and the steps to a goal, the nearer way first; None if there is none."""
    found = []
    for way in (-1, 1):
        place = cell
        for steps in range(1, LENGTH):
            place, before = place + way, place
            if not 0 <= place < LENGTH:
                break
            if labels[place] == goal.labels:
                found.append((steps, way))
                break
            if (labels[place] ^ labels[before]) & WET and not goal.violated:
                break
    return min(found, default=None)


class ExactSkills(RemoteSkills):
    """Fits `Primitives` in one line; `believed` are steps to goals that are not there."""

    def values(self, observation, violated):
        ways = [way_to(self.labels, int(observation[0]), goal) for goal in GOALS]
        believed = [self.believed.get(goal.labels) for goal in GOALS]
        steps = [far if way is None else way[0] for way, far in zip(ways, believed, strict=True)]
        value = [0.0 if far is None else GAMMA ** (far - 1) for far in steps]
        action = np.array([[0.0 if way is None else way[1]] for way in ways], np.float32)
        zeros = np.zeros(len(GOALS), np.float32)
        return ContinuousGoalValues(action, np.array(value, np.float32), zeros, -action)


def skills_of(places, believed=()):
    """Return exact skills; what lies behind goals is the mean of `WIDE`, as it was learned there."""
    labels = Line(WIDE).labels
    behind = np.zeros((len(GOALS), len(GOALS)), np.float32)
    for row, achieved in enumerate(GOALS):
        cells = [cell for cell in range(LENGTH) if labels[cell] == achieved.labels]
        for column, goal in enumerate(GOALS):
            ways = [way_to(labels, cell, goal) for cell in cells]
            behind[row, column] = np.mean([GAMMA ** (way[0] - 1) if way else 0.0 for way in ways])
    spaces = {"observation_space": Line.observation_space, "action_space": Line.action_space}
    known = {"propositions": NAMES, "constraints": ("wet",), "goals": GOALS, "gamma": GAMMA}
    names = {"domain": "line", "checkpoint": "", "digest": ""}
    skills = ExactSkills(**names, **known, **spaces, world_model=GoalToGoal(behind))
    object.__setattr__(skills, "labels", Line(places).labels)
    object.__setattr__(skills, "believed", dict(believed))
    return skills


def outcome(text, places, believed=()):
    """Run a mission on the line; return how it ended, and after how many steps."""
    skills = skills_of(places, believed)
    policy = make_policy(compile_mission(text, propositions=NAMES), skills)
    episode = run_episode(Line(places), skills, policy, max_steps=300)
    return episode.outcome, episode.steps


def test_a_place_that_would_have_to_be_left_in_a_single_step_is_not_gone_to():
    """The wet `a` is ten steps away, and the mission is lost one step later; the dry one 18."""
    assert outcome(DRY_AFTER_A, WIDE) == ("accepted", 22)


def test_a_mission_that_loses_nothing_there_goes_to_the_nearest():
    assert outcome("F a", WIDE) == ("accepted", 10)
    assert outcome("F(a & X F b)", WIDE) == ("accepted", 13)


def test_a_brittle_goal_is_the_last_resort():
    """Where no other is in reach, or where nothing came of those that seemed to be; then as before."""
    mission = compile_mission(DRY_AFTER_A, propositions=NAMES)
    start, initial = np.array([START]), mission.machine.initial
    for believed, pursued in (({}, WET_A), ({A: 9}, A)):
        skills = skills_of(ONLY_WET, believed)
        policy = make_policy(mission, skills)
        policy.start(start)
        values = skills.values(start, frozenset())
        assert GOALS[policy.choose(initial, values).goal].labels == pursued
        policy.doubt()
        assert GOALS[policy.choose(initial, values).goal].labels == WET_A
        policy.start(start)
        assert GOALS[policy.choose(initial, values).goal].labels == pursued


def test_what_may_be_touched_on_the_way_is_brittle_too():
    skills = skills_of(WIDE)
    machine = compile_mission(DRY_AFTER_A, propositions=NAMES).machine
    outcomes = goal_outcomes(machine, skills)
    brittle = Brittle(machine, outcomes, skills, skills.world_model).goals[machine.initial]
    moving = outcomes.moves[machine.initial]
    assert {GOALS[index] for index in np.flatnonzero(moving)} == set(GOALS[:4])
    assert {GOALS[index] for index in np.flatnonzero(moving & ~brittle)} == {Goal(A)}


@pytest.mark.parametrize(("shown", "leaves"), [(WET_A, True), (A, False)])
def test_a_robot_that_is_there_all_the_same_leaves_by_the_shortest_way(shown, leaves):
    """To the strict `b` leaving what is wet is a violation; that is no reason to stay."""
    mission, skills = compile_mission(DRY_AFTER_A, propositions=NAMES), skills_of(WIDE)
    policy = make_policy(mission, skills)
    state = mission.machine.step(mission.machine.initial, shown).target
    strict, free = GOALS.index(Goal(B)), GOALS.index(Goal(B, WET))
    actions = np.arange(len(GOALS), dtype=np.float32)[:, None]
    values = ContinuousGoalValues(actions, actions[:, 0] * 0 + 0.9, actions[:, 0] * 0, actions)
    policy.start(np.array([31]))
    policy.history(SimpleNamespace(labels=shown))
    decision = policy.choose(state, values)
    assert (decision.goal, decision.leaving) == (strict, leaves)
    assert decision.action[0] == (free if leaves else strict)
    assert policy.wanted(state)[free]
    assert make_shield(mission, skills).vet(state, decision, values, policy) is decision


def test_robots_with_a_choice_of_actions_do_not_slip():
    skills = skills_of(WIDE)
    object.__setattr__(skills, "action_space", Discrete(2))
    machine = compile_mission(DRY_AFTER_A, propositions=NAMES).machine
    outcomes = goal_outcomes(machine, skills)
    assert not Brittle(machine, outcomes, skills, skills.world_model).goals.any()
