"""Evaluation of tabular domains: exact over all start cells, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.evaluation.exact import (
    IMPOSSIBLE,
    Runs,
    RunsSummary,
    best_success,
    evaluate_policy,
    joined,
    optimal_steps,
)
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.learning.tabular import TabularLearner
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.tabular_skills import TabularPrimitives
from skm_primitives.skills.values import Primitives
from skm_sim.arrays import BoolArray
from skm_sim.spec import DomainSpec, Task
from skm_sim.tabular import TabularModel, tabular_model
from skm_sim.trials import named_tasks


@dataclass(frozen=True)
class TabularTask:
    """How one task went, over all training seeds."""

    off_constraints: RunsSummary
    """From the starts on which no constraint holds."""
    on_constraints: RunsSummary
    all_starts: RunsSummary
    """From all starts from which the task is possible, on a constraint or not."""
    impossible_starts: int
    per_seed: Sequence[RunsSummary]
    best_success: float | None = None
    """With random actions: the greatest chance of success that any policy has, from all starts."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        best = {} if self.best_success is None else {"best_success": self.best_success}
        return {
            **self.off_constraints.document(),
            "constraint_starts": self.on_constraints.document(),
            "all_starts": self.all_starts.document(),
            "impossible_starts": self.impossible_starts,
            "per_seed": [summary.document() for summary in self.per_seed],
            **best,
        }


@dataclass(frozen=True)
class TabularEvaluation:
    """How the tasks of a tabular domain went."""

    domain: str
    planner: str
    epsilon: float
    seeds: int
    tasks: Mapping[str, TabularTask]

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "domain": self.domain,
            "planner": self.planner,
            "epsilon": self.epsilon,
            "seeds": self.seeds,
            "tasks": {name: task.document() for name, task in self.tasks.items()},
        }


def evaluate_tabular(spec: DomainSpec, options: EvaluationOptions) -> TabularEvaluation:
    """Run the tasks of a tabular domain from every start cell, beside the optimum."""
    tasks, model = options.chosen(named_tasks(spec, options.task)), tabular_model(spec)
    runs: dict[str, list[Runs]] = {task.name: [] for task in tasks}
    for seed in options.track(range(options.seeds), f"eval {spec.name}"):
        primitives = _primitives(spec, options, seed)
        for task in tasks:
            runs[task.name].append(_evaluate(spec, model, primitives, task, options, seed))
    results = {
        task.name: _result(model, runs[task.name], _best(spec, model, task, options.epsilon))
        for task in tasks
    }
    who = spec.name, options.planner_name
    return TabularEvaluation(*who, options.epsilon, options.seeds, results)


def _primitives(spec: DomainSpec, options: EvaluationOptions, seed: int) -> Primitives:
    """Return the primitives of a training seed: seed 0 is shipped, others are trained now."""
    if seed == 0:
        return load_primitives(spec, options.checkpoint)
    if options.checkpoint is not None:
        raise SkmError("--checkpoint is one training seed: leave out --seeds")
    learner = TabularLearner.start(spec, {**spec.settings, "seed": seed})
    while learner.steps < learner.default_steps:
        learner.run_round()
    return TabularPrimitives(learner.state)


def _evaluate(
    spec: DomainSpec,
    model: TabularModel,
    primitives: Primitives,
    task: Task,
    options: EvaluationOptions,
    seed: int,
) -> Runs:
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(
        mission,
        primitives,
        options.planner,
        slip=options.epsilon,
        possible_only=options.possible_only,
    )
    return evaluate_policy(
        model,
        primitives,
        policy,
        max_steps=task.max_steps,
        epsilon=options.epsilon,
        repetitions=(options.episodes or 10) if options.epsilon else 1,
        seed=options.seed + seed,
    )


def _best(spec: DomainSpec, model: TabularModel, task: Task, epsilon: float) -> float | None:
    """Return the best that any policy can do if actions are random now and then."""
    if not epsilon:
        return None
    mission = compile_mission(task.formula, propositions=spec.propositions)
    chance = best_success(model, mission.machine, epsilon, task.max_steps)
    return float(chance[optimal_steps(model, mission.machine) != IMPOSSIBLE].mean())


def _result(model: TabularModel, per_seed: Sequence[Runs], best: float | None) -> TabularTask:
    """Return the figures of one task: starts on a constraint apart, all starts, and seed by seed."""
    constraints = [model.propositions.index(name) for name in model.constraints]
    on_constraint: BoolArray = np.any(model.cell_labels[:, constraints], axis=1)

    def off(runs: Runs) -> Runs:
        return runs.among(~on_constraint[runs.start_cells])

    both = joined(per_seed)
    return TabularTask(
        off(both).summary(),
        both.among(on_constraint[both.start_cells]).summary(),
        both.summary(),
        int(np.unique(both.start_cells[both.optimal < 0]).size),
        [off(runs).summary() for runs in per_seed],
        best,
    )
