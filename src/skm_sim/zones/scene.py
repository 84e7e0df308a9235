"""The arena of coloured zones as shapes for 3D views."""

from __future__ import annotations

from typing import Final

from skm_sim.arrays import FloatArray
from skm_sim.scene import Shape
from skm_sim.zones.layout import COLOURS, Arena

FLOOR: Final = (0.98, 0.97, 0.94, 1.0)
WALL: Final = (0.24, 0.27, 0.33, 1.0)
ROBOT: Final = (0.13, 0.16, 0.19, 1.0)
NOSE: Final = (0.97, 0.70, 0.40, 1.0)
INK: Final = (0.35, 0.36, 0.38, 1.0)
PAINT: Final = {
    "blue": (0.20, 0.40, 0.90),
    "green": (0.20, 0.65, 0.30),
    "magenta": (0.85, 0.25, 0.70),
    "yellow": (0.93, 0.78, 0.15),
    "red": (0.85, 0.20, 0.20),
    "cyan": (0.20, 0.75, 0.80),
    "orange": (0.95, 0.55, 0.15),
    "purple": (0.45, 0.30, 0.70),
    "lime": (0.60, 0.85, 0.15),
    "teal": (0.10, 0.50, 0.50),
}
"""Red, green and blue of each colour."""
THICK: Final = 0.1
HIGH: Final = 0.3


def zones_scene(zones: FloatArray, pose: FloatArray) -> list[Shape]:
    """Return floor, walls, every zone with its name, and the robot."""
    arena = Arena(len(zones))
    wall, wide = arena.wall, 2 * arena.radius
    edge = 2 * wall
    around = edge + 2 * THICK
    shapes = [Shape("floor", "cube", (0.0, 0.0, -0.05), (edge, edge, 0.1), FLOOR)]
    off = wall + THICK / 2
    for x, y, width, depth in (
        (off, 0.0, THICK, edge),
        (-off, 0.0, THICK, edge),
        (0.0, off, around, THICK),
        (0.0, -off, around, THICK),
    ):
        shapes.append(Shape("wall", "cube", (x, y, HIGH / 2), (width, depth, HIGH), WALL))
    for name, pair in zip(COLOURS, zones.tolist(), strict=False):
        for x, y in pair:
            disc = (wide, wide, 0.02)
            shapes.append(Shape(name, "cylinder", (x, y, 0.01), disc, (*PAINT[name], 0.6)))
            shapes.append(Shape("names", "text", (x, y, 0.5), (0, 0, 0.12), INK, text=name))
    x, y, heading = pose.tolist()
    return [
        *shapes,
        Shape("robot", "sphere", (x, y, 0.45), (0.2, 0.2, 0.2), ROBOT, heading),
        Shape("robot", "arrow", (x, y, 0.55), (0.2, 0.1, 0.1), NOSE, heading),
    ]
