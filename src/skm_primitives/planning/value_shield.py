"""The shield where only values are known: it vetoes what they call lost.

Networks know no world to work a failure out on, only how far every goal is. That says of a decision:

- where it leads: its goal may fail the machine on arrival, or be one that is allowed to touch on the way
  what would fail it; or the action itself may show labels that fail it;
- what becomes of it: a goal that is worth next to nothing is out of reach;
- what is near: an action that is not the best one to its goal (a detour) is a risk where labels that
  fail the machine are only a few steps away.

Such a decision is replaced by the best action to the best goal that has none of these faults; the robot
is to stop where the values give every such goal up. It is as good as they are, and not exact: where
nothing can fail the machine, it lets everything pass.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from skm_machine.mission import Mission
from skm_primitives.goals import label_sets_of
from skm_primitives.planning.goal_outcomes import goal_outcomes
from skm_primitives.planning.policy import Decision, Policy, action_ranks, noise_of
from skm_primitives.primitives import AnyGoalValues, ContinuousGoalValues, GoalValues, Skills
from skm_sim.arrays import BoolArray, FloatArray

LOST: Final = 0.01
"""A goal of this value, γ to its distance, is out of reach, if that is far enough."""
FAR_STEPS: Final = 458.21
"""How far that is at least: 0.01 where γ is 0.99. With γ = 0.9 it would be 44 steps."""
NEAR_STEPS: Final = 8
"""Labels that fail the machine are near if they can be shown within so many steps."""


def out_of_reach(gamma: float) -> float:
    """Return the value of goals that count as out of reach: of no skill is it less than far away."""
    return float(min(LOST, gamma**FAR_STEPS))


class ValueShield:
    """Vets what a policy has chosen, by the values that it has chosen from."""

    def __init__(self, mission: Mission, skills: Skills) -> None:
        machine = mission.machine
        outcomes = goal_outcomes(machine, skills)
        failure = sorted(machine.failure)
        fails: BoolArray = np.asarray(np.isin(outcomes.target, failure))
        self._fails = fails
        """`[u, goal]`: whether arriving there fails the machine."""
        self._risky = fails.copy()
        for state, goal, target in outcomes.passing.tolist():
            self._risky[state, goal] |= target in machine.failure
        self._can_fail: BoolArray = np.asarray(fails.any(axis=1))
        self._moves = outcomes.moves
        sets = label_sets_of(skills.goals)
        self._label_ids = np.array([sets.index(goal.labels) for goal in skills.goals])
        self._skills = skills
        self._near = skills.gamma**NEAR_STEPS
        self._lost = out_of_reach(skills.gamma)
        self.replaced = 0
        """How many actions it has replaced."""
        self.veto = ""
        """What it did about the last action, for people; empty: it let it pass."""

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin: nothing is remembered."""

    def entered(self, observation: Any) -> None:  # noqa: ANN401
        """Take note of a step: nothing is remembered."""

    def vet(
        self, state: int, decision: Decision, values: AnyGoalValues, policy: Policy
    ) -> Decision | None:
        """Return the decision, or a better one instead of it; None: stop."""
        self.veto = ""
        if not self._can_fail[state] or decision.waiting or decision.leaving:
            return decision
        if isinstance(values, ContinuousGoalValues):
            found = self._vet_goal(state, decision, values)
        else:
            found = self._vet_action(state, decision, values, policy)
        if found is not decision:
            self.replaced += 1
            self.veto = "what was chosen could fail the mission, by the values: "
            self.veto += "the robot stops" if found is None else "another choice takes its place"
        return found

    def _vet_goal(
        self, state: int, decision: Decision, values: ContinuousGoalValues
    ) -> Decision | None:
        """Vet the goal in pursuit, and the action to it."""
        goal = decision.goal
        worth = np.where(self._risky[state], 0.0, values.value)
        if goal < 0:
            return decision  # it lets its wheels stand
        near = float(values.value[self._fails[state]].max(initial=0.0)) >= self._near
        strays = near and not np.array_equal(decision.action, values.action[goal])
        if worth[goal] > self._lost and not strays:
            return decision
        best = self._best(state, goal, worth)
        if worth[best] <= self._lost:
            return None
        noise = noise_of(self._skills, float(values.spread[best]))
        return Decision(values.action[best], best, float(worth[best]), noise)

    def _best(self, state: int, goal: int, worth: FloatArray) -> int:
        """Return the goal to pursue: one that shows the same as the policy's, else any that moves."""
        same = np.where(self._label_ids == self._label_ids[goal], worth, 0.0)
        if same.max() > self._lost:
            return int(goal if same[goal] > self._lost else same.argmax())
        return int(np.where(self._moves[state], worth, 0.0).argmax())

    def _vet_action(
        self, state: int, decision: Decision, values: GoalValues, policy: Policy
    ) -> Decision | None:
        """Vet one of a choice of actions."""
        lost = self.lost_actions(state, values)
        if not lost[decision.action]:
            return decision
        if lost.all():
            return None
        action = int(np.where(lost, -np.inf, action_ranks(policy, state, values)).argmax())
        worth = float(policy.composed(state, values)[action])
        return Decision(action, decision.goal, worth, decision.noise)

    def lost_actions(self, state: int, values: GoalValues) -> BoolArray:
        """Return which actions show what fails the machine, or leave no goal within reach."""
        shows: FloatArray = np.asarray(values.stop, np.float64)
        failing = shows[self._fails[state]].max(axis=0, initial=0.0)
        other = shows[~self._fails[state]].max(axis=0, initial=0.0)
        reach = np.maximum(values.move, values.stop)[~self._risky[state]].max(axis=0, initial=0.0)
        lost: BoolArray = ((failing > self._lost) & (failing > other)) | (reach <= self._lost)
        return lost
