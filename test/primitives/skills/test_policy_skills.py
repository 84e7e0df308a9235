"""Policies learned elsewhere as skills: what fits, what is wrong with an answer, what is noticed."""

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium import Env
from gymnasium.spaces import Box, Discrete

from skm_machine.errors import SkmError
from skm_primitives import PolicySkills, make_goal_env
from skm_sim.spec import DomainSpec

NAMES = ("left", "wet", "right")


class Lane(Env):
    """Six cells in a row, the fourth of which is wet; moves by −1 or 1, or by a number."""

    observation_space = Discrete(6)

    def __init__(self, space):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        self._cell = 2
        return self._cell, self._info()

    def step(self, action):
        by = (
            2 * int(action) - 1
            if isinstance(self.action_space, Discrete)
            else int(np.sign(action[0]))
        )
        self._cell = min(max(self._cell + by, 0), 5)
        return self._cell, 0.0, False, False, self._info()

    def _info(self):
        shown = {0: {"left"}, 3: {"wet"}, 5: {"right"}}.get(self._cell, set())
        return {"labels": frozenset(shown)}


def spec_of(space, constraints=()):
    made = f"skm-test/{type(space).__name__}Lane-v0"
    if made not in gymnasium.registry:
        gymnasium.register(made, lambda: Lane(space), disable_env_checker=True)
    return DomainSpec("lane", made, NAMES, constraints, gamma=0.9, primitive_steps=30, tasks={})


TURNS = Discrete(2)
SPEEDS = Box(-1.0, 1.0, (1,))


@pytest.mark.parametrize(
    ("space", "left", "right"), [(TURNS, 0, 1), (SPEEDS, np.array([-1.0]), np.array([1.0]))]
)
def test_what_comes_after_a_goal_is_measured(space, left, right):
    ways = {
        "left": lambda cell: (left, 0.9 ** max(cell - 1, 0)),
        "right": lambda cell: (right, np.array([[0.9 ** max(4 - cell, 0)]])),
    }
    skills = PolicySkills.of(spec_of(space), ways)
    assert skills.world_model.values == pytest.approx(np.array([[1, 0.9**4], [0.9**4, 1]]))
    assert skills.notes == ()


@pytest.mark.parametrize(
    ("space", "answer", "said"),
    [
        (TURNS, (2, 0.5), "gave the action 2"),
        (TURNS, (0.5, 0.5), "gave the action 0.5"),
        (TURNS, 1, "gave 1; it gives an action and a value"),
        (TURNS, (1, 7.0), "gave the value 7.0"),
        (TURNS, (1, float("nan")), "gave the value nan"),
        (TURNS, (1, [0.1, 0.2]), r"gave the value \[0.1, 0.2\]"),
        (SPEEDS, (np.zeros(3), 0.5), r".*of shape \(3,\); the domain's actions are Box"),
        (SPEEDS, (0.5, 0.5), r".*of shape \(\)"),
        (SPEEDS, (np.array([np.nan]), 0.5), "gave the action"),
    ],
)
def test_an_answer_that_does_not_fit_is_said_with_the_policys_name(space, answer, said):
    with pytest.raises(SkmError, match=f"the policy for 'left' {said}"):
        PolicySkills.of(spec_of(space), {"left": lambda _: answer})


def test_a_policy_that_never_arrives_or_touches_a_constraint_is_named():
    ways = {"left": lambda _: (1, 0.5), "right": lambda _: (1, 0.5)}
    never, *touched = PolicySkills.of(spec_of(TURNS, ("wet",)), ways, episodes=4).notes
    assert never == "the policy for 'left' never arrived in 4 episodes of 30 steps"
    assert len(touched) == 2
    assert all("touched 'wet' on its way in 4 of 4 episodes" in note for note in touched)


def test_a_policy_that_misses_now_and_then_is_named_with_how_often():
    asked = itertools.count()
    ways = {"left": lambda _: (int(next(asked) < 30), 0.5)}  # away, throughout the first episode
    (note,) = PolicySkills.of(spec_of(TURNS), ways, episodes=4).notes
    assert note.startswith("the policy for 'left' did not arrive in 1 of 4 episodes of 30 steps")


def test_a_policy_learns_in_an_environment_that_ends_on_arrival_with_a_reward_of_1():
    env = make_goal_env(spec_of(TURNS), "left")
    env.reset()
    assert env.step(0)[1:4] == (0.0, False, False)
    assert env.step(0)[1:4] == (1.0, True, False)


def test_an_episode_of_learning_is_cut_off_where_the_goal_is_not_met():
    for limit, steps in ((0, 30), (7, 7)):
        env = make_goal_env(spec_of(TURNS), "left right", max_steps=limit)
        env.reset()
        ends = [env.step(0)[1:4] for _ in range(steps)]
        assert ends[-1] == (0.0, False, True)
        assert set(ends[:-1]) == {(0.0, False, False)}


def test_what_a_policy_is_learned_for_must_be_in_the_domain():
    with pytest.raises(SkmError, match="no proposition 'lefd'; did you mean 'left'"):
        make_goal_env(spec_of(TURNS), "lefd")
