"""A mission in a tabular world as arrays: everything that Algorithm 3 looks up in a step.

A *situation* is all that decides what happens next: the machine state u, the violated constraints c
and the state of the world, hidden counters included. Those that can occur are numbered. The agent
itself sees ⟨cell, u⟩ only.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_primitives.histories import Histories, pack
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.paper import PaperPolicy
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import GoalValues, Primitives
from skm_primitives.tabular.optimum import IMPOSSIBLE, optimal_steps
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.tabular.model import TabularModel

MAX_SITUATIONS: Final = 2_000_000


@dataclass(frozen=True, eq=False)
class TabularMission:
    """What each action does in each situation that can occur before the mission is over."""

    mission: Mission
    model: TabularModel
    machine_state: IntArray
    """`(situations,)`: u."""
    violated: IntArray
    """`(situations,)`: c, as bits over the constraints."""
    state: IntArray
    """`(situations,)`: the state of the world."""
    following: IntArray
    """`(situations, actions)`: the situation that the action leads to; 0 if the mission is over."""
    reward: FloatArray
    """`(situations, actions)`: δ_r."""
    ended: BoolArray
    """`(situations, actions)`: whether the action ends the mission, accepted or failed."""
    starts: IntArray
    """`(cells,)`: the situation in which an episode that starts in a cell begins."""

    @cached_property
    def optimal(self) -> IntArray:
        """`(cells,)`: the fewest steps to success from each start cell; −1 where there are none."""
        return optimal_steps(self.model, self.mission.machine)

    @property
    def rows(self) -> int:
        """The number of different ⟨cell, u⟩."""
        return self.model.num_cells * self.mission.machine.num_states

    @cached_property
    def seen(self) -> IntArray:
        """`(situations,)`: the row of Q(s, u, ·) for ⟨cell, u⟩, `cell · machine states + u`."""
        rows: IntArray = self.model.cells[self.state] * self.mission.machine.num_states
        return rows + self.machine_state

    @cached_property
    def markov(self) -> bool:
        """Whether ⟨cell, u⟩, which the agent sees, determines the row and reward that follow.

        If not (labels depend on hidden counters), Q(s, u, a) averages over what it cannot see.
        """
        for outcome in (np.where(self.ended, -1, self.seen[self.following]), self.reward):
            any_of_row = np.zeros((self.rows, outcome.shape[1]), outcome.dtype)
            any_of_row[self.seen] = outcome
            if not np.array_equal(any_of_row[self.seen], outcome):
                return False
        return True


def tabular_mission(
    mission: Mission, model: TabularModel, promiser: Policy | None = None
) -> TabularMission:
    """Return the product of a mission, its constraint histories and a tabular world.

    Where a mission has promises, what a step does is for a policy to say: the `promiser`. A promise
    that it gives up is the end, as it is for learners (`skm_primitives.baselines.problem`).
    """
    machine, histories = mission.machine, Histories(model.constraints)
    if machine.jumps and promiser is None:
        raise SkmError("a mission with promises is no plain product; this one has some.")
    shape = machine.num_states, histories.sets, model.num_states
    if np.prod(shape) > MAX_SITUATIONS:
        raise SkmError(
            f"the mission has {shape[0]} machine states x {shape[1]} constraint histories x"
            f" {shape[2]} states of the world, more than {MAX_SITUATIONS} situations in all."
        )
    target, reward, broken = _steps(mission, model, promiser)
    over = np.array([u in machine.terminal or u in machine.failure for u in range(shape[0])])
    columns = [model.propositions.index(name) for name in model.constraints]
    true_constraints = pack(model.labels[:, columns])

    def act(codes: IntArray) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return what follows, what it earns and whether that is the end, `(codes, actions)`."""
        u, violated, state = (part[:, None] for part in np.unravel_index(codes, shape))
        after = model.transitions[state[:, 0]]
        reached, earned = target[u[:, 0], state[:, 0]], reward[u[:, 0], state[:, 0]]
        moved_on = (reached != u) | (earned > 0)
        changed = true_constraints[state] ^ true_constraints[after]
        history = np.where(moved_on, 0, violated | changed)
        following = np.ravel_multi_index((reached, history, after), shape)
        return following, earned, over[reached] | broken[u[:, 0], state[:, 0]]

    first = np.ravel_multi_index((machine.initial, 0, model.start_states), shape)
    met = np.zeros(np.prod(shape), np.bool_)
    frontier = first
    while len(frontier):
        met[frontier] = True
        following, _, ended = act(frontier)
        onward = np.unique(following[~ended])
        frontier = onward[~met[onward]]
    codes = np.flatnonzero(met)
    number = np.cumsum(met) - 1
    following, earned, ended = act(codes)
    u, violated, state = np.unravel_index(codes, shape)
    return TabularMission(
        mission=mission,
        model=model,
        machine_state=u,
        violated=violated,
        state=state,
        following=np.where(ended, 0, number[following]),
        reward=earned,
        ended=ended,
        starts=number[first],
    )


