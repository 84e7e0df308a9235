"""Actions of any space become one choice or one flat box, and back."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Text, Tuple

from skm_sim import DomainError, label_batch, label_env
from skm_sim.actions import MOST_CHOICES, FlatActions

ARM = Dict({"grip": Discrete(2), "move": Box(-1, 1, (2, 2), np.float32)})


@pytest.mark.parametrize(
    ("whole", "count"),
    [
        (Discrete(3, start=5), 3),
        (MultiDiscrete([2, 3], start=[4, 0]), 6),
        (MultiDiscrete([[2, 2], [3, 1]]), 12),
        (MultiBinary(3), 8),
        (Dict({"a": Discrete(2), "b": Tuple([Discrete(2), MultiBinary(1)])}), 8),
    ],
)
def test_choices_become_one_choice_and_every_one_of_them_once(whole, count):
    flat = FlatActions(whole)
    assert flat.space == Discrete(count)
    actions = [flat.to_whole(number) for number in range(count)]
    assert all(action in whole for action in actions)
    assert len({repr(action) for action in actions}) == count


@pytest.mark.parametrize(
    ("whole", "numbers"),
    [
        (ARM, 6),
        (Box(-2, 3, (2, 3)), 6),
        (Box(0, 4, (2,), np.int32), 2),
        (MultiDiscrete([40, 40]), 80),
    ],
)
def test_the_rest_becomes_a_flat_bounded_box(whole, numbers):
    flat = FlatActions(whole)
    assert flat.space.shape == (numbers,)
    assert flat.space.is_bounded()
    flat.space.seed(0)
    for _ in range(20):
        assert flat.to_whole(flat.space.sample()) in whole


def test_numbers_stay_and_a_choice_is_its_largest_score():
    action = FlatActions(ARM).to_whole([-0.2, 0.1, 0.5, -0.5, 1, 0])
    assert action["grip"] == 1
    assert np.allclose(action["move"], [[0.5, -0.5], [1, 0]])


def test_what_is_plain_stays_and_what_has_no_fixed_size_is_refused():
    for space in (Discrete(4), Box(-1, 1, (3,)), Discrete(MOST_CHOICES + 1)):
        flat = FlatActions(space)
        assert flat.plain
        assert flat.space is space
    for space in (Text(3), Sequence(Discrete(2))):
        with pytest.raises(DomainError, match="no fixed number of parts"):
            FlatActions(space)


class Slide(gymnasium.Env):
    """A place on a line, moved by the difference of two choices."""

    metadata = {"render_modes": []}  # noqa: RUF012
    observation_space = Box(-50, 50, (1,), np.float32)
    action_space = Dict({"left": Discrete(3), "right": MultiDiscrete([2, 2])})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.array([0], np.float32), {}

    def step(self, action):
        assert action in self.action_space
        self.place += int(action["right"].sum()) - int(action["left"])
        return np.array([self.place], np.float32), 0.0, False, False, {}


def test_one_world_and_a_batch_take_the_same_flat_actions():
    far = {"far": lambda seen, info, env: np.abs(seen[..., 0]) > 2}
    single = label_env(Slide(), far)
    batch = label_batch(gymnasium.vector.SyncVectorEnv([Slide, Slide]), far)
    assert single.action_space == batch.single_action_space == Discrete(12)
    single.reset(seed=0)
    batch.reset(seed=0)
    batch.action_space.seed(0)
    for _ in range(12):
        actions = batch.action_space.sample()
        observations, *_, info = batch.step(actions)
        observation, *_, told = single.step(actions[0])
        assert np.array_equal(observations[0], observation)
        assert info["labels"][0].tolist() == ["far" in told["labels"]]


def test_cells_with_a_box_of_actions_are_seen_as_vectors():
    class Push(Slide):
        observation_space, action_space = Discrete(3), Box(-1, 1, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            return 2, {}

    env = label_env(Push(), {"end": lambda seen, info, env: seen == 2})
    observation, info = env.reset()
    assert observation.tolist() == [0, 0, 1]
    assert info["labels"] == {"end"}
