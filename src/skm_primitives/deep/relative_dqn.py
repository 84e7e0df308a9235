"""Double DQN relative to the goal: one network for all goals, asked about one at a time.

As `dqn`, but what is to be reached and what is to be kept off is in the input (`relative_inputs`)
instead of in the number of the output. Each transition of a batch teaches one goal, drawn by chance:
what is learned from it holds for all kinds of things.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.deep.bodies import Body
from skm_primitives.deep.box_settings import DeepSettings
from skm_primitives.deep.dqn import MEMBERS, Dqn
from skm_primitives.deep.networks import EnsembleMLP
from skm_primitives.deep.relative_goals import RelativeGoals
from skm_primitives.deep.relative_inputs import relative_inputs
from skm_primitives.deep.replay import Batch
from skm_sim.arrays import BoolArray, Float32Array, IntArray


class RelativeDqn(Dqn):
    """Networks, their averaged copies and the optimiser; see `Algorithm`."""

    def __init__(self, body: Body, space: RelativeGoals, settings: DeepSettings) -> None:
        self._goals = space
        super().__init__(body, space, settings)

    def _make_network(self, generator: torch.Generator) -> EnsembleMLP:
        """Return the network: what is relative to a goal in, an output for each action."""
        sizes = self._goals.things.relative_inputs, self._settings.hidden, len(self._choices)
        return EnsembleMLP(*sizes, MEMBERS, generator)

    def _inputs(self, features: Float32Array, goals: IntArray) -> Tensor:
        """Return what the network sees of each row, for its goal: rows of `learned`."""
        kept_off = self._goals.kept_off(goals[:, 2])
        return self._tensor(relative_inputs(self._goals.things, features, goals[:, 0], kept_off))

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the action with the best value of any goal in the mask that is learned."""
        row, goal = np.nonzero(masks.reshape(len(features), -1)[:, self._goals.served()])
        best = np.full((len(features), len(self._choices)), -np.inf, np.float32)
        if len(row):
            with torch.no_grad():
                shown = self._inputs(features[row], self._goals.learned[goal])
                logits = self.average(shown).mean(0).cpu().numpy()
            np.maximum.at(best, row, logits)
        chosen: NDArray[Any] = best.argmax(1)
        return chosen

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Take one step of Adam on the cross-entropy of the values and targets of goals drawn."""
        count = len(batch.slot)
        goals = self._goals.learned[random.integers(len(self._goals.learned), size=count)]
        states = self._inputs(batch.state, goals)
        index = self._tensor(batch.action.astype(np.int64))[:, None]
        with torch.no_grad():
            low = self.average(self._inputs(batch.next_state, goals)).amin(0).amax(-1).sigmoid()
            target = self._targets(batch, goals, low)
            if self._settings.action_gap:  # See `Dqn`.
                current = self.average(states).mean(0).sigmoid()
                gap = current.amax(-1) - current.gather(-1, index)[:, 0]
                lowered = (target - self._settings.action_gap * gap).clamp(min=0)
                target = torch.where(target == 1, target, lowered)
        taken = self.network(states).gather(-1, index.expand(MEMBERS, -1, -1))[..., 0]
        loss = functional.binary_cross_entropy_with_logits(
            taken, target.expand(MEMBERS, -1), reduction="sum"
        )
        self._descend(loss / count, learning_rate)

    def _targets(self, batch: Batch, goals: IntArray, next_values: Tensor) -> Tensor:
        """Return the targets `(n,)` of the goals drawn; see `goal_space` for the cases."""
        assert batch.past is not None
        gamma = self._settings.gamma
        changed = self._goals.changed(batch.slot, batch.next_slot)
        alive = (changed & ~self._goals.violations[goals[:, 2]]) == 0
        alive &= ~batch.ended
        steps = self._goals.steps_to(goals, batch.past.slots, batch.past.between, batch.past.step)
        bound = np.where(steps > 0, np.power(gamma, steps - 1.0), 0.0).astype(np.float32)
        bound[batch.next_slot == goals[:, 1]] = 1.0
        target = next_values * gamma * self._tensor(alive)
        return torch.maximum(target.clamp(0, 1), self._tensor(bound))
