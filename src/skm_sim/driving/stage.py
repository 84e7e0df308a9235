"""Where a robot is driven: through a map, or in the part of a domain's own robot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gymnasium.spaces import Discrete, Space

from skm_machine.errors import SkmError
from skm_sim.driving.drive import drive_in
from skm_sim.driving.path_following import Chassis
from skm_sim.driving.robot_drive import Driving, Manner
from skm_sim.driving.role_drive import Role, RoleDrive
from skm_sim.driving.velocities import Limits
from skm_sim.maps.map_folder import is_map_folder, load_building
from skm_sim.maps.map_scene import building_scene
from skm_sim.maps.places import Places
from skm_sim.registry import get_domain
from skm_sim.shapes import Shape

USUAL_RADIUS: Final = 0.22


@dataclass(frozen=True)
class Stage:
    """What a bridge needs to know of a domain, and the drive through it."""

    places: Places
    """Where each proposition holds."""
    observation_space: Space[Any]
    action_space: Space[Any]
    scene: list[Shape]
    """For views; its robot is to be moved."""
    drive: Driving


def make_stage(
    domain: str, objects: str, axle: float, radius: float, limits: Limits, manner: Manner
) -> Stage:
    """Return the stage of a domain: a folder of `skm map`, or one whose robot can be played.

    `objects` is a file that says where things are, for the latter; `radius` 0 is the domain's own.
    """
    if not domain:
        raise SkmError("the bridge needs a domain on a map; `skm map` makes one")
    if is_on_map(domain):
        building = load_building(domain)
        chassis = Chassis(axle, radius or building.file.robot_radius)
        cells, actions = building.floor.moves.shape
        return Stage(
            building.places,
            Discrete(cells),
            Discrete(actions),
            building_scene(building, (0.0, 0.0)),
            drive_in(building, chassis, limits, manner),
        )
    if not objects:
        raise SkmError(
            f"on a robot, the domain '{domain}' needs the parameter objects: a file that says where"
            " things are; docs/robots.md shows one"
        )
    role: Role = get_domain(domain).part("role")(Path(objects))
    drive = RoleDrive(role, Chassis(axle, radius or USUAL_RADIUS), limits, manner)
    return Stage(role.places, role.observation_space, role.action_space, role.scene(), drive)


def is_on_map(domain: str) -> bool:
    """Tell whether a domain is a folder of `skm map`; else it must say how a robot plays its part."""
    if is_map_folder(Path(domain)):
        return True
    try:
        found = get_domain(domain)
    except SkmError:
        return True  # then there is no such folder, which is what will be said
    if not found.role:
        raise SkmError(
            f"the domain '{domain}' is on no map, and says nothing of how a real robot could play"
            " its part: the bridge drives in domains of `skm map`, and in those with a `role`"
        )
    return False
