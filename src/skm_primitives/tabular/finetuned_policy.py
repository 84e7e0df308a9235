"""The policy that few-shot learning returns: the learned Q where it is known to succeed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from skm_machine import compile_mission
from skm_primitives.checkpoint import Card
from skm_primitives.planning.on_top import PolicyOnTop
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Decision, Policy
from skm_primitives.primitives import AnyGoalValues, Skills
from skm_sim.arrays import FloatArray
from skm_sim.domain import DomainSpec

LEARNER = "finetune"


class FinetunedPolicy(PolicyOnTop):
    """argmax_a Q(s, u, a) wherever max_a Q(s, u, a) > 0, and the zero-shot policy elsewhere.

    Why that is safe is said in `skm_primitives.tabular.finetune`.
    """

    def __init__(self, zero_shot: Policy, q: FloatArray) -> None:
        super().__init__(zero_shot)
        self._q = q
        self._cell = 0
        self._doubted = False

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode in the cell that is observed."""
        self.zero_shot.start(observation)
        self._cell = int(observation)
        self._doubted = False

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note the cell that a step has ended in."""
        self.zero_shot.entered(observation, moved)
        self._cell = int(observation)
        self._doubted &= not moved

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the best action; with Q, no single goal of the buffer is in pursuit (−1)."""
        row = self._q[self._cell, state]
        action = int(row.argmax())
        if row[action] > 0 and not self._doubted:
            return Decision(action, -1, float(row[action]))
        return self.zero_shot.choose(state, values)

    def doubt(self) -> None:
        """Leave it to the zero-shot policy until the machine moves: what was learned led nowhere."""
        if self._doubted:
            self.zero_shot.doubt()
        self._doubted = True


def from_checkpoint(
    arrays: Mapping[str, NDArray[Any]], card: Card, spec: DomainSpec, skills: Skills
) -> FinetunedPolicy:
    """Return the policy of a checkpoint; the entry in `skm_primitives.finetuning`."""
    mission = compile_mission(card.details["formula"], propositions=spec.propositions)
    zero_shot = make_policy(mission, skills, card.details["settings"]["planner"])
    return FinetunedPolicy(zero_shot, arrays["best_q"])
