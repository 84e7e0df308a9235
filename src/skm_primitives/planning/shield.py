"""The shield: no action goes out after which the mission can only fail, where another avoids that.

An *arrival* (the machine state before it, and where the robot arrives) is lost if it fails the
mission's machine, or if whatever is done afterwards does. It is worked out backwards from failure on the
product of machine and world, exactly, for finite worlds. A lost action is replaced by the one that the
policy values most among those that are not; where all are lost, the robot is to stop. Where only
networks know the world, their values say what is lost: see `safety`.

A machine with commitments has no shield: what a step does to it is chosen only afterwards.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_primitives.planning.policy import Decision, Policy, action_ranks
from skm_primitives.planning.product import mission_product
from skm_primitives.planning.solvers import lost_arrivals
from skm_primitives.skills.values import (
    AnyGoalValues,
    GoalToGoal,
    GoalValues,
    Skills,
)
from skm_sim.arrays import BoolArray
from skm_sim.finite_world import FiniteWorld

UNKNOWN: Final = -1


class AnyShield(Protocol):
    """What a run asks of a shield."""

    replaced: int
    """How many actions it has replaced."""
    veto: str
    """What it did about the last action, as a sentence; empty: it passed it on."""

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

    def __init__(self, mission: Mission, world: FiniteWorld) -> None:
        self.world = world
        product = mission_product(mission.machine, world)
        self._counter_after = product.counter_after
        self.lost = lost_arrivals(product)
        """`[u, place, counter]`: the arrivals after which there is only failure."""
        self._place, self._counter = UNKNOWN, 0
        self.replaced = 0
        """How many actions it has replaced."""
        self.veto = ""
        """What it did about the last action, as a sentence; empty: it passed it on."""

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin where the robot is."""
        self._place, self._counter = self._number(observation), 0

    def entered(self, observation: Any) -> None:  # noqa: ANN401
        """Take note of where a step has led."""
        self._place = self._number(observation)
        if self._place != UNKNOWN:
            self._counter = int(self._counter_after[self._place, self._counter])

    def _number(self, observation: Any) -> int:  # noqa: ANN401
        return self.world.state(int(observation), UNKNOWN)

    def lost_actions(self, state: int) -> BoolArray:
        """Return which actions are lost in a machine state, where the robot is: none, if unknown."""
        if self._place == UNKNOWN:
            return np.zeros(self.world.successors.shape[1], np.bool_)
        lost: BoolArray = self.lost[state, self.world.successors[self._place], self._counter]
        return lost

    def passes(self, state: int, decision: Decision) -> bool:
        """Tell whether `vet` will let a decision pass as it is: that needs no values."""
        self.veto = ""
        if self._place == UNKNOWN:
            return True
        arrival = self.world.successors[self._place, decision.action]
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
        return Decision(action, decision.goal, worth, decision.expectation)


def make_shield(mission: Mission, skills: Skills) -> AnyShield | None:
    """Return the shield of a mission; None where there are commitments, or the product is too large.

    So it is of a mission in parts: its plan passes nothing that a part forbids.
    """
    behind = skills.world_model
    if mission.machine.epsilon_transitions or mission.in_parts:
        return None
    if isinstance(behind, GoalToGoal):
        # Brings the networks' side along, which finite worlds do without.
        from skm_primitives.planning.safety import ValueShield  # noqa: PLC0415

        return ValueShield(mission, skills)
    try:
        return Shield(mission, behind)
    except SkmError:  # the product is too large for planning, too
        return None
