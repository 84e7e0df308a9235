"""Looking ahead from where the robot is: what a goal is worth, given where it leaves the next ones.

On average, what lies behind a goal is known from `GoalToGoal`. Primitives that also serve
*continuation* values say it for the state at hand: which of two goals leaves the one after it
nearer. So the goals of the next few moves of the machine are planned together, over all sequences of
label sets:

    w(l₁ l₂ l₃) = r₁ + γ · next(l₁, l₂) · (r₂ + γ · next(l₂, l₃) · (r₃ + γ · the rest on average))

What is shown once is taken to be elsewhere afterwards (an object that was collected), so a second time
in a sequence it counts as on average. A way that is allowed to touch what the sequence needs later
might spoil it, and counts as `CARELESS_STEPS` longer for each such label set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_machine.reward_machine import Outcome, RewardMachine
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import GoalToGoal, Skills
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# What achieving each goal does to a mission's machine, as arrays over machine states and goals.


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
    """`(n,)`: the reward of that; −∞ where it breaks a commitment."""
    idle_target: IntArray
    """For each machine state, where a step that shows nothing leads."""
    idle_reward: FloatArray
    """Its reward; −∞ where it does not move the machine, or breaks a commitment."""
    commitments: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """The machine states in which commitments can be made, with the states under each."""

    def leads_to(self) -> list[list[int]]:
        """Return the machine states that what is worth anything in each state depends on."""
        passed: list[list[int]] = [[] for _ in self.moves]
        for state, _, target in self.passing.tolist():
            passed[state].append(target)
        for state, ways in self.commitments:
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
            for state, ways in self.commitments:
                leads[state] |= leads[list(ways)].any(axis=0)
            waiting = (self.idle_reward > 0) | (
                ~np.isinf(self.idle_reward) & good[self.idle_target]
            )
            found = good | leads.any(axis=1) | waiting
            if (found == good).all():
                return np.flatnonzero(leads.any(axis=0))
            good = found

    def among(self, states: list[int]) -> GoalOutcomes:
        """Return the same for some machine states only, without commitments."""
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

    def log_worth(self, continuation: FloatArray, most: FloatArray, log_gamma: float) -> FloatArray:
        """Return log of each goal's worth, if `continuation[u, g]` is that of going on from it in u."""
        after = np.take_along_axis(continuation, self.target, axis=0)
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
                for state, ways in self.commitments:
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
        lost = np.log(np.maximum(reward + np.exp(np.minimum(after, 700.0)), 0.0))
        gained = np.logaddexp(np.log(np.maximum(reward, 0.0)), after)
    return np.where(reward < 0, lost, gained)


def goal_outcomes(machine: RewardMachine, skills: Skills) -> GoalOutcomes:
    """Put the machine's answers to all label sets of the goal buffer into arrays."""
    goals, constraints = skills.goals, frozenset(skills.constraints)
    shape = machine.num_states, len(goals)
    moves, target = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    reward = np.zeros(shape)
    passing, passing_reward = [], []
    label_sets = label_sets_of(goals)
    table = machine.table([frozenset(), *label_sets])
    idle_target, idle_reward = np.zeros(shape[0], np.int64), np.full(shape[0], -np.inf)
    for state, (nothing, *shown) in enumerate(table):
        if not _stays(state, nothing) and machine.keeps(state, nothing):
            idle_target[state], idle_reward[state] = nothing
        outcomes = dict(zip(label_sets, shown, strict=True))
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
            if (ways := machine.commitments(state))
        ),
    )


def _stays(state: int, outcome: Outcome) -> bool:
    return outcome.target == state and outcome.reward <= 0


DEPTH: Final = 4
"""Moves of the machine that are planned together."""
LARGEST: Final = 600.0
"""The logarithm of the largest number of units: more would be no number."""
CARELESS_STEPS: Final = 0.5
"""By how many steps a way counts as longer for each label set needed later that it may touch.

It decides between ways that exact values do not tell apart: with perfect skills, `skm eval
moving_targets --task 2 --exact --episodes 200 --seed 13` has 0.987 of the reference's rounds with it,
0.949 without. With learned skills 1,000 boards do not tell them apart, 3.498 rounds as it is and 3.494
without: `python benchmarks/ablations.py --domain moving_targets --tasks 2 --runs 660 --seed 6103
--without "careless steps"`, and 340 boards of seed 6102."""


@dataclass(frozen=True)
class _Place:
    """One place in all sequences from a machine state; arrays are `[sequence, way]`."""

    goals: IntArray
    """The goals that show the label set at this place, one for each set V."""
    reward: FloatArray
    most: FloatArray
    """The most that the goal can be worth, for what may happen on the way to it."""
    factor: FloatArray
    """0 where the goal does not move the machine; else how careful the way to it is."""
    leg: IntArray
    """Where the value of the way here is, in the continuation values followed by the averages."""

    def worth(self, rest: FloatArray, gamma: float) -> FloatArray:
        """Return what achieving each goal is worth, if `rest[sequence]` is what follows."""
        return np.minimum(self.reward + gamma * rest[:, None], self.most) * self.factor


