"""Exact evaluation in finite worlds: the optimum, the return of a policy, the most rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from skm_machine.errors import UnachievableMissionError
from skm_machine.reward_machine import RewardMachine
from skm_machine.tracker import Status
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.policy import Policy
from skm_primitives.skills.values import Primitives
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.finite_world import FiniteWorld
from skm_sim.tabular import TabularModel

# The best that any policy can do in a finite world: a search on the product of machine and world.
#
# Nothing here is shared with any planner or learner: the machine is stepped state by state over
# the true world (`skm_sim.true_world`), which may be stochastic and may end. What ends
# before the mission is accepted is lost.


IMPOSSIBLE: Final = -1
SETTLED: Final = 1e-9
"""The change of a probability at which iteration stops."""


@dataclass(frozen=True, eq=False)
class TrueProduct:
    """Machine × world: what each outcome of each action does to a mission, `[u, outcome]`."""

    world: FiniteWorld
    machine: RewardMachine

    @cached_property
    def _tables(self) -> tuple[IntArray, BoolArray]:
        world, machine = self.world, self.machine
        rows = machine.table(world.label_sets)
        target = np.array([[outcome.target for outcome in row] for row in rows], np.int64)
        pays = np.array([[outcome.reward > 0 for outcome in row] for row in rows], np.bool_)
        entered = world.label_ids[world.outcomes.place]
        return target[:, entered], pays[:, entered]

    @cached_property
    def _ends(self) -> BoolArray:
        """Whether the world ends with each outcome."""
        ended = self.world.ended
        there = self.world.outcomes.place
        return np.zeros(len(there), np.bool_) if ended is None else ended[there]

    @property
    def target(self) -> IntArray:
        """`[u, outcome]`: the machine state that follows."""
        return self._tables[0]

    @property
    def pays(self) -> BoolArray:
        """`[u, outcome]`: whether the outcome is rewarded."""
        return self._tables[1]

    def fewest_steps(self) -> IntArray:
        """Return for every state of the world the fewest steps to the first reward, with the best luck.

        −1 where there is none: the mission is impossible from there. Breadth-first, backwards.
        """
        world, states = self.world, self.world.states
        here = world.outcomes.pair // world.actions
        total = self.machine.num_states * states
        steps = np.full(total, IMPOSSIBLE)
        edge_from, edge_to, first = [], [], []
        for u in range(self.machine.num_states):
            if u in self.machine.terminal:
                continue
            pays = self.pays[u]
            first.append(u * states + here[pays])
            continuation = ~pays & ~self._ends
            edge_from.append((u * states + here)[continuation])
            edge_to.append((self.target[u] * states + world.outcomes.place)[continuation])
        if not first:
            return steps[:states]
        source, arrival = np.concatenate(edge_from), np.concatenate(edge_to)
        order = np.argsort(arrival, kind="stable")
        source = source[order]
        begins = np.searchsorted(arrival[order], np.arange(total + 1))
        level, frontier = 1, np.unique(np.concatenate(first))
        while len(frontier):
            steps[frontier] = level
            level += 1
            pieces = [source[begins[node] : begins[node + 1]] for node in frontier.tolist()]
            reached = np.unique(np.concatenate(pieces))
            frontier = reached[steps[reached] == IMPOSSIBLE]
        initial = self.machine.initial * states
        return steps[initial : initial + states]

    def best_success(self, max_steps: int, epsilon: float = 0.0) -> FloatArray:
        """Return the greatest probability of success within `max_steps` from every state of the world.

        By backward induction. With `epsilon`, that share of the actions is random.
        """
        world, states = self.world, self.world.states
        outcomes = world.outcomes
        pairs, first = np.unique(outcomes.pair, return_index=True)
        acting, first_pair = np.unique(pairs // world.actions, return_index=True)
        value = np.zeros((self.machine.num_states, states))
        goes_on = ~self.pays & ~self._ends
        for _ in range(max_steps):
            continuation = value[self.target, outcomes.place] * goes_on + self.pays
            options = np.add.reduceat(continuation * outcomes.chance, first, axis=1)
            better = np.maximum.reduceat(options, first_pair, axis=1)
            if epsilon:
                mean = np.add.reduceat(options, first_pair, axis=1) / world.actions
                better = (1 - epsilon) * better + epsilon * mean
            before = value[:, acting]
            value[:, acting] = better
            spreads = bool(((better > 0) & (before == 0)).any())  # a far start is not reached yet
            if not spreads and np.abs(better - before).max(initial=0.0) < SETTLED:
                break
        best: FloatArray = value[self.machine.initial]
        return best


def optimal_steps(model: TabularModel, machine: RewardMachine) -> IntArray:
    """Return the fewest steps to the first reward from every start cell; −1 where there is none."""
    return TrueProduct(model.world, machine).fewest_steps()[model.start_states]


def best_success(
    model: TabularModel, machine: RewardMachine, epsilon: float, max_steps: int
) -> FloatArray:
    """Return the best chance of success from every start cell, if actions slip with `epsilon`."""
    return TrueProduct(model.world, machine).best_success(max_steps, epsilon)[model.start_states]


# Exact evaluation in tabular domains: every start cell, beside the optimum of the true world.
#
# The optimum knows everything, hidden counters included: see `optimum`.


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
        nearest = float(runs.optimal.min())  # Of far missions, γ to the steps is not a number.
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


# The most rounds of a recurring mission that any policy completes in a tabular world, exactly.
#
# Backward induction over machine × states of the true world, hidden ones included. It knows when
# the time is up, which no robot does, and shares nothing with the planner.


def most_rounds(machine: RewardMachine, model: TabularModel, steps: int) -> IntArray:
    """Return, for each start cell, the most rounds that can be completed within `steps` steps.

    Runs that fail, or break a commitment, count for nothing from then on.
    """
    choices = 1 + max((len(machine.commitments(u)) for u in range(machine.num_states)), default=0)
    lost = machine.num_states
    shape = machine.num_states, len(model.label_sets), choices
    target, reward = np.full(shape, lost), np.zeros(shape, np.int64)
    rows = machine.table(model.label_sets)
    for state in set(range(machine.num_states)) - machine.terminal:
        for choice, way in enumerate((state, *machine.commitments(state))):
            for index, outcome in enumerate(rows[way]):
                if machine.keeps(way, outcome) and outcome.target not in machine.terminal:
                    target[state, index, choice] = outcome.target
                    reward[state, index, choice] = outcome.reward > 0
    entered = model.label_ids[model.transitions]  # [state, action]
    after, earned = target[:, entered], reward[:, entered]  # [u, state, action, choice]
    rounds = np.zeros((lost + 1, model.num_states), np.int64)
    world = model.transitions[None, :, :, None]
    for _ in range(steps):
        rounds[:lost] = (earned + rounds[after, world]).max(axis=(2, 3))
    most: IntArray = rounds[machine.initial, model.start_states]
    return most
