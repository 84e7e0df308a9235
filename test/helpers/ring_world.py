"""A ring of eight cells with two ways to the goal, one past red and one past blue: for avoid sets."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from skm_sim.spec import DomainSpec

CELLS = 8
NAMES = ("goal", "red", "blue", "green")
SHOWN = {4: "goal", 2: "red", 6: "blue", 5: "green"}
LABELS = np.array([[SHOWN.get(cell) == name for name in NAMES] for cell in range(CELLS)])


class RingVectorEnv(VectorEnv):
    """Walkers on the ring; observed as a vector with a 1 in the cell, or as an image of that."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs=1, max_episode_steps=None, image=False, box=False):
        self.num_envs, self._image = num_envs, image
        self.propositions = self.constraints = NAMES
        self.single_observation_space, self.single_action_space = spaces(image, box)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed=None, options=None):
        """Begin anywhere."""
        super().reset(seed=seed)
        self.cell = self.np_random.integers(CELLS, size=self.num_envs)
        return self._see()

    def step(self, actions):
        """Go by one cell to either side."""
        self.cell = (self.cell + np.where(np.reshape(actions, self.num_envs) > 0, 1, -1)) % CELLS
        seen, info = self._see()
        no = np.zeros(self.num_envs, np.bool_)
        return seen, np.zeros(self.num_envs), no, no, info

    def _see(self):
        return observed(self.cell, self._image), {"labels": LABELS[self.cell]}


def observed(cells, image):
    """Return what is observed in cells, `(n, …)`."""
    seen = np.eye(CELLS)[np.asarray(cells)]
    return seen.reshape(-1, 1, CELLS, 1).astype(np.uint8) if image else seen.astype(np.float32)


def spaces(image, box):
    """Return the spaces of an observation and an action."""
    seen = Box(0, 1, (1, CELLS, 1), np.uint8) if image else Box(0, 1, (CELLS,), np.float32)
    return seen, Box(-1.0, 1.0, (1,)) if box else Discrete(2)


class RingEnv(gymnasium.Env):
    """One walker."""

    def __init__(self, image=False, box=False):
        self.batch = RingVectorEnv(1, image=image, box=box)
        self.observation_space, self.action_space = spaces(image, box)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.batch.reset(seed=seed)
        if options:
            self.batch.cell[:] = options["cell"]
        return self._see()

    def step(self, action):
        self.batch.step([action])
        seen, info = self._see()
        return seen, 0.0, False, False, info

    def _see(self):
        seen, info = self.batch._see()
        names = frozenset(np.array(NAMES)[info["labels"][0]].tolist())
        return seen[0], {"labels": names}


def ring(name, *, image=False, box=False):
    """Return the domain, its environment registered."""
    spec = DomainSpec(
        name=name,
        env_id=f"skm_test/{name}-v0",
        propositions=NAMES,
        constraints=NAMES,
        gamma=0.9,
        primitive_steps=12,
        tasks={},
    )
    if spec.env_id not in gymnasium.registry:
        gymnasium.register(
            spec.env_id,
            entry_point=RingEnv,
            vector_entry_point=RingVectorEnv,
            kwargs={"image": image, "box": box},
        )
    return spec


RING, RING_IMAGE = ring("ring"), ring("ring_image", image=True)
RING_BOX = ring("ring_box", box=True)