class Lookahead:
    """Plans the next moves of a machine with the continuation values of the state at hand."""

    def __init__(
        self,
        skills: Skills,
        behind: GoalToGoal,
        outcomes: GoalOutcomes,
        anywhere: FloatArray,
    ) -> None:
        """`anywhere[u]`: log of what the machine state u is worth in a typical state of the world."""
        goals, constraints = skills.goals, frozenset(skills.constraints)
        label_sets = label_sets_of(goals)
        ways = [
            [index for index, goal in enumerate(goals) if goal.labels == labels]
            for labels in label_sets
        ]
        most_ways = max(map(len, ways))
        self._goals_of: IntArray = np.array([(w + w[:1] * most_ways)[:most_ways] for w in ways])
        """`[label set, way]`; the first goal again where there are fewer ways."""
        self._touchable = np.array(
            [[labels & constraints <= goal.violated for labels in label_sets] for goal in goals]
        )
        self._average = np.asarray(behind.table, np.float64)[self._goals_of[:, 0]].ravel()
        self._gamma = skills.gamma
        self._outcomes, self._anywhere = outcomes, anywhere
        self._most = outcomes.log_most(anywhere, math.log(skills.gamma))
        self._plans: dict[int, tuple[list[_Place], FloatArray]] = {}

    def log_weights(self, state: int, continuation: Float32Array) -> FloatArray:
        """Return log of what achieving each goal is worth in a machine state.

        `continuation` holds there. It is worked out in units of what the state is worth, which may be
        too small for a number.
        """
        if state not in self._plans:
            self._plans[state] = self._plan(state)
        places, value = self._plans[state]
        legs = np.concatenate([continuation.ravel(), self._average])
        for place in reversed(places[1:]):
            value = (legs[place.leg] * place.worth(value, self._gamma)).max(axis=1, initial=0.0)
        weights = np.zeros(self._outcomes.moves.shape[1])
        np.maximum.at(weights, places[0].goals, places[0].worth(value, self._gamma))
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(np.maximum(weights, 0.0)) + self._unit(state)
        return logarithms

    def _unit(self, state: int) -> float:
        """Return the logarithm of the unit in which weights in a machine state are worked out."""
        worth = float(self._anywhere[state])
        return min(worth, 0.0) if math.isfinite(worth) else 0.0

    def _plan(self, state: int) -> tuple[list[_Place], FloatArray]:
        """Return the places of all sequences that start in a machine state, and what follows them."""
        sequences, states = self._sequences(state)
        unit = self._unit(state)
        rows = np.arange(len(sequences))
        places = []
        later = np.zeros((len(sequences), len(self._goals_of)), np.bool_)
        for number in reversed(range(DEPTH)):
            labels = sequences[:, number]
            goals = self._goals_of[labels]
            here = states[:, number, None]
            spoilt = self._touchable[goals] & later[:, None, :]
            spoilt[rows, :, labels] = False
            careful = self._gamma ** (CARELESS_STEPS * spoilt.sum(axis=2))
            again = (sequences[:, :number] == labels[:, None]).any(axis=1)
            source = sequences[:, number - 1] + again * len(self._goals_of)
            places.append(
                _Place(
                    goals,
                    self._outcomes.reward[here, goals] * math.exp(min(-unit, LARGEST)),
                    np.exp(np.minimum(self._most[here, goals] - unit, LARGEST)),
                    self._outcomes.moves[here, goals] * careful,
                    source[:, None] * self._outcomes.moves.shape[1] + goals,
                )
            )
            later[rows, labels] = True
        rest = self._anywhere[states[:, DEPTH]] - unit
        return places[::-1], np.exp(np.minimum(rest, LARGEST))

    def _sequences(self, state: int) -> tuple[IntArray, IntArray]:
        """Return sequences of label sets that move the machine, and the machine states they pass.

        Where nothing moves it any more, any label set will do: it is worth nothing.
        """
        sequences = np.zeros((1, 0), np.int64)
        states = np.full((1, 1), state)
        for _ in range(DEPTH):
            moving = self._outcomes.moves[states[:, -1]][:, self._goals_of[:, 0]]
            moving[:, 0] |= ~moving.any(axis=1)
            row, labels = np.nonzero(moving)
            target = self._outcomes.target[states[row, -1], self._goals_of[labels, 0]]
            sequences = np.column_stack([sequences[row], labels])
            states = np.column_stack([states[row], target])
        return sequences, states
