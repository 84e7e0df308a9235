"""The Safety arena as shapes for 3D views: regions, buttons, the cylinder, the robot."""

from __future__ import annotations

from skm_sim.arrays import FloatArray
from skm_sim.safety.layout import ARENA, Layout
from skm_sim.scene import Shape

FLOOR = (0.98, 0.97, 0.94, 1.0)
REGION = (0.36, 0.55, 0.94, 0.45)
BUTTON = (0.31, 0.62, 0.29, 1.0)
BUTTON_REACH = (0.31, 0.62, 0.29, 0.14)
CYLINDER = (0.82, 0.20, 0.36, 0.75)
ROBOT = (0.13, 0.16, 0.19, 1.0)
NOSE = (0.97, 0.70, 0.40, 1.0)
INK = (0.35, 0.36, 0.38, 1.0)


def safety_scene(layout: Layout, pose: FloatArray, label_radius: float) -> list[Shape]:
    """Return the floor, every object with its name and with the disc where it counts, the robot."""
    edge, reach = 2 * (ARENA + 0.25), 2 * label_radius
    shapes = [Shape("floor", "cube", (0.0, 0.0, -0.05), (edge, edge, 0.1), FLOOR)]
    for x, y in layout.regions.tolist():
        shapes.append(Shape("region", "cylinder", (x, y, 0.01), (reach, reach, 0.02), REGION))
        shapes.append(_name("region", x, y))
    for index, (x, y) in enumerate(layout.buttons.tolist()):
        disc = (reach, reach, 0.02)
        shapes.append(Shape("button_reach", "cylinder", (x, y, 0.02), disc, BUTTON_REACH))
        shapes.append(Shape("button", "sphere", (x, y, 0.1), (0.2, 0.2, 0.2), BUTTON))
        if index == int(layout.cylinder):
            size = (0.32, 0.32, 0.4)
            shapes.append(Shape("cylinder", "cylinder", (x, y, 0.2), size, CYLINDER))
        name = "cylinder" if index == int(layout.cylinder) else "button"
        shapes.append(_name(name, x, y - label_radius - 0.1))
    x, y, heading = pose.tolist()
    return [
        *shapes,
        Shape("robot", "sphere", (x, y, 0.45), (0.2, 0.2, 0.2), ROBOT, heading),
        Shape("robot", "arrow", (x, y, 0.55), (0.2, 0.1, 0.1), NOSE, heading),
    ]


def _name(text: str, x: float, y: float) -> Shape:
    return Shape("names", "text", (x, y, 0.5), (0, 0, 0.12), INK, text=text)
