"""Figures of the paper that are no learning curves, each as one job with plain results."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from skm_machine import compile_mission, plan_paper
from skm_machine.drawing import draw_machine
from skm_primitives.evaluation import EvaluationOptions, evaluate
from skm_primitives.figures import FigureOptions, draw_figure
from skm_sim import get_domain


def as_files(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and SVG."""
    files = {}
    for kind in ("png", "svg"):
        buffer = io.BytesIO()
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


def planners(domain: str, seeds: int, names: Sequence[str]) -> dict[str, Any]:
    """Evaluate a tabular domain with several planners; return the evaluations by planner."""
    spec = get_domain(domain)
    found = {
        name: evaluate(spec, EvaluationOptions(planner=name, seeds=seeds)).document()["tasks"]
        for name in names
    }
    return {"document": found}


def machine(domain: str, task: str, gamma: float) -> dict[str, Any]:
    """Draw the reward machine of a task, with its values and the skill of each state."""
    spec = get_domain(domain)
    mission = compile_mission(spec.task(task).formula, propositions=spec.propositions)
    skills = plan_paper(mission.machine, gamma)
    drawing = draw_machine(mission.machine, skills.skills, mission.text)
    rows = [
        {
            "state": mission.machine.names[state],
            "value": round(skill.value, 4),
            "reach": str(skill.reach),
            "keep off": str(skill.avoid),
        }
        for state, skill in skills.skills.items()
    ]
    return {"files": {"svg": drawing.encode()}, "document": {"states": rows}}
