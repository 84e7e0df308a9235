"""A real robot in the part of the point robot: the 60 numbers from its pose and from known objects.

The objects are said in a YAML file, in metres:

    buttons: [[1.4, 0], [-1.4, 0], [0, 1.4], [0, -1.4]]     # one to four
    regions: [[0, 0], [0, 1.4]]                             # one or two
    cylinder: 0                                             # the button that it stands on, from 0
    origin: [0, 0, 0]                                       # x, y, yaw of the arena's middle on the map

Nothing has to stand there: a button, as the robot knows it, is a place. What the point robot would feel,
and where an action would take it, is said by the domain's own physics, set to where the real robot is
and to how it moves; only what it would bump into is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from skm_sim.arrays import FloatArray
from skm_sim.maps.places import Circle, Places
from skm_sim.maps.yaml_file import MapError, check_keys, numbers, read_yaml
from skm_sim.robots.pose import Velocity, combined, inverse
from skm_sim.robots.walls import Pose
from skm_sim.safety.env import (
    TIMESTEP,
    SafetyPhysics,
    object_positions,
    observation_space,
    pseudo_lidar,
)
from skm_sim.safety.layout import ARENA, BUTTONS, LABEL_RADIUS, REGIONS, Layout
from skm_sim.safety.scene import safety_scene
from skm_sim.safety_gym.physics import SUBSTEPS, action_space, check_actions
from skm_sim.scene import Shape

KEYS: Final = ("buttons", "regions", "cylinder", "origin")
VELOCIMETER, MAGNETOMETER = slice(3, 6), slice(9, 12)
FIELD: Final = 0.5
"""Of the magnetometer's field, which points to −y."""


def read_objects(path: Path) -> tuple[Layout, Pose]:
    """Return where the objects are, and where the arena is, from a file."""
    found = read_yaml(path)
    check_keys(found, KEYS, str(path))
    buttons = _points(found, "buttons", BUTTONS, path)
    regions = _points(found, "regions", REGIONS, path)
    cylinder = found.get("cylinder", 0)
    if isinstance(cylinder, bool) or not isinstance(cylinder, int):
        raise MapError(f"{path}: cylinder must be the number of a button, not {cylinder!r}.")
    if not 0 <= cylinder < len(found["buttons"]):
        last = len(found["buttons"]) - 1
        raise MapError(f"{path}: cylinder is {cylinder}; it must be a button from 0 to {last}.")
    x, y, yaw = numbers(found.get("origin", [0, 0, 0]), "x, y, yaw", f"{path}: origin")
    return Layout(np.zeros(3), buttons, regions, np.array(cylinder)), (x, y, yaw)


def _points(found: dict[str, object], name: str, most: int, path: Path) -> FloatArray:
    """Return so many points; where fewer are given, the last one stands for the rest."""
    given = found.get(name)
    if not isinstance(given, list) or not 1 <= len(given) <= most:
        raise MapError(f"{path}: {name} must be a list of 1 to {most} points [x, y].")
    points = [numbers(point, "x, y", f"{path}: {name}") for point in given]
    if any(max(abs(x), abs(y)) > ARENA for x, y in points):
        raise MapError(
            f"{path}: {name}: points must lie within {ARENA:g} m of the arena's middle, which"
            " `origin` puts elsewhere."
        )
    return np.array(points + points[-1:] * (most - len(points)))


class SafetyEmbodiment:
    """The point robot's part; see the module, and `skm_sim.robots.embodiment.Embodiment`."""

    step_seconds = SUBSTEPS * TIMESTEP

    def __init__(self, objects: Path) -> None:
        self._layout, self._origin = read_objects(objects)
        self.observation_space, self.action_space = observation_space(), action_space()
        here = {
            "button": self._layout.buttons,
            "cylinder": self._layout.cylinder_position[None],
            "region": self._layout.regions,
        }
        self.places = Places({name: self._circles(points) for name, points in here.items()})
        self._objects = object_positions(self._layout[None])
        self._physics = SafetyPhysics(1)
        self.restart()

    @staticmethod
    def trial(options: Mapping[str, Any]) -> tuple[str, Pose]:
        """Return the file of objects, and the robot's start, of an arena to reset the domain with."""
        layout: Layout = options["layout"]
        x, y, heading = layout.robot.tolist()
        found = layout.as_dict()
        del found["robot"]
        return yaml.safe_dump(found), (x, y, heading)

    def _circles(self, points: FloatArray) -> tuple[Circle, ...]:
        placed = [combined(self._origin, (x, y, 0.0)) for x, y in points.tolist()]
        return tuple(Circle(x, y, LABEL_RADIUS) for x, y, _ in dict.fromkeys(placed))

    def restart(self) -> None:
        """Forget what was felt: the robot stands."""
        self._physics.reset(np.ones(1, np.bool_), self._layout[None])
        self._physics.lift_buttons()

    def observe(self, pose: Pose, velocity: Velocity) -> FloatArray:
        """Return the 60 numbers: what the last action made it feel, how it moves, what is where."""
        x, y, heading = combined(inverse(self._origin), pose)
        sensors = self._physics.sensors[0].copy()
        sensors[VELOCIMETER] = velocity.speed, 0.0, 0.0
        sensors[MAGNETOMETER] = -FIELD * math.sin(heading), -FIELD * math.cos(heading), 0.0
        lidar = pseudo_lidar(np.array([[x, y, heading]]), self._objects)
        return np.concatenate([sensors, lidar[0]])

    def ahead(self, pose: Pose, velocity: Velocity, action: FloatArray) -> Pose:
        """Return where the point robot would be a step later."""
        x, y, heading = combined(inverse(self._origin), pose)
        state = self._physics.state[0]
        state[1:4] = x, y, heading
        state[4:6] = velocity.speed * math.cos(heading), velocity.speed * math.sin(heading)
        self._physics.step(check_actions(action, (2,))[None])
        x, y, heading = self._physics.pose[0].tolist()
        return combined(self._origin, (x, y, heading))

    def scene(self) -> list[Shape]:
        """Return the arena as shapes, with the robot in its middle."""
        shapes = safety_scene(self._layout, np.zeros(3), LABEL_RADIUS)
        return [_placed(shape, self._origin) for shape in shapes]


def _placed(shape: Shape, origin: Pose) -> Shape:
    x, y, z = shape.position
    x, y, heading = combined(origin, (x, y, shape.heading))
    return replace(shape, position=(x, y, z), heading=heading)
