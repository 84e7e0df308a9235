"""Exact evaluation in tabular domains: every start cell, beside the optimum of the true world.

The optimum knows everything, hidden counters included: a breadth-first search on the product of the
world's states with the reward machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skm_machine.errors import UnachievableMissionError
from skm_machine.reward_machine import RewardMachine
from skm_machine.tracker import Status
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import Primitives
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.tabular.model import TabularModel

UNREACHABLE = -1


@dataclass(frozen=True)
class _TrueProduct:
    """The product of the world's states with a machine: where each action leads, and if it succeeds."""

    following: IntArray
    """`[u, state, action]`: flat index of the product state that follows."""
    succeeds: BoolArray
    """`[u, state, action]`: whether that step is rewarded."""
    starts: IntArray
    """Flat index of the product state of each start cell."""


def _true_product(model: TabularModel, machine: RewardMachine) -> _TrueProduct:
    target = np.zeros((machine.num_states, len(model.label_sets)), np.int64)
    rewarded = np.zeros(target.shape, np.bool_)
    for state in range(machine.num_states):
        for index, labels in enumerate(model.label_sets):
            outcome = machine.step(state, labels)
            target[state, index] = outcome.target
            rewarded[state, index] = outcome.reward > 0 and state not in machine.terminal
    entered = model.label_ids[model.transitions]
    following = target[:, entered] * model.num_states + model.transitions
    starts = machine.initial * model.num_states + model.start_states
    return _TrueProduct(following, rewarded[:, entered], starts)


def optimal_steps(model: TabularModel, machine: RewardMachine) -> IntArray:
    """Return the fewest steps to the first success from every start cell; −1 where there is none."""
    product = _true_product(model, machine)
    far = np.iinfo(np.int64).max // 2
    steps = np.full(product.succeeds.shape[:2], far)
    while True:
        onward = np.where(product.succeeds, 1, 1 + steps.reshape(-1)[product.following])
        shorter = np.minimum(onward.min(axis=2), far)
        if np.array_equal(shorter, steps):
            break
        steps = shorter
    found = steps.reshape(-1)[product.starts]
    return np.where(found < far, found, UNREACHABLE)


def best_success(
    model: TabularModel, machine: RewardMachine, epsilon: float, max_steps: int
) -> FloatArray:
    """Return the greatest chance of success from every start cell, if every action slips with `epsilon`.

    No policy does better within `max_steps`: backward induction on the true product.
    """
    product = _true_product(model, machine)
    chance = np.zeros(product.succeeds.shape[:2])
    for _ in range(max_steps):
        onward = np.where(product.succeeds, 1.0, chance.reshape(-1)[product.following])
        better = (1 - epsilon) * onward.max(axis=2) + epsilon * onward.mean(axis=2)
        if np.abs(better - chance).max() < 1e-9:
            break
        chance = better
    best: FloatArray = chance.reshape(-1)[product.starts]
    return best


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
        runs = self.among(self.optimal != UNREACHABLE)
        accepted, count = runs.accepted, len(runs.steps)
        if not count:
            return RunsSummary(0)
        returns = np.where(accepted, runs.gamma ** (runs.steps - 1.0), 0.0)
        best = runs.gamma ** (runs.optimal - 1.0)
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
