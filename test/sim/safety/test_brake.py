"""A stop brakes: the point robot comes to rest in a fraction of the way that it would coast."""

import numpy as np
import pytest

from skm_sim.registry import get_domain
from skm_sim.world import World

STANDING = 0.06


def drive(world, seed, steps=20):
    """Drive about at random, mostly forwards."""
    world.reset(seed)
    random = np.random.default_rng(seed)
    for _ in range(steps):
        world.step(np.array([0.05 * random.choice([1, 1, 1, -1]), random.uniform(-1, 1)]))


def way_to_rest(world, law):
    """Return the metres and steps until the robot stands."""
    env = world._env.unwrapped
    place, metres, steps = env.pose[:2], 0.0, 0
    while np.hypot(*env.world.physics.state[0, 4:6]) > STANDING:
        world.step(law())
        metres += float(np.hypot(*(env.pose[:2] - place)))
        place, steps = env.pose[:2], steps + 1
        assert steps < 100
    return metres, steps


def test_it_brakes_in_a_third_of_the_way_that_it_coasts():
    world = World(get_domain("safety"), 0)
    ways = {"brake": [], "coast": []}
    for seed in range(20):
        for name, law in (("brake", world.brake), ("coast", lambda: np.zeros(2))):
            drive(world, seed)
            ways[name].append(way_to_rest(world, law))
    metres, steps = np.array(ways["brake"]).T
    coasted, _ = np.array(ways["coast"]).T
    assert metres.mean() < coasted.mean() / 3
    assert metres.max() < 0.25
    assert steps.max() <= 8


def test_a_robot_at_rest_stays_where_it_is():
    world = World(get_domain("safety"), 3)
    env = world._env.unwrapped
    place = env.pose[:2]
    for _ in range(50):
        world.step(world.brake())
    assert np.hypot(*(env.pose[:2] - place)) < 0.01


@pytest.mark.parametrize("domain", ["office", "moving_targets"])
def test_a_world_that_waits_needs_no_brake(domain):
    assert World(get_domain(domain), 0).brake() is None
