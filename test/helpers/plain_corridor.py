"""A corridor as a plain environment of one's own: no arrays, only steps."""

import gymnasium
from gymnasium.spaces import Discrete

from skm_sim import DomainSpec, Registration

CELLS = 6


class Corridor(gymnasium.Env):
    """`a` at the left end and `b` at the right; moves left, right. It may be `slippery`."""

    observation_space = Discrete(CELLS)
    action_space = Discrete(2)
    slippery = False

    def labels(self):
        return frozenset({"a"} if self.cell == 0 else {"b"} if self.cell == CELLS - 1 else ())

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(CELLS))
        return self.cell, {"labels": self.labels()}

    def step(self, action):
        if not self.slippery or self.np_random.random() < 0.8:
            self.cell = min(max(self.cell + 2 * int(action) - 1, 0), CELLS - 1)
        return self.cell, 0.0, False, False, {"labels": self.labels()}


class Slippery(Corridor):
    slippery = True


def _spec(name):
    where = Registration(f"test/{name}-v0", f"plain_corridor:{name}", 50)
    return DomainSpec(
        name=name.lower(),
        env_id=f"test/{name}-v0",
        environments=(where,),
        propositions=("a", "b"),
        constraints=(),
        gamma=0.9,
        primitive_steps=20,
        tasks={},
    )


CORRIDOR, SLIPPERY = _spec("Corridor"), _spec("Slippery")
