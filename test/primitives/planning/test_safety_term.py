"""The safety term, on a line whose places are several steps wide, with exact values."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from skm_machine import compile_mission
from skm_primitives import make_policy, run_episode
from skm_primitives.planning.lookahead import goal_outcomes
from skm_primitives.planning.policy import Decision
from skm_primitives.planning.safety import ValueShield, log_safety
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


def test_an_unsafe_goal_is_gone_to_where_there_is_no_other():
    """Or where nothing came of those that seemed to be there."""
    mission = compile_mission(DRY_AFTER_A, propositions=NAMES)
    start, initial = np.array([START]), mission.machine.initial
    for believed, first in (({}, WET_A), ({A: 9}, A)):
        skills = skills_of(ONLY_WET, believed)
        policy = make_policy(mission, skills)
        policy.start(start)
        values = skills.values(start, frozenset())
        pursued = [GOALS[policy.choose(initial, values).goal].labels for _ in range(200)]
        assert pursued[0] == first
        assert WET_A in pursued


def test_only_goals_after_which_something_is_forbidden_and_near_are_unsafe():
    skills = skills_of(WIDE)
    machine = compile_mission(DRY_AFTER_A, propositions=NAMES).machine
    outcomes = goal_outcomes(machine, skills)
    unsafe = log_safety(machine, outcomes, skills, skills.world_model)
    assert {GOALS[index].labels for index in np.flatnonzero(unsafe[machine.initial])} == {WET_A}
    assert unsafe[machine.initial].min() < np.log(0.1)
    free = compile_mission("F(a & X F b)", propositions=NAMES).machine
    outcomes = goal_outcomes(free, skills)
    assert not log_safety(free, outcomes, skills, skills.world_model).any()


def test_robots_with_a_choice_of_actions_do_not_slip():
    skills = skills_of(WIDE)
    object.__setattr__(skills, "action_space", Discrete(2))
    machine = compile_mission(DRY_AFTER_A, propositions=NAMES).machine
    outcomes = goal_outcomes(machine, skills)
    assert not log_safety(machine, outcomes, skills, skills.world_model).any()


@pytest.mark.parametrize(("strict", "passes"), [(0.5, True), (0.001, False)])
def test_the_shield_vetoes_a_goal_whose_avoid_set_can_hardly_be_avoided(strict, passes):
    """`b` may be reached, but hardly with nothing wet touched; the dry `a` is as good."""
    mission, skills = compile_mission("F(a | b) & G !wet", propositions=NAMES), skills_of(WIDE)
    value = np.full(len(GOALS), 0.5, np.float32)
    dry_b = GOALS.index(Goal(B))
    value[dry_b] = strict
    number = np.arange(len(GOALS), dtype=np.float32)
    values = ContinuousGoalValues(number[:, None], value, 0 * number, number[:, None])
    shield = ValueShield(mission, skills)
    decision = Decision(values.action[dry_b], dry_b, strict)
    found = shield.vet(mission.machine.initial, decision, values, None)
    assert found is not None
    assert (found is decision) == passes
    if not passes:
        assert (found.goal, float(found.action[0])) == (GOALS.index(Goal(A)),) * 2
    value[[GOALS.index(Goal(A)), dry_b]] = 1e-6
    assert shield.vet(mission.machine.initial, decision, values, None) is None
