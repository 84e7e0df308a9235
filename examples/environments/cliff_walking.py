"""CliffWalking, dry and slippery: who falls begins anew."""

from skm_sim import wrap_domain


def at(*cells):
    return lambda cell, info, env: cell in cells


PLACES = {"goal": at(47), "brink": at(*range(25, 35)), "west": at(0), "east": at(11)}
SETTINGS = {"constraints": ["brink"], "gamma": 0.9, "primitive_steps": 60}
DRY = wrap_domain("dry_cliff", "CliffWalking-v1", PLACES, **SETTINGS)
SLIPPERY = wrap_domain("slippery_cliff", "CliffWalking-v1", PLACES, **SETTINGS, is_slippery=True)
