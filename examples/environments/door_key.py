"""MiniGrid's DoorKey, seen as a whole: the key opens the door to the goal; 6 × 6 or 8 × 8 cells."""

import gymnasium
from minigrid.core.world_object import Door, Goal, Key
from minigrid.wrappers import FullyObsWrapper

from skm_sim import wrap_domain

TASKS = ["F key", "F(key & F(door & F goal))", "!door U key & F goal", "F(door & F goal)"]
SETTINGS = {"observation_key": "image", "tasks": TASKS, "gamma": 0.97, "primitive_steps": 150}
SEEN = {
    "key": lambda seen, info, env: isinstance(env.carrying, Key),
    "door": lambda seen, info, env: any(isinstance(c, Door) and c.is_open for c in env.grid.grid),
    "goal": lambda seen, info, env: isinstance(env.grid.get(*env.agent_pos), Goal),
}


def whole(size, **options):
    return FullyObsWrapper(gymnasium.make(f"minigrid:MiniGrid-DoorKey-{size}-v0", **options))


DOOR_KEY = wrap_domain("door_key", whole, SEEN, **SETTINGS, size="6x6")
DOOR_KEY_8 = wrap_domain("door_key_8", whole, SEEN, **SETTINGS, size="8x8")
