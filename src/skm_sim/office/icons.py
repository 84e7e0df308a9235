"""Small vector drawings of what stands in the office: cup, envelope, desk, plant, room letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Ellipse, FancyBboxPatch, Polygon
from matplotlib.transforms import Affine2D, Transform

COFFEE = "#6f4327"
MAIL = "#b57a12"
OFFICE = "#2f5d8a"
LEAF = "#3b8a4c"
POT = "#bf5f3c"
ROOM = "#5b4b8a"
PAPER = "#fffdf8"

Icon = Callable[[Axes, Transform, float], None]


def draw_icon(axes: Axes, proposition: str, x: float, y: float, alpha: float = 1.0) -> None:
    """Draw the object of a proposition into the unit cell around (x, y); y grows downwards."""
    # An icon is drawn with y upwards from -0.5 to 0.5, and flipped into the axes here.
    place = Affine2D().scale(1, -1).translate(x, y) + axes.transData
    _ICONS[proposition](axes, place, alpha)


def _polygon(
    axes: Axes, place: Transform, points: Sequence[tuple[float, float]], colour: str, alpha: float
) -> None:
    patch = Polygon(points, closed=True, fc=colour, ec="none", alpha=alpha, zorder=3)
    patch.set_transform(place)
    axes.add_artist(patch)


def _stroke(
    axes: Axes, place: Transform, points: Sequence[tuple[float, float]], colour: str, alpha: float
) -> None:
    # The width follows the size of a cell, so that small panels do not get fat icons.
    width = line_width(axes, 0.055)
    x, y = zip(*points, strict=True)
    axes.plot(
        x, y, color=colour, lw=width, alpha=alpha, zorder=3.1, transform=place,
        solid_capstyle="round", solid_joinstyle="round",
    )  # fmt: skip


def line_width(axes: Axes, cells: float) -> float:
    """Return the line width, in points, that is `cells` cells wide in these axes."""
    figure = axes.figure
    columns = abs(axes.get_xlim()[1] - axes.get_xlim()[0])
    inches = axes.get_position().width * figure.get_figwidth()  # type: ignore[union-attr]
    return float(cells * inches * 72 / columns)


def _coffee(axes: Axes, place: Transform, alpha: float) -> None:
    cup = [
        (-0.27, 0.12),
        (0.17, 0.12),
        (0.13, -0.27),
        (0.07, -0.33),
        (-0.17, -0.33),
        (-0.23, -0.27),
    ]
    _polygon(axes, place, cup, COFFEE, alpha)
    handle = Arc((0.17, -0.08), 0.22, 0.24, theta1=-100, theta2=100, color=COFFEE, alpha=alpha,
                 lw=line_width(axes, 0.06), zorder=3)  # fmt: skip
    handle.set_transform(place)
    axes.add_artist(handle)
    height = np.linspace(0.19, 0.38, 12)
    for x in (-0.15, 0.03):
        wave = x + 0.035 * np.sin((height - 0.19) / 0.19 * 2 * np.pi)
        _stroke(axes, place, list(zip(wave, height, strict=True)), COFFEE, alpha)


def _mail(axes: Axes, place: Transform, alpha: float) -> None:
    corners = [(-0.34, -0.23), (0.34, -0.23), (0.34, 0.23), (-0.34, 0.23)]
    _polygon(axes, place, corners, PAPER, alpha)
    _stroke(axes, place, [*corners, corners[0]], MAIL, alpha)
    _stroke(axes, place, [(-0.34, 0.23), (0, -0.04), (0.34, 0.23)], MAIL, alpha)


def _office(axes: Axes, place: Transform, alpha: float) -> None:
    _polygon(
        axes, place, [(-0.24, -0.02), (0.24, -0.02), (0.24, 0.34), (-0.24, 0.34)], OFFICE, alpha
    )
    _polygon(
        axes, place, [(-0.19, 0.03), (0.19, 0.03), (0.19, 0.29), (-0.19, 0.29)], "#cfe3f5", alpha
    )
    _polygon(
        axes, place, [(-0.04, -0.12), (0.04, -0.12), (0.04, -0.02), (-0.04, -0.02)], OFFICE, alpha
    )
    _polygon(
        axes, place, [(-0.38, -0.2), (0.38, -0.2), (0.38, -0.12), (-0.38, -0.12)], OFFICE, alpha
    )
    for x in (-0.32, 0.26):
        leg = [(x, -0.37), (x + 0.06, -0.37), (x + 0.06, -0.2), (x, -0.2)]
        _polygon(axes, place, leg, OFFICE, alpha)


def _decoration(axes: Axes, place: Transform, alpha: float) -> None:
    for x, y, angle in ((-0.15, 0.08, 38), (0.15, 0.08, -38), (0.0, 0.17, 0)):
        leaf = Ellipse((x, y), 0.19, 0.4, angle=angle, fc=LEAF, ec="none", alpha=alpha, zorder=3)
        leaf.set_transform(place)
        axes.add_artist(leaf)
    pot = [(-0.2, -0.1), (0.2, -0.1), (0.13, -0.37), (-0.13, -0.37)]
    _polygon(axes, place, pot, POT, alpha)


def _letter(name: str) -> Icon:
    def draw(axes: Axes, place: Transform, alpha: float) -> None:
        corners = "round,pad=0.08,rounding_size=0.14"
        tile = FancyBboxPatch((-0.25, -0.25), 0.5, 0.5, boxstyle=corners, zorder=3)
        tile.set(fc=ROOM, ec="none", alpha=alpha)
        tile.set_transform(place)
        axes.add_artist(tile)
        axes.text(
            0, -0.01, name, color="white", weight="bold", fontsize=line_width(axes, 0.5),
            ha="center", va="center_baseline", alpha=alpha, zorder=3.1, transform=place,
        )  # fmt: skip

    return draw


_ICONS: dict[str, Icon] = {
    "coffee": _coffee,
    "mail": _mail,
    "office": _office,
    "decoration": _decoration,
    **{name: _letter(name) for name in "ABCD"},
}
