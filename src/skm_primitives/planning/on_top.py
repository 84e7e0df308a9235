"""What policies share that were learned on top of a zero-shot one: all but the choice of actions."""

from __future__ import annotations

from typing import Any

from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import GoalValues
from skm_sim.arrays import Float32Array


class PolicyOnTop:
    """A zero-shot policy, and what it says of promises, constraints and composed values."""

    def __init__(self, zero_shot: Policy) -> None:
        self.zero_shot = zero_shot
        self.planner = zero_shot.planner
        self.mission: Mission = zero_shot.mission

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what the zero-shot policy would have a step do."""
        return self.zero_shot.prefer(state, options, observation)

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the violated constraints that the zero-shot policy asks with."""
        return self.zero_shot.history(tracker)

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return δ_Q of the zero-shot policy."""
        return self.zero_shot.composed(state, values)
