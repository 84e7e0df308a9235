"""A tiny world of things by kind, with values one can write down: a cart on a rail with two stops."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from skm_sim.object_centric import ObjectSets
from skm_sim.spec import DomainSpec

CELLS = 7
KINDS = ("red", "blue")
OBSERVED = Box(-float(CELLS), float(CELLS), (2,))
ACTED = Box(-1.0, 1.0, (1,))


class RailVectorEnv(VectorEnv):
    """Carts on a rail of seven cells; observed: how far the red and the blue stop are, with sign."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs=1, max_episode_steps=None):
        self.num_envs = num_envs
        self.propositions = self.constraints = KINDS
        self.single_observation_space, self.single_action_space = OBSERVED, ACTED
        self.observation_space = batch_space(OBSERVED, num_envs)
        self.action_space = batch_space(ACTED, num_envs)

    def reset(self, *, seed=None, options=None):
        """Put cart and stops on three different cells."""
        super().reset(seed=seed)
        order = self.np_random.permuted(np.tile(np.arange(CELLS), (self.num_envs, 1)), axis=1)
        self.cart, self.stops = order[:, 0], order[:, 1:3]
        return self._see()

    def step(self, actions):
        """Move by one cell, or not."""
        moved = self.cart + np.rint(np.asarray(actions)[:, 0]).astype(np.int64)
        self.cart = np.clip(moved, 0, CELLS - 1)
        seen, info = self._see()
        no = np.zeros(self.num_envs, np.bool_)
        return seen, np.zeros(self.num_envs), no, no, info

    def _see(self):
        gaps = self.stops - self.cart[:, None]
        return gaps.astype(np.float32), {"labels": gaps == 0}


class RailEnv(gymnasium.Env):
    """Just the spaces of one cart: learners look at them."""

    observation_space, action_space = OBSERVED, ACTED


class RailEncoder:
    """Of the cart nothing; of each stop whether it is there, where it is, and how near."""

    observations = 2
    inputs = 1 + 2 * 3
    actions = np.array([[-1.0], [0.0], [1.0]], np.float32)

    def features(self, observations):
        gaps = np.asarray(observations, np.float32)
        stops = np.stack([np.ones_like(gaps), gaps / CELLS, 1 / (1 + np.abs(gaps))], axis=-1)
        return np.concatenate([np.ones((len(gaps), 1), np.float32), stops.reshape(-1, 6)], axis=1)

    def commands(self, actions):
        return actions

    def reset_options(self, random, count):
        return {}


RAIL = DomainSpec(
    name="rail",
    env_id="skm_test/Rail-v0",
    propositions=KINDS,
    constraints=KINDS,
    gamma=0.9,
    primitive_steps=12,
    tasks={},
    encoder="rail_world:RailEncoder",
    objects=ObjectSets(own=1, kinds=KINDS, each=1, features=3, nearness=2, avoided=1),
)

if RAIL.env_id not in gymnasium.registry:
    gymnasium.register(RAIL.env_id, entry_point=RailEnv, vector_entry_point=RailVectorEnv)
