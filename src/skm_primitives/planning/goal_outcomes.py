"""What achieving each goal does to a mission's machine, as arrays over machine states and goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_machine.reward_machine import Outcome, RewardMachine
from skm_primitives.goals import label_sets_of
from skm_primitives.primitives import Skills
from skm_sim.arrays import BoolArray, FloatArray, IntArray

NEVER: Final = 1 << 40
"""Stands for a number of moves where there is none."""


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

    def leads_to(self) -> list[list[int]]:
        """Return the machine states that what is worth anything in each state depends on."""
        passed: list[list[int]] = [[] for _ in self.moves]
        for state, _, target in self.passing.tolist():
            passed[state].append(target)
        for state, ways in self.promises:
            passed[state] += ways
        for state in np.flatnonzero(np.isfinite(self.idle_reward)).tolist():
            passed[state].append(int(self.idle_target[state]))
        rows = zip(self.target, self.moves, passed, strict=True)
        return [sorted({*target[moves].tolist(), *more}) for target, moves, more in rows]

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

    def among(self, states: list[int]) -> GoalOutcomes:
        """Return the same for some machine states only, without promises."""
        number = {state: index for index, state in enumerate(states)}
        some = np.isin(self.passing[:, 0], states)
        passing = self.passing[some].copy()
        passing[:, 0] = [number[state] for state in passing[:, 0].tolist()]
        return GoalOutcomes(
            self.moves[states],
            self.target[states],
            self.reward[states],
            passing,
            self.passing_reward[some],
            self.idle_target[states],
            self.idle_reward[states],
        )

    def log_worth(self, onward: FloatArray, most: FloatArray, log_gamma: float) -> FloatArray:
        """Return log of what each goal is worth, if `onward[u, g]` is that of going on from it in u."""
        after = np.take_along_axis(onward, self.target, axis=0)
        worth = np.minimum(log_sum(self.reward, log_gamma + after), most)
        return np.where(self.moves, worth, -np.inf)

    def log_idle(self, anywhere: FloatArray, log_gamma: float) -> FloatArray:
        """Return log of what each machine state is worth by showing nothing in the next step."""
        after = log_gamma + anywhere[self.idle_target]
        return log_gamma + log_sum(self.idle_reward, after)

    def log_most(self, anywhere: FloatArray, log_gamma: float) -> FloatArray:
        """Return log of the most that each goal can be worth, for what may happen on the way to it.

        `anywhere[u]` is what the machine state u is worth in a typical state of the world, as a
        logarithm. A way that may touch what fails the mission is worth nothing.
        """
        most = np.full(self.moves.shape, np.inf)
        state, goal, target = self.passing.T
        found = log_sum(self.passing_reward, log_gamma + anywhere[target])
        np.minimum.at(most, (state, goal), found)
        return most

    def steps_to_reward(self, endless: bool, ended: BoolArray) -> IntArray:
        """Return how many moves of the machine it takes to a reward from each state; `NEVER`: none.

        By goals of the buffer and by showing nothing, whatever their values: networks may be wrong, so
        that only this proves that a mission cannot be achieved. If `endless`, to one after which
        others follow without end. `ended[g]`: whether the world ends where the goal is achieved.
        """
        moves, rewarded = self.moves & ~ended, self.moves & (self.reward > 0)
        idle = np.isfinite(self.idle_reward)
        paid_idle = idle & (self.idle_reward > 0)
        counted, counted_idle = rewarded, paid_idle
        while True:
            steps = np.full(len(moves), NEVER)
            while True:
                by_goals = np.where(counted, 1, np.where(moves, 1 + steps[self.target], NEVER))
                by_none = np.where(
                    counted_idle, 1, np.where(idle, 1 + steps[self.idle_target], NEVER)
                )
                fewer = np.minimum(by_goals.min(axis=1, initial=NEVER), by_none)
                for state, ways in self.promises:
                    fewer[state] = min(fewer[state], *fewer[list(ways)].tolist())
                fewer = np.minimum(fewer, NEVER)
                if np.array_equal(fewer, steps):
                    break
                steps = fewer
            lasting = steps < NEVER
            again = rewarded & lasting[self.target] & ~ended if endless else rewarded
            again_idle = paid_idle & lasting[self.idle_target] if endless else paid_idle
            if np.array_equal(again, counted) and np.array_equal(again_idle, counted_idle):
                return steps
            counted, counted_idle = again, again_idle


def log_sum(reward: FloatArray, after: FloatArray) -> FloatArray:
    """Return the logarithm of a reward and what follows, given its logarithm; −∞ if that is below 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        owed = np.log(np.maximum(reward + np.exp(np.minimum(after, 700.0)), 0.0))
        gained = np.logaddexp(np.log(np.maximum(reward, 0.0)), after)
    return np.where(reward < 0, owed, gained)


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
