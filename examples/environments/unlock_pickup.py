"""MiniGrid's UnlockPickup, seen as a whole: a key opens the door to a box that is to be picked up."""

import gymnasium
from minigrid.core.world_object import Box, Door, Key
from minigrid.wrappers import FullyObsWrapper

from skm_sim import wrap_domain

SEEN = {
    "key": lambda seen, info, env: isinstance(env.carrying, Key),
    "door": lambda seen, info, env: any(isinstance(c, Door) and c.is_open for c in env.grid.grid),
    "box": lambda seen, info, env: isinstance(env.carrying, Box),
}
UNLOCK_PICKUP = wrap_domain(
    "unlock_pickup",
    lambda **o: FullyObsWrapper(gymnasium.make("minigrid:MiniGrid-UnlockPickup-v0", **o)),
    SEEN, observation_key="image", gamma=0.97, primitive_steps=150,
    tasks=["F key", "F door", "F box", "F(key & F(door & F box))"],
)  # fmt: skip
