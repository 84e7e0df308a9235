"""Exploration from where skills lead: who is sent where, when agents explore, and when it is over."""

import numpy as np
import pytest

from skm_primitives.learning.exploration import FREELY, ReturnAndExplore
from skm_primitives.skills.goal_space import AnyAvoidGoals

NAMES = ("key", "door", "goal")
NOTHING, KEY, BOTH = range(3)
AGENTS, STEPS = 1000, 20
NEVER_OVER = np.zeros(AGENTS, np.bool_)


@pytest.fixture
def space():
    """The label sets seen of a world with a key, a door and a goal, which was not shown yet."""
    return AnyAvoidGoals(NAMES, (), 4, (0, 0b01, 0b11))


def begun(space, seen, random, share=1.0):
    returns = ReturnAndExplore(AGENTS, share, STEPS)
    returns.start(space, np.array(seen)[:, None], random)
    return returns


def targets(returns, space):
    masks = returns.masks(np.ones((AGENTS, space.capacity, space.heads), np.bool_), space)
    return masks[returns.returning].sum(axis=(0, 2))


def test_agents_are_sent_to_what_was_shown_seldom(space):
    returns = begun(space, [1000, 99, 0, 0], np.random.default_rng(0))
    nothing, key, both, unknown = targets(returns, space)
    assert nothing == unknown == 0
    assert both == pytest.approx(10 * key, rel=0.3), (
        "by one over the root of how often it was shown"
    )


def test_who_has_arrived_explores_until_the_episode_is_over(space):
    random = np.random.default_rng(0)
    returns = begun(space, [0, 0, 0, 0], random)
    assert not returns.exploring.any()
    sent, to_key = returns.returning, targets(returns, space)[KEY]
    assert (returns.shares()[sent] == 0).all(), "no random step on the way"
    here = np.full(AGENTS, KEY)
    returns.step(space, np.zeros((4, 1), np.int64), here, NEVER_OVER, random)
    assert returns.exploring.sum() == to_key
    assert (returns.shares()[returns.exploring] == FREELY).all()
    over = returns.exploring.copy()
    returns.step(space, np.zeros((4, 1), np.int64), here * NOTHING, over, random)
    assert not returns.exploring.any()


def test_who_does_not_arrive_explores_from_wherever_it_is(space):
    random = np.random.default_rng(0)
    returns = begun(space, [0, 0, 0, 0], random)
    sent = returns.returning
    for _ in range(STEPS // 2):
        assert not returns.exploring.any()
        returns.step(space, np.zeros((4, 1), np.int64), np.zeros(AGENTS, int), NEVER_OVER, random)
    assert np.array_equal(returns.exploring, sent)


def test_where_everything_is_reached_reliably_hardly_anybody_is_sent():
    random, seen = np.random.default_rng(0), np.zeros((4, 1), np.int64)
    open_world = AnyAvoidGoals(NAMES[:2], (), 4, (0, 0b01, 0b11))
    returns = begun(open_world, [0, 0, 0, 0], random)
    for arrives in (False, True):
        for _ in range(60):
            pursued = returns.masks(np.zeros((AGENTS, 4, 1), np.bool_), open_world)
            shown = pursued.any(-1).argmax(1) if arrives else np.zeros(AGENTS, np.int64)
            returns.step(open_world, seen, shown, np.ones(AGENTS, np.bool_), random)
            returns.start(open_world, seen, random)
        assert (returns.returning.mean() < 0.1) == arrives
