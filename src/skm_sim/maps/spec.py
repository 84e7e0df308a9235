"""Domains on maps: the folder that `skm map` makes, and the `DomainSpec` made from it."""

from __future__ import annotations

import hashlib
import json
import reprlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_machine.documents import read_json
from skm_sim.maps.actions import check_actions, facts_of, read_actions
from skm_sim.maps.building import Building
from skm_sim.maps.floor import Floor
from skm_sim.maps.occupancy import image_of, read_map
from skm_sim.maps.places import PlacesFile, read_places
from skm_sim.maps.yaml_file import MapError, number
from skm_sim.spec import DomainSpec, Registration, Task, task_table

# Domains on maps as folders: the map, the places and all that was worked out of them, together.
#
#     hall/map.yaml, map.pgm|png   the map, as it was given
#     hall/places.yaml             the places file, as it was given
#     hall/actions.yaml            the robot's actions and labels, as they were given, if they were
#     hall/domain.json             what the domain is: its name, the settings in force, what was
#       found
#     hall/floor.npz               the cells and their moves
#     hall/skills.safetensors      the skills, with their card beside them
#     hall/picture.png             map, places and cells
#
# A folder stands alone and can be moved. `load_building` refuses one whose map or places have
# changed since it was made.


FORMAT: Final = "skm-map-domain"
VERSION: Final = 1
CARD: Final = "domain.json"
MAP, PLACES, FLOOR, SKILLS, PICTURE, ACTIONS = (
    "map.yaml", "places.yaml", "floor.npz", "skills.safetensors", "picture.png", "actions.yaml",
)  # fmt: skip

EXAMPLE: Final = Path(__file__).parent / "hall"
"""A map of our own making with its places, which comes with skm."""
EXAMPLE_MAP, EXAMPLE_PLACES = EXAMPLE / "hall.yaml", EXAMPLE / "places.yaml"


@dataclass(frozen=True)
class MapCard:
    """What `domain.json` says."""

    name: str
    digest: str
    """SHA-256 of map, image and places."""
    cell: float
    robot_radius: float
    robot_speed: float
    neighbours: int
    label_sets: tuple[tuple[str, ...], ...]
    """The label sets that cells show, sorted; the empty one among them."""


def is_map_folder(path: Path) -> bool:
    """Tell whether a folder holds a domain on a map."""
    return (path / CARD).is_file()


