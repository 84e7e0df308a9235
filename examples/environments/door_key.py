"""MiniGrid's DoorKey, seen as a whole: the key opens the door to the goal; 6 × 6 cells."""

import gymnasium
from minigrid.core.world_object import Door, Goal, Key
from minigrid.wrappers import FullyObsWrapper

from skm_sim import wrap_domain

TASKS = ["F key", "F(key & F(door & F goal))", "!door U key & F goal", "F(door & F goal)"]
SEEN = {
    "key": lambda seen, info, env: isinstance(env.carrying, Key),
    "door": lambda seen, info, env: any(isinstance(c, Door) and c.is_open for c in env.grid.grid),
    "goal": lambda seen, info, env: isinstance(env.grid.get(*env.agent_pos), Goal),
}
DOOR_KEY = wrap_domain(
    "door_key",
    lambda **o: FullyObsWrapper(gymnasium.make("minigrid:MiniGrid-DoorKey-6x6-v0", **o)),
    SEEN, observation_key="image", tasks=TASKS, gamma=0.97, primitive_steps=150,
)  # fmt: skip
