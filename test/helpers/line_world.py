"""A tiny continuous world with values one can write down: a point on a line, pushed by its action."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from skm_sim.spec import DomainSpec

STEP = 0.25
PROPOSITIONS = ("left", "wet", "right")
"""`left` holds at -1, `right` at +1, `wet` around +0.5: on the way to the right."""


def labels_at(position):
    """Return `(n, 3)` bools."""
    return np.stack([position <= -1, np.abs(position - 0.5) < 0.1, position >= 1], axis=-1)


class LineVectorEnv(VectorEnv):
    """Points on [-1, 1] that move by up to `STEP`; observation: the position. Never ends."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs=1, max_episode_steps=None):
        self.num_envs = num_envs
        self.propositions, self.constraints = PROPOSITIONS, ("wet",)
        self.single_observation_space = Box(-1.0, 1.0, (1,))
        self.single_action_space = Box(-1.0, 1.0, (1,))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.position = np.zeros(num_envs)

    def reset(self, *, seed=None, options=None):
        """Start at one of nine places."""
        super().reset(seed=seed)
        self.position = self.np_random.integers(-4, 5, self.num_envs) * STEP
        return self._see()

    def step(self, actions):
        """Move; actions are rounded to -1, 0, 1 steps."""
        moved = self.position + STEP * np.rint(np.asarray(actions)[:, 0])
        self.position = np.clip(moved, -1, 1)
        seen, info = self._see()
        no = np.zeros(self.num_envs, np.bool_)
        return seen, np.zeros(self.num_envs), no, no, info

    def _see(self):
        return self.position[:, None].copy(), {"labels": labels_at(self.position)}


class LineEnv(gymnasium.Env):
    """Just the spaces of one point: learners look at them."""

    observation_space = Box(-1.0, 1.0, (1,))
    action_space = Box(-1.0, 1.0, (1,))


SPEC = DomainSpec(
    name="line",
    env_id="skm_test/Line-v0",
    propositions=PROPOSITIONS,
    constraints=("wet",),
    gamma=0.9,
    primitive_steps=12,
    tasks={},
)

if SPEC.env_id not in gymnasium.registry:
    gymnasium.register(SPEC.env_id, entry_point=LineEnv, vector_entry_point=LineVectorEnv)
