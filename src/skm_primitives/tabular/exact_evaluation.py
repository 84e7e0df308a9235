"""Exact evaluation in tabular domains: every start cell, beside the optimum of the true world.

The optimum knows everything, hidden counters included: see `optimum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skm_machine.errors import UnachievableMissionError
from skm_machine.tracker import Status
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import Primitives
from skm_primitives.tabular.optimum import IMPOSSIBLE, optimal_steps
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.tabular.model import TabularModel


@dataclass(frozen=True)
class RunsSummary:
    """The figures of merit of some runs; None for what cannot be said."""

    starts: int
    """From how many of the starts success was possible at all; there may be several runs from each."""
    success: float | None = None
    return_ratio: float | None = None
    """Mean discounted return over that of the optimum."""
    mean_steps: float | None = None
    """Over the runs that succeeded."""
    optimal_steps: float | None = None
    violations: int | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        if not self.starts:
            return {"starts": 0}
        return {
            "success": self.success,
            "return_ratio": self.return_ratio,
            "mean_steps": self.mean_steps,
            "optimal_steps": self.optimal_steps,
            "violations": self.violations,
            "starts": self.starts,
        }


@dataclass(frozen=True)
class Runs:
    """Runs of one policy from a number of start cells."""

    start_cells: IntArray
    statuses: tuple[Status, ...]
    steps: IntArray
    optimal: IntArray
    """The optimal steps from each start cell; −1 where success is impossible."""
    gamma: float

    @property
    def accepted(self) -> BoolArray:
        """Which runs succeeded."""
        return np.array([status is Status.ACCEPTED for status in self.statuses], np.bool_)

    def among(self, chosen: BoolArray) -> Runs:
        """Return the chosen runs only."""
        statuses = tuple(s for s, kept in zip(self.statuses, chosen.tolist(), strict=True) if kept)
        return Runs(
            self.start_cells[chosen], statuses, self.steps[chosen], self.optimal[chosen], self.gamma
        )

    def summary(self) -> RunsSummary:
        """Return the figures of merit, over the starts from which success is possible."""
        runs = self.among(self.optimal != IMPOSSIBLE)
        accepted, count = runs.accepted, len(runs.steps)
        if not count:
            return RunsSummary(0)
        nearest = float(runs.optimal.min())  # Of far missions, γ to the steps is no number.
        returns = np.where(accepted, runs.gamma ** (runs.steps - nearest), 0.0)
        best = runs.gamma ** (runs.optimal - nearest)
        return RunsSummary(
            starts=int(np.unique(runs.start_cells).size),
            success=float(accepted.mean()),
            return_ratio=float(returns.mean() / best.mean()),
            mean_steps=float(runs.steps[accepted].mean()) if accepted.any() else None,
            optimal_steps=float(runs.optimal.mean()),
            violations=sum(status is Status.FAILED for status in runs.statuses),
        )


def joined(parts: Sequence[Runs]) -> Runs:
    """Return several sets of runs as one."""
    return Runs(
        np.concatenate([part.start_cells for part in parts]),
        tuple(status for part in parts for status in part.statuses),
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.optimal for part in parts]),
        parts[0].gamma,
    )


def evaluate_policy(
    model: TabularModel,
    primitives: Primitives,
    policy: Policy,
    *,
    max_steps: int,
    epsilon: float = 0.0,
    repetitions: int = 1,
    seed: int = 0,
) -> Runs:
    """Run the policy from every start cell; exact where `epsilon` is 0."""
    rng = np.random.default_rng(seed)
    cells = np.repeat(np.arange(model.num_cells), repetitions)
    results = [
        _run(model, primitives, policy, cell, max_steps, epsilon, rng) for cell in cells.tolist()
    ]
    optimal = np.repeat(optimal_steps(model, policy.mission.machine), repetitions)
    steps = np.array([steps for _, steps in results], np.int64)
    return Runs(cells, tuple(status for status, _ in results), steps, optimal, primitives.gamma)


def _run(
    model: TabularModel,
    primitives: Primitives,
    policy: Policy,
    cell: int,
    max_steps: int,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[Status, int]:
    """Run one episode on the world's arrays; a refused start counts as not solved."""
    state = int(model.start_states[cell])
    run = MissionRun(policy, primitives, max_steps)
    try:
        run.begin(cell, model.label_sets[model.label_ids[state]])
    except UnachievableMissionError:
        return Status.RUNNING, 0
    while not run.over:
        action = run.decide(primitives.values(int(model.cells[state]), run.history)).action
        if epsilon and rng.random() < epsilon:
            action = int(rng.integers(model.num_actions))
        state = int(model.transitions[state, action])
        run.enter(int(model.cells[state]), model.label_sets[model.label_ids[state]])
    return run.tracker.status, run.tracker.steps
