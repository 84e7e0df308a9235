"""MountainCar: a car too weak for the hill gains speed in the valley; the top ends the world."""

from skm_sim import wrap_domain

PLACES = {
    "west": lambda seen, info, env: seen[0] < -0.9,
    "ridge": lambda seen, info, env: seen[0] < -1.15,
    "slope": lambda seen, info, env: 0.1 < seen[0] < 0.4,
    "top": lambda seen, info, env: seen[0] >= 0.5,
}
MOUNTAIN_CAR = wrap_domain(
    "mountain_car", "MountainCar-v0", PLACES, constraints=["ridge", "slope"], primitive_steps=200,
    tasks=["F top", "F(west & F top)", "F(slope & F(west & F top))", "!ridge U top"],
)  # fmt: skip
