"""A mission in a tabular world as arrays: everything that Algorithm 3 looks up in a step.

A *situation* is all that decides what happens next: the machine state u, the violated constraints c
and the state of the world, hidden counters included. Situations are numbered
`(u · 2^|C| + c) · states + state`. The agent itself sees ⟨cell, u⟩ only.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.tracker import MissionTracker
from skm_primitives.histories import Histories, pack
from skm_primitives.policy import Policy
from skm_primitives.primitives import Primitives
from skm_primitives.tabular_evaluation import UNREACHABLE, optimal_steps
from skm_sim.tabular_model import TabularModel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MAX_SITUATIONS: Final = 2_000_000


@dataclass(frozen=True, eq=False)
class TabularMission:
    """What each action does in each situation; arrays are indexed by [situation, action]."""

    mission: Mission
    model: TabularModel
    following: IntArray
    reward: FloatArray
    ended: BoolArray
    """Whether the mission is over after the action, accepted or failed."""
    seen: IntArray
    """`(situations,)`: the row ⟨cell, u⟩ of Q(s, u, ·), `cell · machine states + u`."""
    starts: IntArray
    """`(cells,)`: the situation in which an episode that starts in a cell begins."""
    optimal: IntArray
    """`(cells,)`: the fewest steps to success from each start cell; −1 where there are none."""

    @property
    def rows(self) -> int:
        """The number of different ⟨cell, u⟩."""
        return self.model.num_cells * self.mission.machine.num_states

    @cached_property
    def reachable(self) -> BoolArray:
        """Which situations some start and some actions lead to."""
        found = np.zeros(len(self.seen), np.bool_)
        frontier = self.starts
        while len(frontier):
            found[frontier] = True
            onward = np.unique(self.following[frontier][~self.ended[frontier]])
            frontier = onward[~found[onward]]
        return found

    @cached_property
    def markov(self) -> bool:
        """Whether ⟨cell, u⟩, which the agent sees, determines the row and reward that follow.

        If not (labels depend on hidden counters), Q(s, u, a) averages over what it cannot see.
        """
        situations = np.flatnonzero(self.reachable)
        after = np.where(self.ended, -1, self.seen[self.following])
        for outcome in (after, self.reward):
            first = np.zeros((self.rows, outcome.shape[1]), outcome.dtype)
            first[self.seen[situations]] = outcome[situations]
            if not np.array_equal(first[self.seen[situations]], outcome[situations]):
                return False
        return True


def tabular_mission(mission: Mission, model: TabularModel) -> TabularMission:
    """Return the product of a mission, its constraint histories and a tabular world."""
    machine, histories = mission.machine, Histories(model.constraints)
    if machine.endless:
        raise SkmError("few-shot learning is for missions that end; this one has no end.")
    shape = machine.num_states, histories.sets, model.num_states
    if np.prod(shape) > MAX_SITUATIONS:
        raise SkmError(
            f"the mission has {shape[0]} machine states x {shape[1]} constraint histories x"
            f" {shape[2]} states of the world, more than {MAX_SITUATIONS} situations in all."
        )
    outcomes = [[machine.step(u, labels) for labels in model.label_sets] for u in range(shape[0])]
    target = np.array([[outcome.target for outcome in row] for row in outcomes], np.int64)
    reward = np.array([[outcome.reward for outcome in row] for row in outcomes], np.float64)
    over = np.array([u in machine.terminal or u in machine.failure for u in range(shape[0])])

    u, violated, state = (axis.reshape(-1, 1) for axis in np.indices(shape))
    after = model.transitions[state[:, 0]]
    entered = model.label_ids[after]
    columns = [model.propositions.index(name) for name in model.constraints]
    true_constraints = pack(model.labels[:, columns])
    changed = true_constraints[state] ^ true_constraints[after]
    moved_on = (target[u, entered] != u) | (reward[u, entered] > 0)
    history = np.where(moved_on, 0, violated | changed)
    following = np.ravel_multi_index((target[u, entered], history, after), shape)
    return TabularMission(
        mission=mission,
        model=model,
        following=following,
        reward=np.where(over[u], 0.0, reward[u, entered]),
        ended=over[u] | over[target[u, entered]],
        seen=(model.cells[state] * shape[0] + u)[:, 0],
        starts=np.ravel_multi_index((machine.initial, 0, model.start_states), shape),
        optimal=optimal_steps(model, machine),
    )


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """A zero-shot policy as arrays over situations."""

    composed: FloatArray
    """δ_Q(u)(⟨s,c⟩, a), `[situation, action]`; 0 where the policy refuses to begin."""
    action: IntArray
    """What the policy does, `[situation]`."""


def tabulate(world: TabularMission, policy: Policy, primitives: Primitives) -> ZeroShot:
    """Ask the policy once in every situation that can occur.

    A policy may count visits, so it is led to each state of the world along a shortest path. What it
    knows there must depend on that state alone, which holds for counters of visits.
    """
    model, machine = world.model, world.mission.machine
    histories = Histories(model.constraints)
    composed = np.zeros(world.following.shape)
    action = np.zeros(len(world.seen), np.int64)
    tracker = MissionTracker(machine, model.constraints)
    situations: dict[int, list[int]] = {}
    for situation in np.flatnonzero(world.reachable).tolist():
        situations.setdefault(situation % model.num_states, []).append(situation)
    for state, path in _paths(model, policy).items():
        if state not in situations:
            continue
        policy.start(path[0])
        for cell in path[1:]:
            policy.entered(cell)
        for situation in situations[state]:
            tracker.state, bits = divmod(situation // model.num_states, histories.sets)
            tracker.violated = histories.names(bits)
            values = primitives.values(path[-1], policy.history(tracker))
            composed[situation] = policy.composed(tracker.state, values)
            action[situation] = policy.choose(tracker.state, values).action
    return ZeroShot(composed, action)


def _paths(model: TabularModel, policy: Policy) -> dict[int, list[int]]:
    """Return the cells of a shortest path to each state, from starts that the policy accepts."""
    paths = {}
    for cell, start in enumerate(model.start_states.tolist()):
        try:
            policy.start(cell)
        except UnachievableMissionError:
            continue
        paths[start] = [cell]
    queue = deque(paths)
    transitions, cells = model.transitions.tolist(), model.cells.tolist()
    while queue:
        state = queue.popleft()
        for after in transitions[state]:
            if after not in paths:
                paths[after] = [*paths[state], cells[after]]
                queue.append(after)
    return paths


@dataclass(frozen=True)
class Score:
    """How well a policy does from all starts from which the mission can be done."""

    return_ratio: float
    """Mean discounted return / mean optimal return."""
    success: float
    mean_steps: float
    """Over the runs that succeed; 0 if none does."""


def score(world: TabularMission, actions: IntArray, gamma: float, max_steps: int) -> Score:
    """Run `actions[situation]` from every start at once, exactly.

    A run that comes back to a situation will do so for ever: it is given up at once.
    """
    solvable = world.optimal != UNREACHABLE
    situation = world.starts[solvable]
    running = np.arange(len(situation))
    succeeded = np.zeros(len(situation), np.int64)
    landmark, next_landmark = situation, 1
    for step in range(1, max_steps + 1):
        chosen = actions[situation]
        rewarded = world.reward[situation, chosen] > 0
        succeeded[running[rewarded]] = step
        after = world.following[situation, chosen]
        going = ~world.ended[situation, chosen] & (after != landmark)
        running, situation, landmark = running[going], after[going], landmark[going]
        if not len(running):
            break
        if step == next_landmark:
            landmark, next_landmark = situation, 2 * step
    won = succeeded > 0
    returns = np.where(won, gamma ** (succeeded - 1.0), 0.0)
    best = gamma ** (world.optimal[solvable] - 1.0)
    steps = float(succeeded[won].mean()) if won.any() else 0.0
    return Score(float(returns.mean() / best.mean()), float(won.mean()), steps)
