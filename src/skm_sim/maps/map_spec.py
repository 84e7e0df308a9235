"""The `DomainSpec` of a domain on a map, made from its folder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from skm_sim.domain import DomainSpec, Registration, Task, task_table
from skm_sim.maps.map_folder import PLACES as PLACES_FILE
from skm_sim.maps.map_folder import SKILLS, read_card
from skm_sim.maps.places_file import read_places

GAMMA: Final = 0.99
"""A robot's way is some hundred cells long: with 0.9 a value would soon be nothing."""
STEPS: Final = 20_000
TOUR: Final = 3
"""How many places the demo goes to."""


def map_domain(folder: Path) -> DomainSpec:
    """Return the domain in a folder that `skm map` made."""
    path = folder.resolve()
    card = read_card(path)
    file = read_places(path / PLACES_FILE)
    key = hashlib.sha256(f"{path}\0{card.digest}\0{card.cell}".encode()).hexdigest()[:16]
    env_id = f"skm/Map{key}-v0"
    return DomainSpec(
        name=card.name,
        env_id=env_id,
        propositions=file.places.names,
        constraints=file.constraints,
        gamma=GAMMA,
        step_seconds=card.cell / card.robot_speed,
        primitive_steps=STEPS,
        tasks=task_table([_tour(card.label_sets, file.constraints)]),
        environments=(
            Registration(
                env_id,
                entry_point="skm_sim.maps.environment:MapEnv",
                vector_entry_point="skm_sim.maps.environment:MapVectorEnv",
                max_episode_steps=STEPS,
                kwargs={"folder": str(path)},
            ),
        ),
        checkpoint=str(path / SKILLS),
        server="skm_primitives.known.known_primitives:load",
        figures={"values": "skm_sim.maps.map_figures:draw_values"},
    )


def _tour(label_sets: tuple[tuple[str, ...], ...], constraints: tuple[str, ...]) -> Task:
    """Return the demo: to a few places, one after the other, and into none that is a constraint."""
    shown = dict.fromkeys(name for names in label_sets for name in names)
    places = [name for name in shown if name not in constraints][:TOUR] or list(shown)[:1]
    formula = f"F {places[-1]}"
    for name in reversed(places[:-1]):
        formula = f"F({name} & X {formula})"
    avoided = [f"G !{name}" for name in constraints if name in shown and name not in places]
    return Task("tour", " & ".join([formula, *avoided]), repeat=False, max_steps=STEPS)
