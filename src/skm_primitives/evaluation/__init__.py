"""How well missions and skills are done: measured, with intervals."""

from __future__ import annotations

from typing import Any, Final, Protocol

from skm_machine.errors import SkmError
from skm_primitives.evaluation.mission_trials import MissionsEvaluation, evaluate_missions
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.evaluation.skill_trials import evaluate_box_skills
from skm_primitives.evaluation.tabular_tasks import TabularEvaluation, evaluate_tabular
from skm_primitives.evaluation.task_trials import (
    RoundsEvaluation,
    TrialsEvaluation,
    evaluate_trials,
)
from skm_sim.spec import DomainSpec
from skm_sim.tabular import is_tabular, tabular_model
from skm_sim.true_world import finite_world

__all__ = [
    "Evaluation",
    "EvaluationOptions",
    "MissionsEvaluation",
    "RoundsEvaluation",
    "TabularEvaluation",
    "TrialsEvaluation",
    "evaluate",
]

EVERY_START: Final = 2000
"""Tabular worlds of more cells than this are evaluated from some starts, not from all."""


class Evaluation(Protocol):
    """What every evaluation offers: itself as JSON."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        ...


def evaluate(spec: DomainSpec, options: EvaluationOptions | None = None) -> Evaluation:
    """Evaluate a domain: its tasks, missions drawn at random or given, or its single skills.

    Tabular domains are evaluated exactly, from every start, or where these are very many from some
    of them; other finite worlds from the starts that they draw, beside the optimum; the rest by trials
    in worlds that the domain draws, or that come from seeds.
    """
    options = options or EvaluationOptions()
    if options.missions or options.mission_set:
        which = "--mission-set" if options.mission_set else "--missions"
        others = options.exact or options.variant or options.finetuned
        if options.seeds > 1 or options.epsilon or others:
            raise SkmError(f"{which} goes with --planner, --episodes, --checkpoint and --seed")
        if options.missions and options.mission_set:
            raise SkmError(
                "--missions draws missions, --mission-set has them from a file; give one"
            )
        return evaluate_missions(spec, options)
    if options.finetuned is not None and (is_tabular(spec) or options.task in ("all", "skills")):
        raise SkmError(
            "--finetuned is for one --task of a domain with networks; in tabular domains,"
            " `skm finetune` evaluates exactly what it saves."
        )
    if options.task == "skills":
        skills = spec.part("skills") or evaluate_box_skills
        evaluation: Evaluation = skills(spec, options)
        return evaluation
    if not spec.tasks:
        raise SkmError(f"the domain '{spec.name}' has no tasks to evaluate")
    if not spec.trials and is_tabular(spec) and not options.exact:
        many = tabular_model(spec).num_cells > EVERY_START
        return evaluate_missions(spec, options) if many else evaluate_tabular(spec, options)
    if options.seeds > 1 or options.epsilon:
        raise SkmError("--seeds and --epsilon go with tabular domains")
    # Runs from one start of a deterministic world are one run, not a hundred trials.
    plain = not (spec.trials or options.exact or options.finetuned or options.variant)
    if plain and finite_world(spec, range(1)) is not None:
        return evaluate_missions(spec, options)
    return evaluate_trials(spec, options)
