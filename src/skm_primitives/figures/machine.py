"""A machine's picture as a figure, for formats other than SVG: one unit of the canvas is a point."""

from __future__ import annotations

from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path as Outline
from matplotlib.patheffects import withStroke

from skm_machine.drawing.canvas import Canvas, Card, Circle, Dot, Part, Path, Text, text_width
from skm_machine.drawing.svg import MUTED, arrow_corners, shortened

LETTERS: Final = 0.86
"""Matplotlib's own letters are wider than those that the picture was laid out for."""


def machine_figure(canvas: Canvas) -> Figure:
    """Return the figure, as large as its content."""
    left, top, width, height = canvas.box
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(left, left + width), ylim=(top + height, top))
    axes.axis("off")
    order = 0
    for group in canvas.groups:
        for part in group.parts:
            order += 1
            _add(axes, part, order)
    return figure


def _add(axes: Axes, part: Part, order: int) -> None:
    match part:
        case Path():
            _add_path(axes, part, order)
        case Circle(tone, x, y, radius, width):
            look = {"facecolor": tone.fill, "edgecolor": tone.outline, "linewidth": width}
            axes.add_patch(CirclePatch((x, y), radius, zorder=order, **look))
        case Dot(tone, x, y, radius):
            axes.add_patch(CirclePatch((x, y), radius, color=tone.line, zorder=order))
        case Card(tone, x, y, across, down):
            box = FancyBboxPatch(
                (x - across + 14, y - down + 14),
                2 * across - 28,
                2 * down - 28,
                boxstyle="round,pad=14,rounding_size=14",
                facecolor=tone.fill,
                edgecolor=tone.outline,
                linewidth=1.6,
                zorder=order,
            )
            axes.add_patch(box)
        case Text():
            _add_text(axes, part, order)


def _add_path(axes: Axes, path: Path, order: int) -> None:
    pieces = [list(piece) for piece in path.pieces]
    if path.arrow:
        axes.add_patch(Polygon(arrow_corners(pieces[-1]), color=path.tone.line, lw=0, zorder=order))
        pieces[-1] = shortened(pieces[-1])
    points, codes = [pieces[0][0]], [Outline.MOVETO]
    for piece in pieces:
        points += piece[1:]
        codes += [Outline.LINETO if len(piece) == 2 else Outline.CURVE4] * (len(piece) - 1)
    line = PathPatch(
        Outline(points, codes),
        fill=False,
        edgecolor=path.tone.line,
        linewidth=path.width,
        linestyle=(0, (5 / path.width, 4 / path.width)) if path.dashed else "-",
        alpha=path.opacity,
        zorder=order,
    )
    axes.add_patch(line)


def _add_text(axes: Axes, text: Text, order: int) -> None:
    effects = [withStroke(linewidth=4, foreground="white")] if text.halo else []
    weight = "bold" if text.bold else "normal"
    line = f"{text.words} {text.text}" if text.words else text.text
    width = text_width(line, text.size, bold=text.bold)
    x = text.x - width / 2 if text.anchor == "middle" and text.words else text.x
    common: dict[str, Any] = {"fontsize": LETTERS * text.size, "va": "baseline", "zorder": order}
    if text.words:
        axes.text(x, text.y, text.words, color=MUTED, ha="left", **common)
        x += text_width(f"{text.words} ", text.size)
    side = "left" if text.words or text.anchor == "start" else "center"
    axes.text(
        x, text.y, text.text, color=text.tone.text, ha=side, weight=weight,
        path_effects=effects, **common,
    )  # fmt: skip
