"""A scene of shapes drawn from above with matplotlib: what RViz shows in 3D, on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, Patch, Polygon

from skm_sim.arrays import FloatArray
from skm_sim.shapes import Shape

LARGEST_TEXT: Final = 9.0
POINTS_PER_METRE: Final = 62.0
"""Size of text in an arena of a few metres; wider scenes have smaller text."""
REFERENCE_WIDTH: Final = 4.5
FADED: Final = 0.22
"""Opacity of what is gone."""
FADED_EDGE: Final = 0.7
"""Its edge is the shape's colour, darker by this factor."""
OVER_EVERYTHING: Final = 10.0
"""Drawing order of what is above all shapes."""


def extent(scene: Sequence[Shape]) -> FloatArray:
    """Return the lowest and the highest x and y of a scene."""
    corners = [outline_of(shape) for shape in scene if shape.kind != "text"]
    every = np.concatenate(corners) if corners else np.array([[0.0, 0.0], [1.0, 1.0]])
    return np.array([every.min(axis=0), every.max(axis=0)])


def draw_scene(axes: Axes, scene: Sequence[Shape], gone: Sequence[Shape] = ()) -> None:
    """Draw shapes into `axes`, the highest last; what is gone is pale, with a dashed edge."""
    low, high = extent(scene)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_aspect("equal")
    axes.axis("off")
    scale = POINTS_PER_METRE * REFERENCE_WIDTH / max(high - low)
    drawn = [*((shape, True) for shape in gone), *((shape, False) for shape in scene)]
    for shape, is_gone in sorted(drawn, key=lambda entry: top_of(entry[0])):
        if shape.kind == "text":
            size = min(LARGEST_TEXT, shape.size[2] * scale)
            x, y, _ = shape.position
            axes.text(x, y, shape.text, size=size, color=shape.colour, ha="center", va="center")
        else:
            axes.add_patch(_patch(shape, is_gone=is_gone))


def gone_look(colour: Sequence[float]) -> dict[str, Any]:
    """Return how a shape of this colour is drawn where it no longer is, as options of a patch."""
    red, green, blue = colour[:3]
    edge = (FADED_EDGE * red, FADED_EDGE * green, FADED_EDGE * blue)
    look = {"linestyle": (0, (3, 2)), "linewidth": 1.1}
    return {"facecolor": (red, green, blue, FADED), "edgecolor": edge, **look}


def top_of(shape: Shape) -> float:
    """Return how high a shape reaches: higher ones are drawn later."""
    return shape.position[2] + shape.size[2] / 2


def _patch(shape: Shape, *, is_gone: bool) -> Patch:
    x, y, _ = shape.position
    look: dict[str, Any] = {"facecolor": shape.colour, "linewidth": 0.0}
    if is_gone:
        look = gone_look(shape.colour)
    if shape.kind in ("sphere", "cylinder"):
        angle = float(np.degrees(shape.heading))
        return Ellipse((x, y), shape.size[0], shape.size[1], angle=angle, **look)
    return Polygon(outline_of(shape), **look)


def outline_of(shape: Shape) -> FloatArray:
    """Return corners of a shape from above: those of an arrow, else of a rectangle around it."""
    length, width = shape.size[0], shape.size[1]
    if shape.kind == "arrow":
        corners = np.array([[0, -width / 2], [length, 0], [0, width / 2]])
    else:
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (length / 2, width / 2)
    cosine, sine = np.cos(shape.heading), np.sin(shape.heading)
    turned: FloatArray = corners @ np.array([[cosine, sine], [-sine, cosine]])
    return turned + shape.position[:2]
