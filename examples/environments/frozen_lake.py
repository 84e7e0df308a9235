"""FrozenLake, smooth and slippery: sixteen cells, four of them holes that end the world."""

from skm_sim import wrap_domain


def at(place):
    return lambda cell, info, env: cell == place


PLACES = {"hut": at(0), "pier": at(6), "tree": at(8), "gift": at(15)}
SETTINGS = {"constraints": ["pier"], "gamma": 0.9, "primitive_steps": 40}
SMOOTH = wrap_domain("lake", "FrozenLake-v1", PLACES, **SETTINGS, is_slippery=False)
SLIPPERY = wrap_domain("slippery_lake", "FrozenLake-v1", PLACES, **SETTINGS, is_slippery=True)
