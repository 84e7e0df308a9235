"""The film of a run: its picture as it grows, frame by frame, in seconds.

What never changes is drawn once, by matplotlib; each frame then gets what moves, and the path so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image, ImageDraw, ImageFont

from skm_primitives.figures.run_picture import (
    INK,
    PATH_POINTS,
    RecordedRun,
    run_figure,
    state_at,
    state_colour,
)
from skm_sim.arrays import FloatArray
from skm_sim.shapes import Shape
from skm_sim.top_view import outline_of, top_of

DPI: Final = 90
FINER: Final = 2
"""Frames are drawn so much larger, and made smaller then: smooth edges."""
CORNERS: Final = 40
"""Corners of a circle."""

ToPixels = Callable[[FloatArray], FloatArray]


def film_frames(run: RecordedRun, scenes: Sequence[Sequence[Shape]]) -> list[Image.Image]:
    """Return a frame for every state; `scenes` has the world in each of them."""
    still = [shape for shape in scenes[0] if all(shape in scene for scene in scenes[1:])]
    kept = set(still)
    figure = run_figure(replace(run, scene=scenes[0], gone=()), shown=still)
    figure.set_dpi(DPI * FINER)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    ground = Image.fromarray(np.asarray(pixels)).convert("RGB")
    to_data: Any = figure.axes[0].transData

    def to_pixels(points: FloatArray) -> FloatArray:
        placed: FloatArray = to_data.transform(points)
        placed[:, 1] = ground.height - placed[:, 1]
        return placed

    pen = _Pen(run, ground, to_pixels)
    return [
        pen.frame(number, [shape for shape in scene if shape not in kept])
        for number, scene in enumerate(scenes)
    ]


class _Pen:
    """Draws frames over the ground that all of them share."""

    def __init__(self, run: RecordedRun, ground: Image.Image, to_pixels: ToPixels) -> None:
        self._run, self._ground, self._to_pixels = run, ground, to_pixels
        places = np.array([(place.x, place.y) for place in run.path]).reshape(-1, 2)
        self._path = to_pixels(places) if len(places) else places
        self._width = round(PATH_POINTS * DPI * FINER / 72)
        self._colours = [state_colour(run, state_at(run, place.step)) for place in run.path]
        font = font_manager.findfont("DejaVu Sans")
        self._font = ImageFont.truetype(font, round(9 * DPI * FINER / 72))

    def frame(self, number: int, moving: Sequence[Shape]) -> Image.Image:
        """Return the frame of one state."""
        image = self._ground.copy()
        draw = ImageDraw.Draw(image, "RGBA")
        for shape in sorted(moving, key=top_of):
            self._shape(draw, shape)
        points = [tuple(point) for point in self._path[: number + 1].tolist()]
        if len(points) > 1:
            draw.line(points, fill="white", width=self._width + 4, joint="curve")
            for start, end, colour in zip(points, points[1:], self._colours, strict=False):
                draw.line([start, end], fill=colour, width=self._width)
        if points:
            x, y = points[-1]
            size = 2 * self._width
            box = [x - size, y - size, x + size, y + size]
            draw.ellipse(box, fill=self._colours[number], outline="white", width=3)
        state = self._run.mission.machine.names[state_at(self._run, number)]
        corner = image.width - 12, 12
        draw.text(corner, f"step {number}, {state}", fill=INK, font=self._font, anchor="ra")
        return image.reduce(FINER)

    def _shape(self, draw: ImageDraw.ImageDraw, shape: Shape) -> None:
        colour = tuple(round(255 * part) for part in shape.colour)
        if shape.kind == "text":
            place = self._to_pixels(np.array([shape.position[:2]]))[0].tolist()
            draw.text(place, shape.text, fill=colour, font=self._font, anchor="mm")
            return
        corners = outline_of(shape)
        if shape.kind in ("sphere", "cylinder"):
            angles = np.linspace(0, 2 * np.pi, CORNERS)
            radii = np.array(shape.size[:2]) / 2
            corners = np.stack([np.cos(angles), np.sin(angles)], 1) * radii + shape.position[:2]
        draw.polygon([tuple(p) for p in self._to_pixels(corners).tolist()], fill=colour)
