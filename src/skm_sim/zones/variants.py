"""Zones with two, six, eight and ten colours, and zones seen by raw lidars, in the same arenas.

The skills of `zones` serve all numbers of colours: its network sees what is to be reached and what is
to be avoided, not how many colours there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from skm_sim.spec import DomainSpec, Task, task_table
from skm_sim.zones.layout import Arena
from skm_sim.zones.spec import MAX_STEPS, RAW_OBJECTS, ZONES, objects

TEN: Final = Arena(10).names
AVOIDED: Final = 3
"""Colours that are avoided on each way of a task of eight or ten colours; of six, the other two."""
_SHAPES: Final = (
    "!({x}) U ({a} & F {b})",
    "!({x}) U (({a} | {b}) & (!({x}) U {c}))",
    "!({x}) U ({a} & (!({y}) U ({b} & F({c} & (!({z}) U {d})))))",
    "F({a} & (!({x}) U ({b} & F({c} & (!({y}) U {d})))))",
)
"""phi10, phi11, phi15 and phi16 with other colours, and more of them to avoid."""
_EACH: Final = 5
"""Tasks of each shape."""


def _drawn_tasks(name: str, count: int) -> dict[str, str]:
    """Return tasks with colours drawn at random, always the same: places to go, and some avoided."""
    random = np.random.default_rng(count)
    tasks = {}
    for index in range(_EACH * len(_SHAPES)):
        colours = random.permutation(Arena(count).names).tolist()
        names = dict(zip("abcd", colours, strict=False))
        others = colours[len(names) :]
        avoided = {
            way: " | ".join(
                sorted(random.choice(others, min(AVOIDED, len(others)), replace=False).tolist())
            )
            for way in "xyz"
        }
        tasks[f"{name}{index + 1}"] = _SHAPES[index % len(_SHAPES)].format(**names, **avoided)
    return tasks


TWO_TASKS: Final = {
    "two1": "!green U (blue & F green)",
    "two2": "!blue U (green & (!blue U (green & F blue)))",
    "two3": "F(blue & F(green & F(blue & F green)))",
    "two4": "F green & G !blue",
}
HARD_TEN: Final = {
    "ten_in_turn": "".join(f"F({name} & " for name in TEN[:-1])
    + f"F {TEN[-1]}"
    + ")" * (len(TEN) - 1),
    "three_rounds": "G F blue & G F red & G F cyan & G !(yellow | magenta)",
    "one_or_other": "((!red U purple) | (!cyan U purple)) & (!(orange | lime) U (blue & F teal))",
}
"""Missions that ask for more: `skm eval zones_ten --task hard`."""


def _of_colours(name: str, count: int, tasks: Mapping[str, str]) -> DomainSpec:
    """Return Zones with so many colours, served by the skills that were learned with four."""
    env_id = f"skm/Zones{name.title()}-v0"
    return replace(
        ZONES,
        name=f"zones_{name}",
        env_id=env_id,
        environments=(replace(ZONES.environments[0], id=env_id, kwargs={"colours": count}),),
        demo=next(iter(tasks)),
        encoder=f"skm_sim.zones.encoder:{name.upper()}_COLOURS",
        objects=objects(count),
        validation=f"skm_sim.zones.trials:{name.upper()}_SKILL_TRIALS",
        trials=f"skm_sim.zones.trials:{name.upper()}_TRIALS",
        team="",
        skills_of=ZONES.name,
        settings={**ZONES.settings, "horizon": 640_000},
        propositions=Arena(count).names,
        constraints=Arena(count).names,
        tasks=task_table(
            Task(task, formula, repeat=False, max_steps=MAX_STEPS)
            for task, formula in tasks.items()
        ),
    )


ZONES_TWO = _of_colours("two", 2, TWO_TASKS)
ZONES_SIX = _of_colours("six", 6, _drawn_tasks("six", 6))
ZONES_EIGHT = _of_colours("eight", 8, _drawn_tasks("eight", 8))
ZONES_TEN = replace(_of_colours("ten", 10, _drawn_tasks("ten", 10)), demo="ten3")
"""Twenty zones in the arena of eight; a goal is one of ten colours with any of the others avoided."""

ZONES_RAW = replace(
    ZONES,
    name="zones_raw",
    encoder="skm_sim.zones.encoder:RawZonesEncoder",
    objects=RAW_OBJECTS,
    checkpoint="",
)
"""The four colours seen by the lidars' bins as they are, as the peers see them: a variant to compare."""
