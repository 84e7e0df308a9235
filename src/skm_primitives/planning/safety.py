"""The safety term: what it costs to avoid the avoid set, by the values of networks.

A skill's value ends at its goal, and says nothing of what comes after. But all goals together do. A goal
that forbids something on its way is worth at most what the same labels are worth where nothing is
forbidden. The ratio S of the two, strict over free, is 1 far from what is forbidden, and 0 where it
cannot be avoided any more. It is used in three places, with two constants:

- **Actions** (`skills.networks.Caution`): log Q + λ log S, λ = `CAUTION`, with S after the action,
  for the avoid set that a goal leaves.
- **Goals** (`log_safety`): log worth + λ log S, with S where the goal was achieved, for the avoid set
  *after* the transition of the machine. A robot that shows a label is not gone in the next step:
  a button in a region may be what is asked for, and lose a mission that forbids regions from then on.
- **Veto** (`ValueShield`): a decision with S < τ, τ = `LEAST_SAFETY`, does not go out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium.spaces import Discrete

from skm_machine.mission import Mission
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.lookahead import GoalOutcomes, goal_outcomes
from skm_primitives.planning.policy import Decision, Expectation, Policy, action_ranks
from skm_primitives.skills.goals import Goal, label_sets_of
from skm_primitives.skills.networks import CAUTION
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    Skills,
)
from skm_sim.arrays import BoolArray, FloatArray, IntArray

LEAST_SAFETY: Final = 0.01
"""τ: what is safer than this may go out."""
_LEAST_VALUE: Final = 1e-3
"""Values on average are no smaller: a goal that was never seen from somewhere proves nothing."""


def free_twins(skills: Skills) -> IntArray:
    """Return for each goal the one with the same labels that forbids nothing; itself without one."""
    every = frozenset(skills.constraints)
    free = {goal.labels: i for i, goal in enumerate(skills.goals) if goal.violated == every}
    return np.array([free.get(goal.labels, i) for i, goal in enumerate(skills.goals)])


def avoid_sets(machine: RewardMachine, constraints: tuple[str, ...]) -> list[frozenset[str]]:
    """Return the constraints that fail the machine in each of its states when they show alone."""
    return [
        frozenset(
            name
            for name in constraints
            if state not in machine.terminal | machine.failure
            and machine.step(state, frozenset({name})).target in machine.failure
        )
        for state in range(machine.num_states)
    ]


def log_safety(
    machine: RewardMachine, outcomes: GoalOutcomes, skills: Skills, behind: GoalToGoal
) -> FloatArray:
    """Return `[u, g]`: λ log S where goal g was achieved in u, on average over the labels to go to next.

    0 where nothing is forbidden after the transition. Robots that move from place to place, by one of a
    few actions, are gone in the next step: to them nothing is lost.
    """
    found = np.zeros(outcomes.moves.shape)
    if isinstance(skills.action_space, Discrete):
        return found
    avoided, twins = avoid_sets(machine, skills.constraints), free_twins(skills)
    table = np.log(np.maximum(np.asarray(behind.table, np.float64), _LEAST_VALUE))
    costs = {
        avoid: _cost(table, _strictest(skills.goals, avoid), twins)
        for avoid in set(avoided) - {frozenset()}
    }
    for state, goal in np.argwhere(outcomes.moves).tolist():
        target = int(outcomes.target[state, goal])
        if avoided[target]:
            found[state, goal] = CAUTION * costs[avoided[target]][goal]
    return found


def _strictest(goals: tuple[Goal, ...], avoid: frozenset[str]) -> IntArray:
    """Return the goals that neither show nor touch an avoid set, of each label set the freest."""
    freest: dict[frozenset[str], int] = {}
    for index, goal in enumerate(goals):
        if not (goal.labels | goal.violated) & avoid:
            best = freest.get(goal.labels)
            if best is None or goals[best].violated < goal.violated:
                freest[goal.labels] = index
    return np.array(sorted(freest.values()), np.int64)


def _cost(table: FloatArray, strict: IntArray, twins: IntArray) -> FloatArray:
    """Return `[g]`: the mean of log strict − log free where g was achieved."""
    if not len(strict):
        return np.zeros(len(table))
    cost: FloatArray = np.minimum(table[:, strict] - table[:, twins[strict]], 0).mean(axis=1)
    return cost


class ValueShield:
    """Vets what a policy has chosen, by the values that it has chosen from.

    Networks know no world to work a failure out on (`shield`), only how far every goal is. S of a goal
    is 0 if it fails the machine on arrival, or is allowed to touch what does; else it is strict over
    free in the state at hand. S of one of a choice of actions is likewise: the best that is left after
    it by goals that risk nothing, over the best that is left at all, and 0 if it shows what fails the
    machine. A decision of S < τ is replaced by the best one of S ≥ τ; the robot is to stop where there
    is none. It is as good as the values are, and not exact: where nothing can fail the machine, it
    lets everything pass.
    """

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
        self._twins = free_twins(skills)
        self.replaced = 0
        """How many actions it has replaced."""
        self.veto = ""
        """What it did about the last action, as a sentence; empty: it passed it on."""

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin: nothing is remembered."""

    def entered(self, observation: Any) -> None:  # noqa: ANN401
        """Take note of a step: nothing is remembered."""

    def vet(
        self, state: int, decision: Decision, values: AnyGoalValues, policy: Policy
    ) -> Decision | None:
        """Return the decision, or a better one instead of it; None: stop."""
        self.veto = ""
        if not self._can_fail[state] or decision.expectation is Expectation.WAITING:
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
        """Vet the goal in pursuit."""
        goal = decision.goal
        safe = self.safety_of_goals(state, values) >= LEAST_SAFETY
        if goal < 0 or safe[goal]:  # Without a goal, it stops.
            return decision
        worth = np.where(safe, values.value, 0.0)
        same = np.where(self._label_ids == self._label_ids[goal], worth, 0.0)
        # What shows the same as the policy's goal, else anything that moves the machine.
        worth = same if same.any() else np.where(self._moves[state], worth, 0.0)
        best = int(worth.argmax())
        return Decision(values.action[best], best, float(worth[best])) if worth[best] else None

    def safety_of_goals(self, state: int, values: ContinuousGoalValues) -> FloatArray:
        """Return S of each goal in a machine state."""
        value: FloatArray = np.asarray(values.value, np.float64)
        free = np.maximum(value[self._twins], value)
        ratio = np.divide(value, free, out=np.zeros_like(value), where=free > 0)
        return np.where(self._risky[state], 0.0, ratio)

    def _vet_action(
        self, state: int, decision: Decision, values: GoalValues, policy: Policy
    ) -> Decision | None:
        """Vet one of a choice of actions."""
        lost = self.safety_of_actions(state, values) < LEAST_SAFETY
        if not lost[decision.action]:
            return decision
        if lost.all():
            return None
        action = int(np.where(lost, -np.inf, action_ranks(policy, state, values)).argmax())
        worth = float(policy.composed(state, values)[action])
        return Decision(action, decision.goal, worth, decision.expectation)

    def safety_of_actions(self, state: int, values: GoalValues) -> FloatArray:
        """Return S of each action in a machine state."""
        shows: FloatArray = np.asarray(values.stop, np.float64)
        failing = shows[self._fails[state]].max(axis=0, initial=0.0)
        other = shows[~self._fails[state]].max(axis=0, initial=0.0)
        left: FloatArray = np.maximum(values.move, values.stop).astype(np.float64)
        strict = left[~self._risky[state]].max(axis=0, initial=0.0)
        free = left.max(axis=0, initial=0.0)
        ratio = np.divide(strict, free, out=np.zeros_like(strict), where=free > 0)
        return np.where((failing > other) & (failing > LEAST_SAFETY), 0.0, ratio)
