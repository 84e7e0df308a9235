"""Brittle goals: those at which a robot that stays a step longer, or slips a little, fails the mission.

A goal is achieved in one step, but a robot with continuous actions is not gone in the next: it shows the
same labels for a while, and where it slips, those of the places beside. A button in a region may be just
what a mission asks for, and yet lose it if from then on regions are forbidden: nobody is out of one in a
single step. So may a cylinder that reaches into a region, by a step to the wrong side.

What lies beside a goal is known on average: `goal_to_goal` says how far every label set is where the
goal was just achieved, its own included. A label set is brittle in a machine state if it moves the
machine to where labels fail it that are within a few steps, by the nearest way, whatever that touches.
A goal is brittle if it shows such labels, or may touch them on its way.

Of several goals that serve, a robot goes to one that is not brittle, however far. A brittle one is left
for where no other is in reach, or where another way is due (`progress`), for learned values also believe
in goals that are not there. Missions that end with a goal lose nothing after it, and those whose
failures are far from their goals, as most, are planned as ever. Robots that move from place to place, by
one of a few actions, do not slip.

A robot that has come to such a place all the same, its mission unharmed, leaves it by the shortest way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from gymnasium.spaces import Discrete

from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.lookahead import GoalOutcomes
from skm_primitives.planning.policy import Decision
from skm_primitives.planning.shield import NEAR_STEPS, out_of_reach
from skm_primitives.skills.goals import Goal, label_sets_of
from skm_primitives.skills.values import ContinuousGoalValues, GoalToGoal, Skills
from skm_sim.arrays import BoolArray, Float32Array


class Brittle:
    """What is brittle in a mission, with the goals that some skills have."""

    def __init__(
        self, machine: RewardMachine, outcomes: GoalOutcomes, skills: Skills, behind: GoalToGoal
    ) -> None:
        self._labels = label_sets_of(skills.goals)
        self._constraints = frozenset(skills.constraints)
        self.goals: BoolArray = np.zeros_like(outcomes.moves)
        """`[u, g]`: the goals that are brittle in each machine state."""
        self._lost: BoolArray = np.zeros((machine.num_states, len(self._labels)), np.bool_)
        """`[u, l]`: where label set l is shown, whether what fails the machine in u is near."""
        self._caught = self._lost.copy()
        """`[u, l]`: whether l leads to u, and that is by constraints that l shows: it is in them."""
        free = {goal.labels: i for i, goal in enumerate(skills.goals) if self._is_free(goal)}
        self._free = np.array([free.get(goal.labels, i) for i, goal in enumerate(skills.goals)])
        if not isinstance(skills.action_space, Discrete):
            self._find(machine, outcomes, skills, behind)

    def _is_free(self, goal: Goal) -> bool:
        return goal.violated == self._constraints

    def _find(
        self, machine: RewardMachine, outcomes: GoalOutcomes, skills: Skills, behind: GoalToGoal
    ) -> None:
        labels = self._labels
        near = _near(skills, labels, behind)
        within = np.array([[self._are_within(m, shown) for m in labels] for shown in labels])
        running = [state for state in range(machine.num_states) if state not in machine.terminal]
        after = {state: [machine.step(state, shown) for shown in labels] for state in running}
        inside = np.zeros_like(self._lost)
        for state in set(running) - machine.failure:
            fails = np.array([outcome.target in machine.failure for outcome in after[state]])
            self._lost[state] = (near & fails).any(axis=1)
            inside[state] = (near & fails & within).any(axis=1)
        brittle = np.zeros_like(self._lost)
        for state in running:
            for shown, (target, reward) in enumerate(after[state]):
                moves = target != state or reward > 0
                brittle[state, shown] = moves and self._lost[target, shown]
                self._caught[target, shown] |= inside[target, shown]
        meets = np.array(
            [
                [shown == goal.labels or self._are_within(shown, goal.violated) for shown in labels]
                for goal in skills.goals
            ]
        )
        self.goals = outcomes.moves & (brittle @ meets.T)

    def _are_within(self, shown: frozenset[str], others: frozenset[str]) -> bool:
        """Tell whether a label set shows constraints, and only such as are among others."""
        touched = shown & self._constraints
        return bool(touched) and touched <= others

    def asked(self, state: int, wanted: BoolArray) -> BoolArray:
        """Return the goals to ask about in a machine state, of which some are wanted: see `leave`."""
        if not self._caught[state].any():
            return wanted
        asked = wanted.copy()
        asked[self._free[wanted]] = True
        return asked

    def leave(
        self, state: int, labels: frozenset[str], decision: Decision, values: ContinuousGoalValues
    ) -> Decision:
        """Return the decision, or the shortest way where the robot is in what is about to fail it.

        A constraint counts as violated when it changes: there, to goals that allow no violation,
        leaving is as bad as entering was, and the careful thing would be to drift on.
        """
        if decision.goal < 0 or labels not in self._labels:
            return decision
        free = int(self._free[decision.goal])
        if not self._caught[state, self._labels.index(labels)] or free == decision.goal:
            return decision
        return replace(decision, action=values.action[free], leaving=True)


def sturdy(wanted: BoolArray, brittle: BoolArray, value: Float32Array, gamma: float) -> BoolArray:
    """Return which of the wanted goals to pursue: those not brittle, if one of them is in reach."""
    kept: BoolArray = wanted & ~brittle
    return kept if (value[kept] > out_of_reach(gamma)).any() else wanted


def _near(skills: Skills, labels: tuple[frozenset[str], ...], behind: GoalToGoal) -> BoolArray:
    """Return `[l, m]`: whether label set m is within a few steps of where l was just shown."""
    rows = np.array([labels.index(goal.labels) for goal in skills.goals])
    nearness = np.zeros((len(labels), len(labels)))
    np.maximum.at(nearness, (rows[:, None], rows[None]), np.asarray(behind.table, np.float64))
    least = skills.gamma**NEAR_STEPS
    near: BoolArray = nearness >= least
    return near