def _steps(
    mission: Mission, model: TabularModel, promiser: Policy | None
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return δ_u, δ_r and whether a promise is broken, `[u, state, action]`: as a policy prefers."""
    machine = mission.machine
    plain = [
        [machine.step(u, labels) for labels in model.label_sets] for u in range(machine.num_states)
    ]
    entered = model.label_ids[model.transitions]
    target = np.array([[o.target for o in row] for row in plain], np.int64)[:, entered]
    reward = np.array([[o.reward for o in row] for row in plain], np.float64)[:, entered]
    broken = np.zeros(target.shape, np.bool_)
    if promiser is None or not machine.jumps:
        return target, reward, broken
    for state, path in _paths(model, promiser).items():
        promiser.start(path[0])
        for cell in path[1:]:
            promiser.entered(cell, moved=False)
        for action, after in enumerate(model.transitions[state].tolist()):
            labels = model.label_sets[model.label_ids[after]]
            for u in set(range(machine.num_states)) - machine.terminal - machine.failure:
                options = machine.options(u, labels)
                chosen = options[0]
                if len(options) > 1:
                    chosen = promiser.prefer(u, options, int(model.cells[after]))
                kept = machine.keeps(u, chosen)
                target[u, state, action] = chosen.target
                reward[u, state, action] = chosen.reward if kept else 0.0
                broken[u, state, action] = not kept
    return target, reward, broken


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """A zero-shot policy as arrays over situations."""

    composed: FloatArray
    """δ_Q(u)(⟨s,c⟩, a), `[situation, action]`; 0 where the policy refuses to begin."""
    action: IntArray
    """What the policy does, `[situation]`."""


def tabulate(world: TabularMission, policy: Policy, primitives: Primitives) -> ZeroShot:
    """Ask the policy once in every situation; the paper's sees the cell of the world's state only,

    and of all planners it alone sees the violated constraints.

    A policy may count visits, so it is led to each state of the world along a shortest path. What it
    knows there must depend on that state alone, which holds for counters of visits.
    """
    paper = isinstance(policy, PaperPolicy)
    sees = world.model.cells[world.state] if paper else world.state
    history = world.violated if paper else np.zeros_like(world.violated)
    views = np.stack([world.machine_state, history, sees], axis=1)
    _, asked, view = np.unique(views, axis=0, return_index=True, return_inverse=True)
    histories = Histories(world.model.constraints)
    composed = np.zeros((len(asked), world.model.num_actions))
    action = np.zeros(len(asked), np.int64)
    run = MissionRun(policy, primitives, max_steps=1)
    paths = _paths(world.model, policy)
    here = IMPOSSIBLE
    for index in np.argsort(world.state[asked]).tolist():
        situation = asked[index]
        state = int(world.state[situation])
        if state not in paths:
            continue
        if state != here:
            policy.start(paths[state][0])
            for cell in paths[state][1:]:
                policy.entered(cell, moved=False)
            here = state
        u = int(world.machine_state[situation])
        run.visit(u, histories.names(int(world.violated[situation])))
        values = primitives.values(paths[state][-1], run.history)
        assert isinstance(values, GoalValues), "tabular worlds have discrete actions"
        composed[index] = policy.composed(u, values)
        action[index] = run.decide(values).action
    return ZeroShot(composed[view.reshape(-1)], action[view.reshape(-1)])


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
    solvable = world.optimal != IMPOSSIBLE
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
    optimal = world.optimal[solvable].astype(np.float64)
    nearest = optimal.min(initial=np.inf)  # Of far missions, γ to the steps is no number.
    returns = np.where(won, gamma ** (succeeded - nearest), 0.0)
    best = gamma ** (optimal - nearest)
    steps = float(succeeded[won].mean()) if won.any() else 0.0
    return Score(float(returns.mean() / best.mean()), float(won.mean()), steps)
