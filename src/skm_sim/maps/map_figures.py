"""Value functions over the floor of a building."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import gymnasium
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from skm_sim.artists import ValuePanel
from skm_sim.maps.map_drawing import draw_building

COLUMNS: Final = 3
WIDTH: Final = 4.2
FAINTEST: Final = 1e-3


def draw_values(env: gymnasium.Env[Any, Any], panels: Sequence[ValuePanel]) -> Figure:
    """Return a map a primitive: the value of each cell, γ to the steps that the place is away."""
    building = env.building  # type: ignore[attr-defined]
    width, height = building.occupancy.size
    rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
    size = WIDTH * columns, (WIDTH * height / width + 0.5) * rows
    figure = Figure(figsize=size, layout="constrained")
    x, y = building.floor.centres.T
    for number, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, columns, number)
        draw_building(axes, building, cells=False)
        shown = panel.values > 0
        dots = axes.scatter(
            x[shown], y[shown], c=panel.values[shown], s=6, marker="s", lw=0, zorder=1,
            norm=LogNorm(FAINTEST, 1), cmap="viridis",
        )  # fmt: skip
        axes.set_title(panel.title, size=9, loc="left")
        axes.set(xlabel="", ylabel="", xticks=[], yticks=[])
    figure.colorbar(dots, ax=figure.axes, label="value", shrink=0.6)
    return figure
