"""Zones with ten colours, and zones seen by raw lidars: two more domains in the same arenas."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from skm_sim.spec import Task, task_table
from skm_sim.zones.layout import Arena
from skm_sim.zones.spec import MAX_STEPS, RAW_OBJECTS, ZONES, objects

TEN: Final = Arena(10).names
AVOIDED: Final = 3
"""Colours that are avoided on each way of a task of ten colours."""
_SHAPES: Final = (
    "!({x}) U ({a} & F {b})",
    "!({x}) U (({a} | {b}) & (!({x}) U {c}))",
    "!({x}) U ({a} & (!({y}) U ({b} & F({c} & (!({z}) U {d})))))",
    "F({a} & (!({x}) U ({b} & F({c} & (!({y}) U {d})))))",
)
"""phi10, phi11, phi15 and phi16 with other colours, and more of them to avoid."""
_EACH: Final = 5
"""Tasks of each shape."""


def _ten_tasks() -> dict[str, str]:
    """Return tasks with colours drawn at random, always the same: places to go, and three avoided."""
    random = np.random.default_rng(10)
    tasks = {}
    for index in range(_EACH * len(_SHAPES)):
        colours = random.permutation(TEN).tolist()
        names = dict(zip("abcd", colours, strict=False))
        others = colours[len(names) :]
        avoided = {
            way: " | ".join(sorted(random.choice(others, AVOIDED, replace=False).tolist()))
            for way in "xyz"
        }
        tasks[f"ten{index + 1}"] = _SHAPES[index % len(_SHAPES)].format(**names, **avoided)
    return tasks


HARD_TEN: Final = {
    "ten_in_turn": "".join(f"F({name} & " for name in TEN[:-1])
    + f"F {TEN[-1]}"
    + ")" * (len(TEN) - 1),
    "three_rounds": "G F blue & G F red & G F cyan & G !(yellow | magenta)",
    "one_or_other": "((!red U purple) | (!cyan U purple)) & (!(orange | lime) U (blue & F teal))",
}
"""Missions that ask for more: `skm eval zones_ten --task hard`."""

ZONES_TEN = replace(
    ZONES,
    name="zones_ten",
    env_id="skm/ZonesTen-v0",
    environments=(
        replace(ZONES.environments[0], id="skm/ZonesTen-v0", kwargs={"colours": len(TEN)}),
    ),
    demo="ten3",
    encoder="skm_sim.zones.encoder:TEN_COLOURS",
    objects=objects(len(TEN)),
    validation="skm_sim.zones.trials:TEN_SKILL_TRIALS",
    trials="skm_sim.zones.trials:TEN_TRIALS",
    team="",
    checkpoint="skm_primitives:checkpoints/zones_ten",
    settings={**ZONES.settings, "horizon": 640_000},
    propositions=TEN,
    constraints=TEN,
    tasks=task_table(
        Task(name, formula, repeat=False, max_steps=MAX_STEPS)
        for name, formula in _ten_tasks().items()
    ),
)
"""Twenty zones in the arena of eight; a goal is one of ten colours with any of the others avoided."""

ZONES_RAW = replace(
    ZONES,
    name="zones_raw",
    encoder="skm_sim.zones.encoder:RawZonesEncoder",
    objects=RAW_OBJECTS,
    checkpoint="",
)
"""The four colours seen by the lidars' bins as they are, as the peers see them: a variant to compare."""
