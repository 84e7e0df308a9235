"""How well missions and skills are done: measured, with intervals."""

from __future__ import annotations

from typing import Any, Protocol

from skm_machine.errors import SkmError
from skm_primitives.evaluation.evaluation_options import EvaluationOptions
from skm_primitives.evaluation.single_skills import evaluate_box_skills
from skm_primitives.evaluation.tabular_tasks import TabularEvaluation, evaluate_tabular
from skm_primitives.evaluation.task_trials import (
    RoundsEvaluation,
    TrialsEvaluation,
    evaluate_trials,
)
from skm_sim.domain import DomainSpec
from skm_sim.tabular import is_tabular

__all__ = [
    "Evaluation",
    "EvaluationOptions",
    "RoundsEvaluation",
    "TabularEvaluation",
    "TrialsEvaluation",
    "evaluate",
]


class Evaluation(Protocol):
    """What every evaluation offers: itself as JSON."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        ...


def evaluate(spec: DomainSpec, options: EvaluationOptions | None = None) -> Evaluation:
    """Evaluate a domain: its tasks, or its single skills.

    Tabular domains are evaluated exactly, from every start; others by trials in worlds that the
    domain draws, or that come from seeds.
    """
    options = options or EvaluationOptions()
    if options.task == "skills":
        skills = spec.part("skills") or evaluate_box_skills
        evaluation: Evaluation = skills(spec, options)
        return evaluation
    if not spec.tasks:
        raise SkmError(f"the domain '{spec.name}' has no tasks to evaluate")
    if not spec.trials and is_tabular(spec) and not options.exact:
        return evaluate_tabular(spec, options)
    if options.seeds > 1 or options.epsilon:
        raise SkmError("--seeds and --epsilon go with tabular domains")
    return evaluate_trials(spec, options)
