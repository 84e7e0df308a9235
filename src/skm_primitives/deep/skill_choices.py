"""What a few-shot learner of one task chooses among: the skill machine itself, or the skill of one goal.

Choice 0 is to do what the skill machine does; choice 1 + g is to pursue goal g of the goal buffer. In a
machine state, those goals are on offer whose labels move the machine, and not into failure.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from skm_machine.reward_machine import Outcome, RewardMachine
from skm_primitives.goals import Goal
from skm_primitives.planning.policy import best_of_goals
from skm_primitives.primitives import AnyGoalValues
from skm_sim.arrays import BoolArray

SKILL_MACHINE: Final = 0
"""The choice that is the zero-shot policy."""


class SkillChoices:
    """The choices in every state of a machine."""

    def __init__(self, machine: RewardMachine, goals: tuple[Goal, ...]) -> None:
        self.count = 1 + len(goals)
        self.offered: BoolArray = np.zeros((machine.num_states, self.count), np.bool_)
        """`[machine state, choice]`"""
        self.offered[:, SKILL_MACHINE] = True
        for state in set(range(machine.num_states)) - machine.terminal:
            for index, goal in enumerate(goals):
                outcomes = machine.options(state, goal.labels)
                self.offered[state, 1 + index] = any(
                    _leads_on(machine, state, outcome) for outcome in outcomes
                )

    def possible(self, state: int, values: AnyGoalValues) -> BoolArray:
        """Return which choices there are here: goals that are on offer and within reach."""
        found: BoolArray = self.offered[state].copy()
        found[1:] &= best_of_goals(values)[1] > 0
        return found

    def agreeing(self, values: AnyGoalValues, own: Any, action: Any) -> BoolArray:  # noqa: ANN401
        """Return which choices would have taken this action; `own` is the skill machine's."""
        actions = np.asarray(best_of_goals(values)[0]).reshape(self.count - 1, -1)
        same: BoolArray = np.zeros(self.count, np.bool_)
        same[SKILL_MACHINE] = np.array_equal(own, action)
        same[1:] = (actions == np.reshape(action, -1)).all(axis=1)
        return same


def _leads_on(machine: RewardMachine, state: int, outcome: Outcome) -> bool:
    if outcome.reward > 0:
        return True
    lost = outcome.target in machine.failure or outcome.target in machine.terminal
    return outcome.target != state and not lost
