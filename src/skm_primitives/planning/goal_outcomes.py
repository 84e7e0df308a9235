"""What achieving each goal does to a mission's machine, as arrays over machine states and goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skm_machine.reward_machine import Outcome, RewardMachine
from skm_primitives.goals import label_sets_of
from skm_primitives.primitives import Skills
from skm_sim.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class GoalOutcomes:
    """The machine's move for each [machine state, goal], and what may happen on the way to it."""

    moves: BoolArray
    """Whether achieving the goal moves the machine at all, or rewards."""
    target: IntArray
    """The machine state δ_u that it leads to."""
    reward: FloatArray
    """The reward δ_r."""
    passing: IntArray
    """`(n, 3)`: machine state, goal, and the machine state that another label set leads to, which the
    way to the goal is allowed to touch. What the machine cannot tell from showing nothing is not among
    them: any way shows nothing at times, whatever it avoids."""
    passing_reward: FloatArray
    """`(n,)`: the reward of that; −∞ where it breaks a promise."""
    idle_target: IntArray
    """For each machine state, where a step that shows nothing leads."""
    idle_reward: FloatArray
    """Its reward; −∞ where it does not move the machine, or breaks a promise."""
    promises: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """The machine states in which promises can be made, with the states under each."""

    def worth(self, onward: FloatArray, most: FloatArray, gamma: float) -> FloatArray:
        """Return what each goal is worth, if `onward[u, g]` is the value of going on from it in u."""
        after = np.take_along_axis(onward, self.target, axis=0)
        worth = np.minimum(self.reward + gamma * after, most)
        worth = np.where(self.moves, np.maximum(worth, 0.0), 0.0)
        for state, ways in self.promises:
            np.maximum(worth[state], worth[list(ways)].max(axis=0), out=worth[state])
        return worth

    def leading_somewhere(self) -> IntArray:
        """Return the goals by which a reward can follow in some machine state, if all could be achieved.

        All other goals are worth nothing, whatever the world is like.
        """
        good = np.zeros(len(self.moves), np.bool_)
        while True:
            leads = self.moves & ((self.reward > 0) | good[self.target])
            for state, ways in self.promises:
                leads[state] |= leads[list(ways)].any(axis=0)
            waiting = (self.idle_reward > 0) | (
                ~np.isinf(self.idle_reward) & good[self.idle_target]
            )
            found = good | leads.any(axis=1) | waiting
            if (found == good).all():
                return np.flatnonzero(leads.any(axis=0))
            good = found

    def idle(self, anywhere: FloatArray, gamma: float) -> FloatArray:
        """Return what each machine state is worth by showing nothing in the next step."""
        after = self.idle_reward + gamma * anywhere[self.idle_target]
        return gamma * np.maximum(after, 0.0)

    def most(self, anywhere: FloatArray, gamma: float) -> FloatArray:
        """Return the most that each goal can be worth, for what may happen on the way to it.

        `anywhere[u]` is what the machine state u is worth in a typical state of the world. A way that
        may touch what fails the mission is worth nothing.
        """
        most = np.full(self.moves.shape, np.inf)
        state, goal, target = self.passing.T
        np.minimum.at(most, (state, goal), self.passing_reward + gamma * anywhere[target])
        return most


def goal_outcomes(machine: RewardMachine, skills: Skills) -> GoalOutcomes:
    """Put the machine's answers to all label sets of the goal buffer into arrays."""
    goals, constraints = skills.goals, frozenset(skills.constraints)
    shape = machine.num_states, len(goals)
    moves, target = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    reward = np.zeros(shape)
    passing, passing_reward = [], []
    label_sets = label_sets_of(goals)
    idle_target, idle_reward = np.zeros(shape[0], np.int64), np.full(shape[0], -np.inf)
    for state in range(machine.num_states):
        if state in machine.terminal:
            continue
        nothing = machine.step(state, frozenset())
        if not _stays(state, nothing) and machine.keeps(state, nothing):
            idle_target[state], idle_reward[state] = nothing
        outcomes = {labels: machine.step(state, labels) for labels in label_sets}
        moving = {labels for labels in label_sets if not _stays(state, outcomes[labels])}
        for index, goal in enumerate(goals):
            if goal.labels not in moving:
                continue
            moves[state, index] = machine.keeps(state, outcomes[goal.labels])
            target[state, index], reward[state, index] = outcomes[goal.labels]
            for labels in moving - {goal.labels}:
                touched = labels & constraints
                if touched and touched <= goal.violated and outcomes[labels] != nothing:
                    passing.append((state, index, outcomes[labels].target))
                    kept = machine.keeps(state, outcomes[labels])
                    passing_reward.append(outcomes[labels].reward if kept else -np.inf)
    return GoalOutcomes(
        moves,
        target,
        reward,
        np.array(passing, np.int64).reshape(-1, 3),
        np.array(passing_reward, np.float64),
        idle_target,
        idle_reward,
        tuple(
            (state, ways)
            for state in range(machine.num_states)
            if (ways := machine.promises(state))
        ),
    )


def _stays(state: int, outcome: Outcome) -> bool:
    return outcome.target == state and outcome.reward <= 0
