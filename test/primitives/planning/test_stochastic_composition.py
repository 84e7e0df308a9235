"""In a stochastic world the best of several skills is not the skill for any of several goals.

That composition need not be optimal there is shown by Terrés-Caballero and van Hoof (arXiv
2606.04053); this world is ours, as small as we found one. From the start, one action for each goal
leads there with 0.7, else into a pit; one for each pair of goals leads to either with 0.5. Whoever
wants one of two goals takes their pair and never fails; but for each goal alone that is worth 0.5, so
that the maximum of the two values takes an action that fails in 3 of 10 runs. Every pair has an
action of its own, which no policy for one goal takes.
"""

from itertools import chain, combinations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy
from skm_primitives.learning.training import make_learner, train
from skm_sim import DomainSpec

GOALS = ("a", "b", "c")
PAIRS = tuple(combinations(range(3), 2))
START, PIT = 0, 4
SURE = 0.7
ACTIONS = len(GOALS) + len(PAIRS) + 1
"""One for each goal, one for each pair, and to wait."""


def chances():
    """Return `[action, cell]`: where each action leads from the start."""
    result = np.zeros((ACTIONS, 5))
    for goal in range(3):
        result[goal, [1 + goal, PIT]] = SURE, 1 - SURE
    for number, pair in enumerate(PAIRS):
        result[len(GOALS) + number, [1 + goal for goal in pair]] = 0.5
    result[-1, START] = 1
    return result


class Fork(gymnasium.Env):
    """One decision; the goals and the pit end the world."""

    metadata = {"render_modes": []}  # noqa: RUF012
    propositions = GOALS
    constraints = ()
    observation_space = Discrete(5)
    action_space = Discrete(ACTIONS)

    def labels(self):
        return frozenset(GOALS[self.cell - 1]) if START < self.cell < PIT else frozenset()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = START
        return START, {"labels": self.labels()}

    def step(self, action):
        self.cell = int(self.np_random.choice(5, p=chances()[action]))
        return self.cell, 0.0, self.cell != START, False, {"labels": self.labels()}


gymnasium.register("skm_test/Fork-v0", entry_point=Fork)
FORK = DomainSpec("fork", "skm_test/Fork-v0", GOALS, (), gamma=0.9, primitive_steps=5, tasks={})


@pytest.fixture(scope="module")
def skills(tmp_path_factory):
    out = tmp_path_factory.mktemp("fork") / "skills.safetensors"
    train(make_learner(FORK, {"seed": 1}, out, resume=False, overwrite=False), 20_000, out, "test")
    return load_primitives(FORK, out)


def success(action, wanted):
    """Return the chance to get to one of the wanted goals by an action, from the world alone."""
    return sum(chances()[action, 1 + GOALS.index(goal)] for goal in wanted)


def chosen(skills, wanted, planner):
    mission = compile_mission("F(" + " | ".join(wanted) + ")", propositions=GOALS)
    policy = make_policy(mission, skills, planner)
    policy.start(START)
    values = skills.values(START, frozenset())
    return int(policy.choose(mission.machine.initial, values).action)


SUBSETS = list(chain.from_iterable(combinations(GOALS, size) for size in (1, 2, 3)))


@pytest.mark.parametrize("wanted", SUBSETS, ids=" or ".join)
def test_the_product_planner_reaches_the_optimum_for_every_set_of_goals(skills, wanted):
    best = max(success(action, wanted) for action in range(ACTIONS))
    assert best == (SURE if len(wanted) == 1 else 1.0)
    assert success(chosen(skills, wanted, "product"), wanted) == best


@pytest.mark.parametrize("wanted", [set_ for set_ in SUBSETS if len(set_) > 1], ids=" or ".join)
@pytest.mark.parametrize("planner", ["paper", "values"])
def test_the_maximum_of_values_does_not(skills, wanted, planner):
    assert success(chosen(skills, wanted, planner), wanted) == SURE
