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
"""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Discrete

from skm_machine.reward_machine import RewardMachine
from skm_primitives.goals import label_sets_of
from skm_primitives.planning.goal_outcomes import GoalOutcomes
from skm_primitives.planning.value_shield import LOST, NEAR_STEPS
from skm_primitives.primitives import GoalToGoal, Skills
from skm_sim.arrays import BoolArray, Float32Array


def brittle_goals(
    machine: RewardMachine, outcomes: GoalOutcomes, skills: Skills, behind: GoalToGoal
) -> BoolArray:
    """Return `[u, g]`: the goals that are brittle in each machine state."""
    if isinstance(skills.action_space, Discrete):
        return np.zeros_like(outcomes.moves)
    labels = label_sets_of(skills.goals)
    near = _near(skills, labels, behind)
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    after = {state: [machine.step(state, shown) for shown in labels] for state in running}
    fails = {u: np.array([o.target in machine.failure for o in after[u]]) for u in running}
    brittle = np.zeros((machine.num_states, len(labels)), np.bool_)
    for state in running:
        for shown, (target, reward) in enumerate(after[state]):
            moves = target != state or reward > 0
            if moves and target in fails and target not in machine.failure:
                brittle[state, shown] = bool((near[shown] & fails[target]).any())
    constraints = frozenset(skills.constraints)
    meets = np.array(
        [
            [
                shown == goal.labels or _may_touch(shown & constraints, goal.violated)
                for shown in labels
            ]
            for goal in skills.goals
        ]
    )
    found: BoolArray = outcomes.moves & (brittle @ meets.T)
    return found


def sturdy(wanted: BoolArray, brittle: BoolArray, value: Float32Array) -> BoolArray:
    """Return which of the wanted goals to pursue: those not brittle, if one of them is in reach."""
    kept: BoolArray = wanted & ~brittle
    return kept if (value[kept] > LOST).any() else wanted


def _near(skills: Skills, labels: tuple[frozenset[str], ...], behind: GoalToGoal) -> BoolArray:
    """Return `[l, m]`: whether label set m is within a few steps of where l was just shown."""
    rows = np.array([labels.index(goal.labels) for goal in skills.goals])
    nearness = np.zeros((len(labels), len(labels)))
    np.maximum.at(nearness, (rows[:, None], rows[None]), np.asarray(behind.table, np.float64))
    least = skills.gamma**NEAR_STEPS
    near: BoolArray = nearness >= least
    return near


def _may_touch(touched: frozenset[str], violated: frozenset[str]) -> bool:
    return bool(touched) and touched <= violated
