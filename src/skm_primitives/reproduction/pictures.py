"""Figures of the paper that are no learning curves, each as one job with plain results."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from skm_machine import compile_mission, plan_paper
from skm_machine.drawing.machine import machine_canvas
from skm_machine.drawing.svg import svg_document
from skm_primitives.evaluation import EvaluationOptions, evaluate
from skm_primitives.figures import FigureOptions, draw_figure
from skm_primitives.figures.machine import machine_figure
from skm_sim import get_domain


def as_files(figure: Figure, kinds: Sequence[str] = ("png", "svg")) -> dict[str, bytes]:
    """Return a figure as PNG and SVG, the same bytes each time."""
    files = {}
    for kind in kinds:
        buffer = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": "skm"}):
            figure.savefig(
                buffer, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else {}
            )
        files[kind] = buffer.getvalue()
    return files


def picture(domain: str, kind: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Draw one of `skm plot`; return its files and what is in it."""
    drawn = draw_figure(get_domain(domain), kind, FigureOptions(**options))
    return {"files": as_files(drawn.figure), "document": drawn.document}


def evaluation(domain: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Evaluate a domain as `skm eval` does; return it as JSON."""
    return {"document": evaluate(get_domain(domain), EvaluationOptions(**options)).document()}


def planners(domain: str, seeds: int, asked: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Evaluate a tabular domain with several planners; return the evaluations by planner."""
    spec = get_domain(domain)
    found = {
        name: evaluate(spec, EvaluationOptions(**options, seeds=seeds)).document()["tasks"]
        for name, options in asked.items()
    }
    return {"document": found}


def machine(domain: str, task: str, gamma: float) -> dict[str, Any]:
    """Draw the reward machine of a task, with its values and the skill of each state."""
    spec = get_domain(domain)
    mission = compile_mission(spec.task(task).formula, propositions=spec.propositions)
    skills = plan_paper(mission.machine, gamma)
    canvas = machine_canvas(mission.machine, skills.skills)
    drawing = svg_document(canvas, mission.text)
    files = {"svg": drawing.encode(), "png": as_files(machine_figure(canvas), ("png",))["png"]}
    rows = [
        {
            "state": mission.machine.names[state],
            "value": round(skill.value, 4),
            "reach": str(skill.reach),
            "avoid": str(skill.avoid),
        }
        for state, skill in skills.skills.items()
    ]
    return {"files": files, "document": {"states": rows}}
