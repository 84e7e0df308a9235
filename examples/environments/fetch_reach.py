"""FetchReach of gymnasium-robotics: an arm of seven joints moves its gripper in space."""

from skm_sim import wrap_domain

EDGE = {"left": (1, 0.85), "right": (1, 0.65), "high": (2, 0.62), "low": (2, 0.45)}


def beyond(axis, bound, side):
    return lambda seen, info, env: side * (seen["observation"][axis] - bound) > 0


SIDES = {"left": 1, "right": -1, "high": 1, "low": -1}
FETCH_REACH = wrap_domain(
    "fetch_reach",
    "gymnasium_robotics:FetchReach-v4",
    {name: beyond(*EDGE[name], side) for name, side in SIDES.items()},
    constraints=["low", "high"],
    observation_key="observation",
    tasks=[
        "F(left & F right)",
        "F(high & F low)",
        "!high U left & F right",
        "G F left & G F right",
    ],
    primitive_steps=50,
)