def write_building(
    building: Building,
    map_path: Path,
    places_path: Path,
    folder: Path,
    actions_path: Path | None = None,
) -> MapCard:
    """Write a folder with everything but skills and picture."""
    image = image_of(map_path)
    files = {
        MAP: _with_image(map_path.read_text(encoding="utf-8"), f"map{image.suffix}").encode(),
        f"map{image.suffix}": image.read_bytes(),
        PLACES: places_path.read_bytes(),
    }
    if actions_path is not None:
        files[ACTIONS] = actions_path.read_bytes()
    file, floor = building.file, building.floor
    shown = {tuple(sorted(labels)) for labels in building.label_sets}
    card = MapCard(
        folder.resolve().name,
        _digest(files),
        file.cell,
        file.robot_radius,
        file.robot_speed,
        file.neighbours,
        tuple(sorted(shown)),
    )
    document = {"format": FORMAT, "version": VERSION, **vars(card)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ACTIONS).unlink(missing_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        np.savez(
            folder / FLOOR, number=floor.number.astype(np.int32), moves=floor.moves.astype(np.int32)
        )
        (folder / CARD).write_text(
            json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
    except OSError as error:
        raise MapError(f"cannot write the domain {folder}: {error.strerror}.") from error
    return card


def _with_image(text: str, name: str) -> str:
    """Return a map's YAML with the image beside it."""
    lines = [f"image: {name}" if line.startswith("image:") else line for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def _digest(files: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(name.encode() + b"\0" + files[name] + b"\0")
    return total.hexdigest()


def read_card(folder: Path) -> MapCard:
    """Read what a folder says about itself."""
    try:
        found: dict[str, Any] = read_json((folder / CARD).read_text("utf-8"))
        if found.pop("format") != FORMAT:
            raise KeyError("format")
        if found.pop("version") != VERSION:
            raise MapError(f"{folder} was made by another version of skm: run `skm map` again.")
        return _checked(MapCard(**found))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MapError(
            f"{folder} is not a map domain, its {CARD} cannot be used: {error}"
        ) from error


def _checked(card: MapCard) -> MapCard:
    """Return a card whose entries are what they should be."""
    for name, kind in {"name": str, "digest": str, "label_sets": list}.items():
        if not isinstance(getattr(card, name), kind):
            raise TypeError(f"its {name} is {reprlib.repr(getattr(card, name))}")
    for name in ("cell", "robot_radius", "robot_speed"):
        number(getattr(card, name), f"its {name}", positive=True)
    if card.neighbours not in (4, 8):
        raise TypeError(f"its neighbours are {reprlib.repr(card.neighbours)}, not 4 or 8")
    sets: Any = card.label_sets
    names = [name for labels in sets for name in (labels if isinstance(labels, list) else [None])]
    if not sets or not all(isinstance(name, str) for name in names):
        raise TypeError("its label_sets are not lists of names")
    return replace(card, label_sets=tuple(map(tuple, sets)))


def load_building(folder: Path | str) -> Building:
    """Return the building in a folder that `skm map` made; read once for as long as it is the same."""
    path = Path(folder).resolve()
    try:
        stamp = (path / CARD).stat().st_mtime_ns
    except OSError:
        raise MapError(f"{path} holds no domain on a map; `skm map` makes one.") from None
    return _load(path, stamp)


@lru_cache(maxsize=8)
def _load(folder: Path, stamp: int) -> Building:  # noqa: ARG001 - part of the key
    card = read_card(folder)
    file = replace(
        read_places(folder / PLACES),
        cell=card.cell,
        robot_radius=card.robot_radius,
        robot_speed=card.robot_speed,
        neighbours=card.neighbours,
    )
    image = image_of(folder / MAP)
    try:
        names = (MAP, image.name, PLACES, *_actions_in(folder))
        files = {name: (folder / name).read_bytes() for name in names}
        with np.load(folder / FLOOR) as arrays:
            number, moves = arrays["number"].astype(np.int64), arrays["moves"].astype(np.int64)
    except (OSError, KeyError, ValueError) as error:
        raise MapError(
            f"the domain {folder} is not whole: {error}; run `skm map` again."
        ) from error
    if _digest(files) != card.digest:
        raise MapError(
            f"the map or the places in {folder} have changed since the domain was made: run"
            f" `skm map {folder / MAP} --places {folder / PLACES} --out {folder}` again."
        )
    occupancy = read_map(folder / MAP)
    positions = np.argwhere(number >= 0)
    positions = positions[np.argsort(number[number >= 0])]
    floor = Floor(occupancy.frame, card.cell, number, positions, moves)
    actions = read_actions(folder / ACTIONS) if _actions_in(folder) else ()
    check_actions(actions, file.places.names, str(folder / ACTIONS))
    return Building(occupancy, file, floor, actions)


def _actions_in(folder: Path) -> tuple[str, ...]:
    """Return the name of the file of actions, if the folder has one."""
    return (ACTIONS,) if (folder / ACTIONS).is_file() else ()


def settings_from(file: PlacesFile, **given: float | int | None) -> PlacesFile:
    """Return a places file with settings in force that were given beside it."""
    return replace(file, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]


# The `DomainSpec` of a domain on a map, made from its folder.


GAMMA: Final = 0.99
"""A robot's way is some hundred cells long: with 0.9 a value would soon be nothing."""
STEPS: Final = 20_000
TOUR: Final = 3
"""How many places the demo goes to."""


def map_domain(folder: Path) -> DomainSpec:
    """Return the domain in a folder that `skm map` made."""
    path = folder.resolve()
    card = read_card(path)
    file = read_places(path / PLACES)
    facts = facts_of(read_actions(path / ACTIONS)) if _actions_in(path) else ()
    key = hashlib.sha256(f"{path}\0{card.digest}\0{card.cell}".encode()).hexdigest()[:16]
    env_id = f"skm/Map{key}-v0"
    return DomainSpec(
        name=card.name,
        env_id=env_id,
        propositions=(*file.places.names, *facts),
        constraints=file.constraints,
        gamma=GAMMA,
        step_seconds=card.cell / card.robot_speed,
        primitive_steps=STEPS,
        tasks=task_table([_tour(card.label_sets, file.constraints)]),
        environments=(
            Registration(
                env_id,
                entry_point="skm_sim.maps.env:MapEnv",
                vector_entry_point="skm_sim.maps.env:MapVectorEnv",
                max_episode_steps=STEPS,
                kwargs={"folder": str(path)},
            ),
        ),
        checkpoint=str(path / SKILLS),
        server="skm_primitives.skills.known_skills:load",
        figures={"values": "skm_sim.maps.drawing:draw_values"},
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
