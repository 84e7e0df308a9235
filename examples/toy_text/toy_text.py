"""Gymnasium's toy-text environments as domains: Taxi, CliffWalking (dry, slippery), FrozenLake."""

from collections.abc import Callable
from typing import Any

import gymnasium

from skm_sim import DomainSpec, Registration, label_env

ABOARD = 4
"""Where a passenger of the taxi is who is in it."""


def _at(first: int, last: int | None = None) -> Callable[[Any, Any, Any], bool]:
    return lambda cell, info, env: first <= cell <= (first if last is None else last)


CLIFF = {"goal": _at(47), "brink": _at(25, 34), "west": _at(0), "east": _at(11)}
"""Four rows of twelve; the last is the start (36), the cliff, and the goal."""
LAKE = {"hut": _at(0), "pier": _at(6), "tree": _at(8), "gift": _at(15)}
STANDS = {"red": (0, 0), "green": (0, 4), "yellow": (4, 0), "blue": (4, 3)}


def _stand(name: str) -> Callable[[Any, Any, Any], bool]:
    return lambda state, info, env: tuple(list(env.decode(state))[:2]) == STANDS[name]


def _aboard(state: Any, info: Any, env: Any) -> bool:
    return bool(list(env.decode(state))[2] == ABOARD)


def _delivered(state: Any, info: Any, env: Any) -> bool:
    _, _, passenger, destination = env.decode(state)
    return bool(passenger == destination)


TAXI = {
    **{name: _stand(name) for name in STANDS},
    "aboard": _aboard,
    "delivered": _delivered,
}
WORLDS = {
    "cliff": ("CliffWalking", {}, CLIFF, ("brink",), 60),
    "slippery_cliff": ("CliffWalking", {"is_slippery": True}, CLIFF, ("brink",), 60),
    "lake": ("FrozenLake", {"is_slippery": False}, LAKE, ("pier",), 40),
    "slippery_lake": ("FrozenLake", {"is_slippery": True}, LAKE, ("pier",), 40),
    "taxi": ("Taxi", {}, TAXI, ("green",), 60),
}
"""Of each domain: environment, its options, predicates, constraints, steps of an episode of learning."""


def make(world: str, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Return an environment, the newest version that this Gymnasium has, with labels."""
    name, options, predicates, constraints, _ = WORLDS[world]
    known = [entry for entry in gymnasium.registry.values() if entry.name == name]
    newest = max(known, key=lambda entry: entry.version or 0)
    env = gymnasium.make(newest.id, render_mode=render_mode, **options)
    return label_env(env, predicates, constraints=constraints)


def _spec(name: str) -> DomainSpec:
    _, _, predicates, constraints, steps = WORLDS[name]
    place = f"toy_text/{name}-v0"
    return DomainSpec(
        name=name,
        env_id=place,
        environments=(Registration(place, "toy_text:make", 200, kwargs={"world": name}),),
        propositions=tuple(predicates),
        constraints=constraints,
        gamma=0.9,
        primitive_steps=steps,
        tasks={},
    )


DRY_CLIFF = _spec("cliff")
SLIPPERY_CLIFF = _spec("slippery_cliff")
FROZEN_LAKE = _spec("lake")
SLIPPERY_LAKE = _spec("slippery_lake")
TAXI_CITY = _spec("taxi")
