"""The world as simple shapes, for 3D views such as RViz.

A domain that has such a view gives its environment a method `scene() -> Sequence[Shape]`.
Its first shape of the group `robot` says where the robot is: pictures of a run follow that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["cube", "sphere", "cylinder", "arrow", "text"]
Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """One shape; shapes of one group are told apart by their place in the scene."""

    group: str
    """What it is: `wall`, `robot`, `coffee`."""
    kind: Kind
    position: Triple
    """Its centre, in metres: x to the right, y up on the map, z towards the viewer."""
    size: Triple
    """Its extent along x, y and z in metres; of text, the last is the height of a capital letter."""
    colour: tuple[float, float, float, float]
    """Red, green, blue and opacity, each from 0 to 1."""
    heading: float = 0.0
    """Turned about z by so many radians, from x towards y."""
    text: str = ""
