"""A batch of offices: it does what single offices do, restarts as it says, and is fast."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from skm_sim import DomainError
from skm_sim.office.env import OFFICE_MAP, OfficeEnv, OfficeVectorEnv


def test_make_vec_gives_the_batch_with_the_right_spaces_and_mode():
    batch = gymnasium.make_vec("skm/Office-v0", num_envs=3)
    assert isinstance(batch, OfficeVectorEnv)
    assert batch.single_observation_space == gymnasium.spaces.Discrete(120)
    assert batch.single_action_space == gymnasium.spaces.Discrete(4)
    assert batch.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert batch.max_episode_steps == 1000
    observations, info = batch.reset(seed=0)
    assert observations in batch.observation_space
    assert info["labels"].shape == (3, 10)
    assert info["labels"].dtype == np.bool_
    batch.close()


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(), ((9, 11),)]))
def test_every_agent_of_a_batch_does_what_a_single_office_does(seed, absorbing):
    chance = np.random.default_rng(seed)
    cells = chance.integers(120, size=8)
    batch = OfficeVectorEnv(num_envs=8, absorbing=absorbing)
    singles = [OfficeEnv(absorbing=absorbing) for _ in range(8)]
    observations, info = batch.reset(options={"cell": cells})
    results = [env.reset(options={"cell": int(c)}) for env, c in zip(singles, cells, strict=True)]
    for _ in range(40):
        for i, result in enumerate(results):
            assert observations[i] == result[0]
            assert batch.model.label_set(info["labels"][i]) == result[-1]["labels"]
            assert batch.state_indices[i] == singles[i].state_index
        actions = chance.integers(4, size=8)
        observations, rewards, terminations, truncations, info = batch.step(actions)
        assert not np.any([rewards, terminations, truncations])
        results = [env.step(int(a)) for env, a in zip(singles, actions, strict=True)]


def test_the_step_after_the_limit_restarts_an_episode():
    batch = OfficeVectorEnv(num_envs=4, max_episode_steps=3)
    batch.reset(seed=0, options={"start": (6, 10)})
    up, down = np.zeros(4, int), np.full(4, 2)
    ends = [batch.step(actions)[3].tolist() for actions in (up, down, up)]
    assert ends == [[False] * 4, [False] * 4, [True] * 4]
    assert not np.isin(batch.state_indices, batch.model.start_states).any()  # mail was fetched
    observations, _, _, truncations, _ = batch.step(down)
    assert not truncations.any()
    assert np.array_equal(batch.state_indices, batch.model.start_states[observations])
    assert [batch.step(up)[3].all() for _ in range(3)] == [False, False, True]


def test_chosen_agents_restart_at_once_and_the_others_go_on():
    batch = OfficeVectorEnv(num_envs=3, max_episode_steps=5)
    batch.reset(seed=0, options={"cell": [0, 1, 2]})
    batch.step(np.full(3, 2))
    before = batch.state_indices
    mask = np.array([False, True, False])
    observations, info = batch.reset(options={"reset_mask": mask, "start": (6, 6)})
    after = batch.state_indices
    assert after[[0, 2]].tolist() == before[[0, 2]].tolist()
    assert OFFICE_MAP.positions[observations[1]] == (6, 6)
    assert batch.model.label_set(info["labels"][1]) == {"office", "people_present"}
    ends = [batch.step(np.zeros(3, int))[3].tolist() for _ in range(5)]
    assert ends[3] == [True, False, True]
    assert ends[4] == [False, True, False]


def test_a_seed_decides_every_start_including_later_ones():
    def starts(seed):
        batch = OfficeVectorEnv(num_envs=5, max_episode_steps=1)
        cells = [batch.reset(seed=seed)[0]]
        cells += [batch.step(np.zeros(5, int))[0] for _ in range(9)]
        return np.array(cells).tolist()

    assert starts(7) == starts(7) != starts(8)


def test_a_batch_can_start_every_agent_elsewhere_and_go_to_saved_states():
    batch = OfficeVectorEnv(num_envs=2)
    observations, _ = batch.reset(options={"start": [(1, 1), (11, 15)]})
    assert observations.tolist() == [0, 119]
    saved = batch.state_indices
    batch.step(np.array([1, 3]))
    batch.state_indices = saved
    assert batch.state_indices.tolist() == saved.tolist()
    batch.state_indices = 5
    assert batch.state_indices.tolist() == [5, 5]
    with pytest.raises(DomainError, match="from 0 to 2879"):
        batch.state_indices = [0, 2880]


def test_what_is_returned_is_never_changed_later():
    batch = OfficeVectorEnv(num_envs=50, max_episode_steps=4)
    kept = [batch.reset(seed=1)[0]]
    copies = [kept[0].copy()]
    for _ in range(12):
        kept += (result := batch.step(np.ones(50, int)))[:4]
        kept.append(result[4]["labels"])
        copies += [array.copy() for array in kept[len(copies) :]]
    batch.reset(seed=2)
    assert all(np.array_equal(*pair) for pair in zip(kept, copies, strict=True))


@pytest.mark.parametrize(
    ("actions", "message"),
    [([0, 4], "from 0 to 3"), ([-1, 0], "from 0 to 3"), ([0], "2 integers"), ([0.0, 1.0], "2 int")],
)
def test_impossible_actions_are_refused(actions, message):
    batch = OfficeVectorEnv(num_envs=2)
    batch.reset(seed=0)
    with pytest.raises(DomainError, match=message):
        batch.step(np.array(actions))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reset_mask": np.array([1, 0])}, "2 bools"),
        ({"reset_mask": np.array([True])}, "2 bools"),
        ({"cell": [1, 2, 3]}, "cell index"),
        ({"start": [(1, 1), (0, 0)]}, "wall"),
        ({"where": 1}, "unknown reset option"),
    ],
)
def test_impossible_reset_options_are_refused(options, message):
    with pytest.raises(DomainError, match=message):
        OfficeVectorEnv(num_envs=2).reset(options=options)


def test_impossible_sizes_are_refused():
    with pytest.raises(DomainError, match="num_envs is 0"):
        OfficeVectorEnv(num_envs=0)
    with pytest.raises(DomainError, match="max_episode_steps is 0"):
        OfficeVectorEnv(max_episode_steps=0)
