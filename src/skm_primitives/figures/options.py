"""What a figure is asked for, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skm_machine.errors import SkmError
from skm_primitives.evaluation.options import Track, silent

INK = "#222831"
GRID = "#e6e0d4"


@dataclass(frozen=True)
class FigureOptions:
    """Choices of a figure; what is left out is as the domain, or its artist, has it."""

    tasks: Sequence[str] = ()
    """The tasks to draw; none: all of them."""
    planner: str = ""
    checkpoint: str | Path | None = None
    beside: str | Path | None = None
    """Another checkpoint to draw beside it: of learning curves."""
    seed: int = 0
    episodes: int | None = None
    starts: Sequence[str] = ()
    """Where paths start, as the domain writes it."""
    finetuned: Mapping[str, str] = field(default_factory=dict)
    """Checkpoints of few-shot policies, by task."""
    finetune_steps: int = 0
    """Learn the others few-shot now, for so many steps."""
    track: Track = silent

    def __post_init__(self) -> None:
        if self.episodes is not None and self.episodes < 1:
            raise SkmError(f"--episodes is {self.episodes}; it must be at least 1.")


@dataclass(frozen=True)
class Drawn:
    """A figure, and what is in it as JSON."""

    figure: Figure
    document: dict[str, Any]


def plain(axes: Axes) -> None:
    """Leave out of a chart what is not data."""
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
