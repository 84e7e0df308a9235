"""A world as simple shapes, for 3D views such as RViz and for pictures (`scene_drawing`).

A domain that has such a view gives its environment a method `scene() -> Sequence[Shape]`, or names a
function of the environment in its spec. Its first shape of the group `robot` says where the robot is:
pictures of a run follow that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import gymnasium
import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.spec import DomainSpec

Kind = Literal["cube", "sphere", "cylinder", "arrow", "text"]
Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """One shape; shapes of one group are told apart by their place in the scene."""

    group: str
    """What it is: `wall`, `robot`, `coffee`."""
    kind: Kind
    """Its form."""
    position: Triple
    """Its centre, in metres: x to the right, y up on the map, z towards the viewer."""
    size: Triple
    """Its extent along x, y and z in metres; of text, the last is the height of a capital letter."""
    colour: tuple[float, float, float, float]
    """Red, green, blue and opacity, each from 0 to 1."""
    heading: float = 0.0
    """Turned about z by so many radians, from x towards y."""
    text: str = ""
    """What is written there, if it is text."""


def scene_of(spec: DomainSpec, env: gymnasium.Env[Any, Any]) -> Sequence[Shape]:
    """Return the world that an environment is in as shapes; none where the domain has no scene."""
    draw = spec.part("scene")
    if draw is not None:
        shapes: Sequence[Shape] = draw(env.unwrapped)
        return shapes
    own = getattr(env.unwrapped, "scene", None)
    return () if own is None else own()


WAY: Final = "way"
"""The group of the shapes that show the way that is planned."""
ROBOT_NAME: Final = "robot name"
"""The group of the names of robots, where there are several."""
WAY_COLOUR: Final = (0.07, 0.07, 0.07, 0.7)
MOST_DOTS: Final = 200
"""Of a longer way only every second, third, … place is shown."""


def way_shapes(points: FloatArray) -> list[Shape]:
    """Return a planned way as dots, in order; the last is where it ends."""
    stride = max(1, -(-len(points) // MOST_DOTS))
    shown = points[::-1][::stride][::-1]
    size = 0.2 * float(np.hypot(*(points[1] - points[0]))) if len(points) > 1 else 0.1
    return [
        Shape(WAY, "sphere", (float(x), float(y), 0.05), (size, size, size), WAY_COLOUR)
        for x, y in shown
    ]


def robot_place(scene: Sequence[Shape]) -> tuple[float, float] | None:
    """Return where the robot is in a scene, x and y; None if it is not shown."""
    robot = next((shape for shape in scene if shape.group == "robot"), None)
    return None if robot is None else robot.position[:2]
