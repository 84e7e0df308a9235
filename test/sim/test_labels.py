"""Environments that know nothing of skm become domains: by predicates, alone and in batches."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple

from skm_sim import DomainError, check_domain, label_batch, label_env, wrap_domain
from skm_sim.observations import Parts

CART = {
    "left": lambda observation, info, env: observation[..., 0] < 0,
    "tilted": lambda observation, info, env: np.abs(observation[..., 2]) > 0.02,
}


def labels_of(observations):
    return np.stack([observations[:, 0] < 0, np.abs(observations[:, 2]) > 0.02], axis=1)


def test_a_labelled_environment_is_a_domain():
    env = label_env(gymnasium.make("CartPole-v1"), CART, constraints=("tilted",))
    assert check_domain(env) == []
    assert (env.propositions, env.constraints) == (("left", "tilted"), ("tilted",))
    observation, info = env.reset(seed=3)
    assert info["labels"] == env.labels()
    for _ in range(5):
        observation, reward, _, _, info = env.step(env.action_space.sample())
        assert (info["labels"], reward) == (env.labels(), 0.0)
        assert ("left" in info["labels"]) == (observation[0] < 0)


@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
def test_a_labelled_batch_has_label_arrays(mode):
    batch = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode=mode)
    batch = label_batch(batch, CART, constraints=("tilted",))
    try:
        observations, info = batch.reset(seed=1)
        for _ in range(40):  # over the end of episodes
            assert info["labels"].dtype == np.bool_
            assert np.array_equal(info["labels"], labels_of(observations))
            observations, rewards, *_, info = batch.step(batch.action_space.sample())
            assert not rewards.any()
    finally:
        batch.close()


def test_the_time_limit_is_taken_off_and_the_end_stays():
    env = label_env(gymnasium.make("MountainCar-v0"), {"up": lambda o, i, e: o[0] > 0.4})
    env.reset(seed=0)
    assert not any(any(env.step(1)[2:4]) for _ in range(300))
    cart = label_env(gymnasium.make("CartPole-v1"), CART)
    cart.reset(seed=0)
    assert any(cart.step(1)[2] for _ in range(60))


NESTED = Dict({"place": Box(-1, 1, (2,)), "gear": Discrete(3), "speed": Box(0, 9, (1,))})
SAMPLE = {"place": np.array([0.5, -0.5], np.float32), "gear": 1, "speed": np.array([2], np.float32)}


@pytest.mark.parametrize(
    ("key", "seen"),
    [
        ("place", [0.5, -0.5]),
        (("speed", "place"), [2, 0.5, -0.5]),
        (None, [0, 1, 0, 0.5, -0.5, 2]),
        ("gear", 1),
    ],
)
def test_parts_of_observations_are_picked_or_flattened(key, seen):
    parts = Parts(NESTED, key)
    picked = parts.pick(SAMPLE)
    assert np.array_equal(picked, seen)
    assert picked in parts.space


def test_other_spaces_are_flattened_and_impossible_ones_refused():
    assert Parts(MultiDiscrete([2, 3]), None).space.shape == (5,)
    assert Parts(Tuple([Discrete(2), Box(0, 1, (2, 2))]), 1).space.shape == (4,)
    with pytest.raises(DomainError, match="has no part 'plac'; did you mean 'place'"):
        Parts(NESTED, "plac")
    with pytest.raises(DomainError, match="is for Dict and Tuple"):
        Parts(Box(0, 1, (2,)), "place")
    with pytest.raises(DomainError, match="no fixed length"):
        Parts(gymnasium.spaces.Sequence(Discrete(2)), None)


def fails(observation, info, env):
    return env.no_such_attribute


def test_a_predicate_that_raises_is_named_alone_and_in_batches():
    (problem,) = check_domain(label_env(gymnasium.make("CartPole-v1"), {"odd": fails}))
    assert "predicate of 'odd' failed (AttributeError" in problem
    for mode in ("sync", "vector_entry_point"):
        batch = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode=mode)
        with pytest.raises(DomainError, match="the predicate of 'odd' failed"):
            label_batch(batch, {"odd": fails}).reset()


class Cart(gymnasium.Wrapper):
    """CartPole whose `reset` and `step` go through `told`."""

    def __init__(self, told):
        super().__init__(gymnasium.make("CartPole-v1"))
        self.told = told

    def reset(self, **options):
        return self.told(self.env.reset(**options))

    def step(self, action):
        return self.told(self.env.step(action))


ODD = {"odd": lambda seen, info, env: seen[0] > 1}


def test_what_is_not_as_gymnasium_says_is_told_in_a_sentence():
    (problem,) = check_domain(label_env(Cart(lambda parts: parts[0]), ODD))
    assert problem.startswith("The environment's reset() returned ndarray, not (observation, info)")
    (problem,) = check_domain(label_env(Cart(lambda p: p if len(p) == 2 else p[:3] + p[4:]), ODD))
    assert (
        "step() returned 4 values, not (observation, reward, terminated, truncated, info)"
        in problem
    )
    (problem,) = check_domain(label_env(Cart(lambda parts: (*parts[:-1], "fine")), ODD))
    assert "an info of type str, not a dict" in problem
    assert not check_domain(label_env(Cart(lambda parts: (*parts[:-1], None)), ODD))
    with pytest.raises(DomainError, match="label_batch labels one"):
        label_env(gymnasium.make_vec("CartPole-v1", num_envs=2), ODD)
    with pytest.raises(
        DomainError, match="no Gymnasium environment but of type int, without reset"
    ):
        label_env(3, ODD)


def test_an_id_that_gymnasium_does_not_know_is_told_with_the_likely_one():
    (problem,) = check_domain(wrap_domain("typo", "FrozenLak-v1", ODD))
    assert "Gymnasium does not know 'FrozenLak-v1'" in problem
    assert "Did you mean: `FrozenLake`" in problem


def test_a_native_batch_wants_an_answer_for_each_world():
    batch = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    with pytest.raises(DomainError, match="a bool for each of the 2 worlds"):
        label_batch(batch, {"odd": lambda o, i, e: True}).reset()


@pytest.mark.parametrize(
    ("seen", "acted", "message"),
    [
        (Box(0, 255, (8, 8, 3), np.uint8), Box(-1, 1, (1,)), "Pictures"),
        (Box(-1, 1, (2, 2)), Discrete(2), "a flat box of numbers"),
        (Discrete(4), Box(-1, 1, (1,)), "tables need choices"),
        (Box(-1, 1, (2,)), Box(-np.inf, np.inf, (1,)), "Bound the box of actions"),
        (Box(-1, 1, (2,)), Box(-1, 1, (1, 2)), "the box of actions flat"),
        (Box(-1, 1, (2,)), MultiDiscrete([2, 2]), "Act by a choice"),
        (Box(-1, 1, (2,)), Discrete(2, start=1), "Count actions from 0"),
    ],
)
def test_spaces_that_no_learner_fits_are_told(seen, acted, message):
    class World(gymnasium.Env):
        propositions, constraints = ("a",), ()
        observation_space, action_space = seen, acted

        def labels(self):
            return frozenset()

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(seed)
            return self.observation_space.sample(), {"labels": self.labels()}

        def step(self, action):
            return self.observation_space.sample(), 0.0, False, False, {"labels": self.labels()}

    assert any(message in problem for problem in check_domain(World()))
