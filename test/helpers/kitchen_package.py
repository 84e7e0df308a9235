"""A domain of somebody else's package: written to a folder, to be installed from there."""

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "kitchen-domain"
version = "1.0"
[project.entry-points."skm.domains"]
kitchen = "kitchen_domain:KITCHEN"
"""

MODULE = """
import numpy as np

from skm_sim import DomainSpec, Registration, Shape, TabularEnv, TabularModel, TabularVectorEnv, Task

CELLS = np.arange(6)
LABELS = np.zeros((6, 3), bool)
LABELS[0, 0] = LABELS[5, 1] = LABELS[2, 2] = True
NAMES = ("stove", "fridge", "wet")


def model():
    moves = np.stack([np.maximum(CELLS - 1, 0), np.minimum(CELLS + 1, 5)], axis=1)
    return TabularModel(NAMES, ("wet",), moves, CELLS.copy(), LABELS.copy(), CELLS.copy())


class Kitchen(TabularEnv):
    def __init__(self):
        super().__init__(model())

    def scene(self):
        floor = [Shape("floor", "cube", (c, 0, 0), (0.9, 0.9, 0.1), (0.9,) * 4) for c in range(6)]
        here = self.model.cells[self.state_index]
        return [*floor, Shape("robot", "sphere", (here, 0, 0.3), (0.4,) * 3, (0, 0, 1, 1))]


class Kitchens(TabularVectorEnv):
    def __init__(self, num_envs=1, max_episode_steps=None):
        super().__init__(model(), num_envs, max_episode_steps)


KITCHEN = DomainSpec(
    name="kitchen",
    env_id="kitchen/Kitchen-v0",
    environments=(
        Registration("kitchen/Kitchen-v0", "kitchen_domain:Kitchen", 100, "kitchen_domain:Kitchens"),
    ),
    propositions=NAMES,
    constraints=("wet",),
    gamma=0.9,
    primitive_steps=30,
    tasks={"cook": Task("cook", "F(fridge & X F stove)", repeat=False, max_steps=50)},
)
"""


def write_kitchen(source):
    """Write the package to a folder."""
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "kitchen_domain.py").write_text(MODULE)
    return source
