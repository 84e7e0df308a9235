"""A world and a mission as one Gymnasium environment, alone and in batches."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils.env_checker import check_env

from skm_machine import MissionError, MissionTracker, compile_mission
from skm_primitives import MissionEnv, MissionVectorEnv
from skm_primitives.execution.mission_env import ENV_ID
from skm_sim import DomainError, get_domain, label_batch, label_env
from tiny_worlds import Corridor

CART = {
    "left": lambda seen, info, env: seen[..., 0] < 0,
    "tilted": lambda seen, info, env: np.abs(seen[..., 2]) > 0.1,
}
PICTURE = Box(0, 255, (6, 6, 3), np.uint8)


class Picture(Corridor):
    """The corridor as a picture."""

    def __init__(self):
        super().__init__()
        self.observation_space = PICTURE

    def reset(self, *, seed=None, options=None):
        cell, info = super().reset(seed=seed)
        return np.full(PICTURE.shape, cell, np.uint8), info

    def step(self, action):
        cell, *rest = super().step(action)
        return np.full(PICTURE.shape, cell, np.uint8), *rest


def worlds():
    cart = label_env(gymnasium.make("CartPole-v1"), CART)
    return [
        (Corridor(), "F(left & X F right) & G !hazard", Discrete),
        (Corridor(terminal=True), "G F left & G F hazard", Discrete),
        (cart, "F(left & X F !left) & G !tilted", Box),
        (Picture(), "F G left", Dict),
        (get_domain("office").make(), "F(coffee & X F office)", Discrete),
    ]


@pytest.mark.parametrize("number", range(5))
def test_gymnasium_finds_no_fault_with_it(number):
    world, mission, kind = worlds()[number]
    env = MissionEnv(world, mission, max_steps=30)
    assert isinstance(env.observation_space, kind)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*(infinity|spec)")
        check_env(env, skip_render_check=True)


def test_the_reward_and_the_end_are_the_machines_and_states_are_told():
    env = MissionEnv(Corridor(), "F(left & X F right)", max_steps=50)
    tracker = MissionTracker(env.mission.machine, ())
    ended = []
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        tracker.start(info["labels"])
        over = cut = False
        while not (over or cut):
            observation, reward, over, cut, info = env.step(env.action_space.sample())
            assert reward == tracker.update(info["labels"])
            states = env.mission.machine.num_states
            assert (observation // states, observation % states) == (env.env.cell, tracker.state)
            assert over == (tracker.status.value == "accepted") == info["is_success"]
        ended.append(over)
    assert {True, False} == set(ended)  # some are cut off


def test_a_mission_that_is_lost_and_a_world_that_ends_are_ends():
    env = MissionEnv(Corridor(terminal=True), "F left & G !hazard")
    for wanted, moves in (("failed", 1), ("running", 3)):
        env.reset(seed=0)
        env.env.cell = 1 if wanted == "failed" else 3
        *_, over, cut, info = env.step(1)
        assert (env.tracker.status.value, over, cut) == (wanted, True, False), moves
        assert not info["is_success"]


BATCHES = {
    "native": lambda: get_domain("office").make_batch(5),
    "single ones": lambda: label_batch(
        gymnasium.make_vec("CartPole-v1", num_envs=5, vectorization_mode="sync"), CART
    ),
    "processes": lambda: label_batch(
        gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="async"), CART
    ),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_a_batch_does_in_each_world_what_a_tracker_says(kind):
    batch = BATCHES[kind]()
    mission = "F(coffee | mail) & G !decoration" if kind == "native" else "F(left & X F !left)"
    env = MissionVectorEnv(batch, mission, max_steps=40)
    names = batch.propositions
    observations, info = env.reset(seed=3)
    env.action_space.seed(3)
    trackers = [MissionTracker(env.mission.machine, ()) for _ in range(env.num_envs)]
    begins = np.ones(env.num_envs, bool)
    rewards, over, cut = np.zeros(env.num_envs), ~begins, ~begins
    counts = {"accepted": 0, "again": 0}
    try:
        for step in range(200):
            labels = [
                {n for n, true in zip(names, row, strict=True) if true} for row in info["labels"]
            ]
            for world, tracker in enumerate(trackers):
                if begins[world]:
                    tracker.start(labels[world])
                    counts["again"] += step > 0
                    assert (rewards[world], over[world], cut[world]) == (0, False, False)
                else:
                    assert rewards[world] == tracker.update(labels[world])
                    counts["accepted"] += tracker.status.value == "accepted"
                assert info["machine_state"][world] == tracker.state
                if kind != "native":  # the observation and the labels are of one moment
                    assert ("left" in labels[world]) == (observations[world, 0] < 0)
            assert observations in env.observation_space
            begins = over | cut
            observations, rewards, over, cut, info = env.step(env.action_space.sample())
    finally:
        env.close()
    assert min(counts.values()) > 0


def test_by_its_id_alone_and_as_a_batch():
    place = f"skm_primitives.execution.mission_env:{ENV_ID}"
    options = {"domain": "office", "mission": "F coffee", "max_steps": 20}
    single = gymnasium.make(place, **options)
    batch = gymnasium.make_vec(place, num_envs=4, **options)
    assert batch.single_observation_space == single.observation_space
    assert batch.reset(seed=0)[0].shape == (4,)
    assert single.reset(seed=0)[0] in single.observation_space


@pytest.mark.parametrize(
    ("mission", "message"),
    [
        ("F lefft", "did you mean 'left'"),
        ("F left & G !left", "can never be rewarded"),
        (compile_mission("F sofa"), "the world never tells sofa"),
        (compile_mission("F[0s,3s] left", step_seconds=1.0), "write them in steps"),
    ],
)
def test_missions_that_cannot_be_learned_are_refused(mission, message):
    with pytest.raises(MissionError, match=message):
        MissionEnv(Corridor(), mission)


def test_worlds_without_labels_and_batches_that_restart_all_at_once_are_refused():
    with pytest.raises(DomainError, match="label_env gives it some"):
        MissionEnv(gymnasium.make("CartPole-v1"), "F left")
    native = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    with pytest.raises(DomainError, match="one by one"):
        MissionVectorEnv(label_batch(native, CART), "F left")


def test_a_learner_that_knows_nothing_of_missions_learns_one():
    """Q-learning over the product: from anywhere in the corridor, left and then right, the short way."""
    env = MissionEnv(Corridor(), "F(left & X F right)", max_steps=40)
    values = np.zeros((env.observation_space.n, 2))
    chance = np.random.default_rng(0)
    for episode in range(300):
        seen, _ = env.reset(seed=episode)
        over = cut = False
        while not (over or cut):
            action = chance.integers(2) if chance.random() < 0.3 else values[seen].argmax()
            after, reward, over, cut, _ = env.step(action)
            target = reward + 0.9 * values[after].max() * (not over)
            values[seen, action] += 0.5 * (target - values[seen, action])
            seen = after
    for seed in range(10):
        seen, _ = env.reset(seed=seed)
        # The first labels move nothing: from the left end one has to come back to it.
        steps = max(env.env.cell, 1) + 4
        for _ in range(steps):
            seen, reward, over, _, _ = env.step(values[seen].argmax())
        assert (reward, over) == (1.0, True)
