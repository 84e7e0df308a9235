"""How learning went: the success of single skills while they were learned, from a checkpoint's card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from skm_machine.errors import SkmError
from skm_primitives.figures.options import INK, Drawn, FigureOptions, plain
from skm_primitives.skills import checkpoint
from skm_primitives.skills.loading import default_checkpoint
from skm_sim.locations import load_attribute
from skm_sim.spec import DomainSpec


class CurveArtist(Protocol):
    """What a domain says of the scores along its learning curve."""

    groups: Mapping[str, tuple[str, str, str]]
    """For each score: what it is, its colour and its marker."""

    def row(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Return the scores of a validation, by whatever learner, with one for each group."""
        ...

    def chance(self, spec: DomainSpec, boards: int) -> dict[str, float]:
        """Return what random actions reach."""
        ...


class Curve(NamedTuple):
    """What is drawn of a checkpoint."""

    rows: Sequence[Mapping[str, float]]
    chance: Mapping[str, float]
    """What random actions reach."""
    boards: int
    """Worlds of each skill in a validation."""
    seed: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        parts = {"seed": self.seed, "boards": self.boards, "random": self.chance}
        return {**parts, "curve": self.rows}


def draw(spec: DomainSpec, options: FigureOptions) -> Drawn:
    """Draw the learning curve in the card of a checkpoint, or those of two, side by side."""
    first = _curve(spec, options.checkpoint or default_checkpoint(spec))
    artist: CurveArtist = load_attribute(spec.figures["curve"])
    if options.beside is None:
        return Drawn(curve_figure([first], artist), first.document())
    second = _curve(spec, options.beside)
    figure = curve_figure([first, second], artist)
    return Drawn(figure, {**first.document(), "beside": second.document()})


def _curve(spec: DomainSpec, path: str | Path) -> Curve:
    _, card = checkpoint.load(path, spec.name)
    rows: list[dict[str, float]] = card.details.get("curve", [])
    if not rows or "curve" not in spec.figures:
        raise SkmError("the checkpoint has no learning curve; it was never validated.")
    artist: CurveArtist = load_attribute(spec.figures["curve"])
    settings = card.details["settings"]
    boards = int(settings.get("validation_boards") or settings["validation_layouts"])
    found = [dict(artist.row(row)) for row in rows]
    return Curve(found, artist.chance(spec, boards), boards, card.seed)


def curve_figure(curves: Sequence[Curve], artist: CurveArtist) -> Figure:
    """Return the curves, with what random actions reach as broken lines in the same colours.

    The optimum is 1: the boards are those on which the skill can be done.
    """
    figure = Figure(figsize=(7.6, 4.6 * len(curves)), layout="constrained")
    panels = figure.subplots(len(curves), squeeze=False)[:, 0]
    for axes, curve in zip(panels, curves, strict=True):
        _panel(axes, curve, artist)
    return figure


def _panel(axes: Axes, curve: Curve, artist: CurveArtist) -> None:
    rows, chance = curve.rows, curve.chance
    axes.set(xlabel="environment steps, millions", ylabel="success in 50 steps")
    steps = np.array([row["steps"] for row in rows]) / 1e6
    minutes = np.array([row["cpu_minutes"] for row in rows])
    for group, (label, colour, marker) in artist.groups.items():
        rates = [row[group] for row in rows]
        look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "lw": 1.8}
        axes.plot(steps, rates, label=f"{label}: {rates[-1]:.3f}", zorder=3, **look)
        dashes: dict[str, Any] = {"color": colour, "lw": 1, "ls": (0, (4, 3))}
        axes.axhline(chance[group], label=f"random actions: {chance[group]:.2f}", **dashes)
    axes.axhline(1.0, color=INK, lw=1, ls=(0, (1, 1.5)), label="optimal: 1")
    end = float(steps[-1])
    axes.set(xlim=(0, 1.03 * end), ylim=(0, 1.04))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    # From (0, 0) along the validations, and on beyond the last one.
    known_steps = np.array([0, *steps, 2 * end])
    known_minutes = np.array([0, *minutes, 2 * minutes[-1]])
    top = axes.secondary_xaxis(
        "top",
        functions=(
            lambda x: np.interp(np.asarray(x, float), known_steps, known_minutes),
            lambda x: np.interp(np.asarray(x, float), known_minutes, known_steps),
        ),
    )
    top.set_xlabel(f"CPU minutes on one core (training seed {curve.seed})", size=9)
    top.tick_params(length=0, labelsize=8)
    top.spines["top"].set_visible(False)
    title = f"network alone, {curve.boards} validation boards a skill"
    look = {"fontsize": 8, "title": title, "title_fontsize": 8, "edgecolor": "none"}
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), **look)
    plain(axes)
