"""The shield: no action goes out after which the mission can only fail, where another avoids that.

An *arrival* (the machine state before it, and where the robot arrives) is lost if it fails the
mission's machine, or if whatever is done afterwards does. It is worked out backwards from failure on the
product of machine and world, exactly, for worlds that are known: places that were learned, with their
visits, or cells. A lost action is replaced by the one that the policy values most among those that are
not; where all are lost, the robot is to stop. Where only networks know the world, their values say what
is lost: see `value_shield`.

A machine with commitments has no shield: what a step does to it is chosen only afterwards.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.known_product import machine_tables
from skm_primitives.planning.lookahead import goal_outcomes
from skm_primitives.planning.policy import Decision, Policy, action_ranks, noise_of
from skm_primitives.planning.product import mission_product
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    KnownWorld,
    PlaceWorld,
    Skills,
)
from skm_sim.arrays import BoolArray, FloatArray, IntArray

# The shield where only values are known: it vetoes what they call lost.
#
# Networks know no world to work a failure out on, only how far every goal is. That says of a
# decision:
#
# - where it leads: its goal may fail the machine on arrival, or be one that is allowed to touch
#   on the way what would fail it; or the action itself may show labels that fail it;
# - what becomes of it: a goal that is worth next to nothing is out of reach;
# - what is near: an action that is not the best one to its goal (a detour) is a risk where labels
#   that fail the machine are only a few steps away.
#
# Such a decision is replaced by the best action to the best goal that has none of these faults;
# the robot is to stop where the values give every such goal up. It is as good as they are, and
# not exact: where nothing can fail the machine, it lets everything pass.


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


UNKNOWN: Final = -1


class AnyShield(Protocol):
    """What a run asks of a shield."""

    replaced: int
    """How many actions it has replaced."""
    veto: str
    """What it did about the last action, for people; empty: it let it pass."""

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin where the robot is."""
        ...

    def entered(self, observation: Any) -> None:  # noqa: ANN401
        """Take note of where a step has led."""
        ...

    def vet(
        self, state: int, decision: Decision, values: AnyGoalValues, policy: Policy
    ) -> Decision | None:
        """Return the decision, or the best that is not lost instead of it; None: stop."""
        ...


class Shield:
    """Watches where the robot is, and vets what a policy has chosen."""

    def __init__(self, mission: Mission, world: PlaceWorld | KnownWorld) -> None:
        machine = mission.machine
        self._successors = world.successors
        places = world.places if isinstance(world, PlaceWorld) else range(len(world.label_ids))
        self._numbers = {place: index for index, place in enumerate(places)}
        if isinstance(world, PlaceWorld):
            product = mission_product(machine, world)
            target, self._counter_after = product.machine_state, product.counter
        else:
            cells = len(world.label_ids)
            target = machine_tables(machine, world.label_sets)[0][:, world.label_ids, None]
            self._counter_after = np.zeros((cells, 1), np.int64)
        self.lost = lost_arrivals(machine, target, self._counter_after, world.successors)
        """`[u, place, counter]`: the arrivals after which there is only failure."""
        self._place, self._counter = UNKNOWN, 0
        self.replaced = 0
        """How many actions it has replaced."""
        self.veto = ""
        """What it did about the last action, for people; empty: it let it pass."""

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin where the robot is."""
        self._place, self._counter = self._number(observation), 0

    def entered(self, observation: Any) -> None:  # noqa: ANN401
        """Take note of where a step has led."""
        self._place = self._number(observation)
        if self._place != UNKNOWN:
            self._counter = int(self._counter_after[self._place, self._counter])

    def _number(self, observation: Any) -> int:  # noqa: ANN401
        return self._numbers.get(int(observation), UNKNOWN)

    def lost_actions(self, state: int) -> BoolArray:
        """Return which actions are lost in a machine state, where the robot is: none, if unknown."""
        if self._place == UNKNOWN:
            return np.zeros(self._successors.shape[1], np.bool_)
        lost: BoolArray = self.lost[state, self._successors[self._place], self._counter]
        return lost

    def passes(self, state: int, decision: Decision) -> bool:
        """Tell whether `vet` will let a decision pass as it is: that needs no values."""
        self.veto = ""
        if self._place == UNKNOWN:
            return True
        arrival = self._successors[self._place, decision.action]
        return not self.lost[state, arrival, self._counter]

    def vet(
        self, state: int, decision: Decision, values: AnyGoalValues, policy: Policy
    ) -> Decision | None:
        """Return the decision, or the best that is not lost instead of it; None: stop."""
        if self.passes(state, decision):
            return decision
        lost = self.lost_actions(state)
        self.replaced += 1
        self.veto = f"after action {decision.action} the mission could only fail: "
        if lost.all():
            self.veto += "so after all others, and the robot stops"
            return None
        assert isinstance(values, GoalValues), "known worlds have discrete actions"
        action = int(np.where(lost, -np.inf, action_ranks(policy, state, values)).argmax())
        self.veto += f"action {action} takes its place"
        worth = float(policy.composed(state, values)[action])
        return Decision(action, decision.goal, worth, decision.noise)


def make_shield(mission: Mission, skills: Skills) -> AnyShield | None:
    """Return the shield of a mission; None where there are commitments, or the product is too large.

    So it is of a mission in parts: its plan passes nothing that a part forbids.
    """
    behind = skills.world_model
    if mission.machine.epsilon_transitions or mission.in_parts:
        return None
    if isinstance(behind, GoalToGoal):
        return ValueShield(mission, skills)
    try:
        return Shield(mission, behind)
    except SkmError:  # the product is too large for planning, too
        return None


def lost_arrivals(
    machine: RewardMachine, target: IntArray, counter: IntArray, successors: IntArray
) -> BoolArray:
    """Return `[u, place, counter]`: the arrivals that fail, or after which every action is lost.

    `target` is δ_u of each arrival, `counter[place, counter]` the visits counted after it. Machine
    states are worked through again only if something that they lead to has changed.
    """
    states, places, _ = target.shape
    place = np.arange(places)[:, None]
    working = [u for u in range(states) if u not in machine.terminal and u not in machine.failure]
    leads_to = {u: set(np.unique(target[u]).tolist()) for u in working}
    lost = np.isin(target, sorted(machine.failure))
    stuck = np.zeros(target.shape, np.bool_)  # being there, every action is lost
    changed = set(working)
    while changed:
        stuck_anew = set()
        for u in changed:
            now = lost[u][successors].all(axis=1)
            if not np.array_equal(now, stuck[u]):
                stuck[u] = now
                stuck_anew.add(u)
        changed = set()
        for u in working:
            if leads_to[u] & stuck_anew:
                now = lost[u] | stuck[target[u], place, counter]
                if not np.array_equal(now, lost[u]):
                    lost[u] = now
                    changed.add(u)
    return lost
