"""Pictures of what was learned and of runs, as matplotlib figures.

Each kind of picture is worked out here for any domain; how it looks, where that is the domain's
business, is up to the artist that its spec names.
"""

from __future__ import annotations

from typing import Final

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.figures.options import Drawn, FigureOptions
from skm_sim.locations import load_attribute
from skm_sim.spec import DomainSpec

__all__ = ["KINDS", "Drawn", "FigureOptions", "draw_figure"]

KINDS: Final = {
    "values": "skm_primitives.figures.primitive_values:draw",
    "trajectories": "skm_primitives.figures.task_paths:draw",
    "returns": "skm_primitives.figures.returns:draw",
    "curve": "skm_primitives.figures.training_curve:draw",
    "calibration": "skm_primitives.figures.calibration:draw",
}
"""For each kind of picture, a function (spec, options) that draws it, imported on use."""


def draw_figure(spec: DomainSpec, kind: str, options: FigureOptions | None = None) -> Drawn:
    """Draw a kind of picture of a domain; one that it does not have is an error that says why."""
    if kind not in KINDS:
        raise SkmError(f"there is no picture '{kind}'{did_you_mean(kind, KINDS)}")
    asked = options or FigureOptions()
    if kind != "trajectories" and (asked.starts or asked.finetuned or asked.finetune_steps):
        raise SkmError("--starts, --finetuned and --finetune-steps are for trajectories.")
    drawn: Drawn = load_attribute(KINDS[kind])(spec, asked)
    return drawn
