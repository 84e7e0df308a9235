"""Atari's Pong from its pixels: who has scored, as the console's memory says."""

from skm_sim import wrap_domain

PONG = wrap_domain(
    "pong",
    "ale_py:ALE/Pong-v5",
    {
        "scored": lambda seen, info, env: env.ale.getRAM()[14] > 0,
        "conceded": lambda seen, info, env: env.ale.getRAM()[13] > 0,
    },
    constraints=["conceded"],
    tasks=["!conceded U scored"],
    primitive_steps=200,
)
