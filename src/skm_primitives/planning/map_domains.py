"""Making a domain of a map: the building, its skills and its picture, in a folder."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.policy import Policy
from skm_primitives.skills import checkpoint
from skm_primitives.skills.known_skills import LEARNER, compute_skills
from skm_sim.maps.actions import check_actions, read_actions
from skm_sim.maps.building import Building, make_building
from skm_sim.maps.env import building_model
from skm_sim.maps.places import read_places
from skm_sim.maps.spec import (
    ACTIONS,
    MAP,
    PICTURE,
    PLACES,
    SKILLS,
    is_map_folder,
    settings_from,
    write_building,
)
from skm_sim.maps.yaml_file import MapError
from skm_sim.spec import DomainSpec


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
            "actions": [spec.name for spec in building.actions],
            "facts": list(building.facts),
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
    actions: Path | None = None,
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
    if of_its_own and actions is None and (folder / ACTIONS).is_file():
        actions = folder / ACTIONS
    given_actions = () if actions is None else read_actions(actions)
    check_actions(given_actions, file.places.names, str(actions))
    building = replace(make_building(map_path, file), actions=given_actions)
    card = write_building(building, map_path, places_path, folder, actions)
    skills = checkpoint.Card(card.name, LEARNER, command, seed=0, steps=0)
    arrays = compute_skills(building_model(building))
    if building.file.robot_margin > 0:
        arrays["near"] = np.tile(building.near, 1 << len(building.facts))
    checkpoint.save(folder / SKILLS, arrays, skills)
    if picture:
        title = f"{card.name}: {building.floor.num_cells} cells of {building.file.cell:g} m"
        from skm_sim.maps.drawing import building_figure  # noqa: PLC0415 (matplotlib is slow)

        building_figure(building, title).savefig(folder / PICTURE, dpi=110)
    return MadeMap(folder, building, time.perf_counter() - began)


# How far a mission takes a robot in its building, in metres and seconds, before anything moves.


STARTS: Final = 60
"""From how many cells the ways are followed."""
FEW_STARTS: Final = 20
"""From how many of them it is found out whether deadlines can be met."""
SEED: Final = 0


@dataclass(frozen=True)
class Journeys:
    """The ways that the planner takes, from cells all over the building."""

    possible: float
    """The share of cells from which the mission can be done."""
    metres: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Least, mean and most, to the end of the mission or of its first round."""
    legs: tuple[tuple[int, float], ...] = ()
    """For each machine state, the mean metres until the machine moves on."""
    speed: float = 1.0
    in_time: float | None = None
    """The share of some starts from which no deadline passes, at that speed; None: it has none."""

    def document(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return it as JSON."""
        least, mean, most = self.metres
        return {
            "possible": self.possible,
            "metres": {"least": least, "mean": mean, "most": most},
            "seconds": {
                key: value / self.speed
                for key, value in zip(("least", "mean", "most"), self.metres, strict=True)
            },
            "speed": self.speed,
            **({} if self.in_time is None else {"in_time": self.in_time}),
            "legs": [
                {"state": names[state], "metres": metres, "seconds": metres / self.speed}
                for state, metres in self.legs
            ],
        }


def building_of(spec: DomainSpec) -> Building | None:
    """Return the building of a domain on a map; None of other domains."""
    env = spec.make()
    building = getattr(env.unwrapped, "building", None)
    env.close()
    return building if isinstance(building, Building) else None


def on_building(spec: DomainSpec, policy: Policy | None) -> Journeys | None:
    """Return how far a mission is in its building, by the policy that would carry it out.

    None in other domains, and where the way depends on events or commitments.
    """
    if not isinstance(policy, ProductPolicy) or not np.isfinite(policy.steps).any():
        return None
    building = building_of(spec)
    return None if building is None else journeys(building, policy)


def journeys(building: Building, policy: ProductPolicy) -> Journeys:
    """Follow the ways of a plan from cells that are drawn at random, the same each time."""
    lengths = np.array([policy.steps_from(cell) for cell in range(building.floor.num_cells)])
    possible = np.flatnonzero(np.isfinite(lengths))
    rng = np.random.default_rng(SEED)
    starts = rng.choice(possible, min(STARTS, len(possible)), replace=False)
    totals, legs = [], []
    lengths_of = np.append(building.floor.step_lengths, np.zeros(len(building.actions)))
    for start in starts.tolist():
        way = policy.way_from(start)
        metres = lengths_of[[action for _, _, action in way]]
        totals.append(float(metres.sum()))
        legs.append((np.array([state for state, _, _ in way]), metres))
    states = dict.fromkeys(int(state) for found, _ in legs for state in found)
    means = tuple(
        (state, float(np.mean([m[s == state].sum() for s, m in legs if (s == state).any()])))
        for state in states
    )
    least, mean, most = min(totals), float(np.mean(totals)), max(totals)
    share = len(possible) / building.floor.num_cells
    speed = building.file.robot_speed
    in_time = policy.share_in_time(starts[:FEW_STARTS].tolist(), building.floor.cell / speed)
    return Journeys(share, (least, mean, most), means, speed, in_time)
