"""Making a domain of a map: the building, its skills and its picture, in a folder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skm_primitives import checkpoint
from skm_primitives.known.known_primitives import LEARNER, compute_skills
from skm_sim.maps.building import Building, make_building
from skm_sim.maps.environment import building_model
from skm_sim.maps.map_drawing import building_figure
from skm_sim.maps.map_folder import (
    MAP,
    PICTURE,
    PLACES,
    SKILLS,
    is_map_folder,
    settings_from,
    write_building,
)
from skm_sim.maps.places_file import read_places
from skm_sim.maps.yaml_file import MapError


@dataclass(frozen=True, eq=False)
class MadeMap:
    """What was made of a map."""

    folder: Path
    building: Building
    seconds: float

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        building = self.building
        width, height = building.occupancy.size
        return {
            "folder": str(self.folder),
            "cells": building.floor.num_cells,
            "cell": building.file.cell,
            "neighbours": building.file.neighbours,
            "robot_radius": building.file.robot_radius,
            "free_pixels": int(building.occupancy.free.sum()),
            "width": width,
            "height": height,
            "label_sets": sorted(sorted(labels) for labels in building.label_sets),
            "unreachable": list(building.unreachable),
            "reasons": building.unreachable,
            "seconds": self.seconds,
        }


def make_map_domain(
    map_path: Path,
    places_path: Path,
    folder: Path,
    *,
    cell: float | None = None,
    robot_radius: float | None = None,
    neighbours: int | None = None,
    picture: bool = True,
    overwrite: bool = False,
    command: str = "skm map",
) -> MadeMap:
    """Make the folder of a domain on a map; what is given here goes before the places file.

    A domain that is there is replaced only with `overwrite`, or if it is made again of its own map and
    places; other files never are.
    """
    began = time.perf_counter()
    given = {"cell": cell, "robot_radius": robot_radius}
    for name, value in given.items():
        if value is not None and not 0 < value < float("inf"):
            raise MapError(f"{name.replace('_', ' ')} must be greater than 0, not {value}.")
    if folder.exists() and not folder.is_dir():
        raise MapError(f"{folder} is a file; --out names a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not is_map_folder(folder):
        raise MapError(f"{folder} holds other files: name a new folder, or one that skm map made.")
    of_its_own = (map_path.resolve(), places_path.resolve()) == (
        (folder / MAP).resolve(),
        (folder / PLACES).resolve(),
    )  # then all that is replaced was made of these files, and is made of them again
    if is_map_folder(folder) and not overwrite and not of_its_own:
        raise MapError(f"{folder} holds a domain; --overwrite replaces it.")
    file = settings_from(read_places(places_path), **given, neighbours=neighbours)
    building = make_building(map_path, file)
    card = write_building(building, map_path, places_path, folder)
    skills = checkpoint.Card(card.name, LEARNER, command, seed=0, steps=0)
    arrays = compute_skills(building_model(building))
    if building.file.robot_margin > 0:
        arrays["near"] = building.near
    checkpoint.save(folder / SKILLS, arrays, skills)
    if picture:
        title = f"{card.name}: {building.floor.num_cells} cells of {building.file.cell:g} m"
        building_figure(building, title).savefig(folder / PICTURE, dpi=110)
    return MadeMap(folder, building, time.perf_counter() - began)
