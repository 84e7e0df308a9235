"""Double DQN relative to what is to be kept off: an output for every label set and action.

As `dqn`, but what is allowed to be touched on the way, V, is in the input (`relative_inputs`) instead of
in the number of the output: so that the cost does not grow with the number of sets V. Each transition of
a batch teaches all label sets, for one set V that is drawn by chance.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.deep.bodies import Body
from skm_primitives.deep.box_settings import DeepSettings
from skm_primitives.deep.dqn import MEMBERS, Dqn
from skm_primitives.deep.goal_space import GoalSpace
from skm_primitives.deep.near_misses import NearMisses, WaryBody
from skm_primitives.deep.networks import EnsembleMLP
from skm_primitives.deep.relative_inputs import kept_off_inputs, kinds_kept_off
from skm_primitives.deep.replay import Batch
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.things import Kinds


class KeptOffDqn(Dqn):
    """Networks, their averaged copies and the optimiser; see `Algorithm`."""

    def __init__(self, body: Body, space: GoalSpace, kinds: Kinds, settings: DeepSettings) -> None:
        self._kinds = kinds
        self._kept_off = kinds_kept_off(kinds, space.propositions, space.violations)
        wary = bool(kinds.shown) and settings.near_misses
        self.near_misses = NearMisses(cast("WaryBody", body), space, kinds) if wary else None
        """What counts as more than a step, where the body tells."""
        super().__init__(body, space, settings)

    def _make_network(self, generator: torch.Generator) -> EnsembleMLP:
        """Return the network: what is relative to V in, an output for each label set and action."""
        self._shape = (self._space.capacity, len(self._choices))
        sizes = self._kinds.relative_inputs, self._settings.hidden, self._shape[0] * self._shape[1]
        return EnsembleMLP(*sizes, MEMBERS, generator)

    def _inputs(self, features: Float32Array, heads: IntArray) -> Tensor:
        """Return what the network sees of each row, with what its head keeps off."""
        return self._tensor(kept_off_inputs(self._kinds, features, self._kept_off[heads]))

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the action with the best value of any goal in the mask."""
        row, head = np.nonzero(masks.any(1))
        best = np.full((len(features), len(self._choices)), -np.inf, np.float32)
        if len(row):
            with torch.no_grad():
                logits = self.average(self._inputs(features[row], head)).mean(0).cpu().numpy()
            wanted = masks[row, :, head][..., None]
            shaped = logits.reshape(len(row), *self._shape)
            np.maximum.at(best, row, np.where(wanted, shaped, -np.inf).max(1))
        chosen: NDArray[Any] = best.argmax(1)
        return chosen

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Take one step of Adam on the cross-entropy of the values and targets of all label sets."""
        count = len(batch.slot)
        heads = random.integers(self._space.heads, size=count)
        states = self._inputs(batch.state, heads)
        index = self._tensor(batch.action.astype(np.int64))[:, None, None]
        index = index.expand(count, self._shape[0], 1)
        with torch.no_grad():
            following = self.average(self._inputs(batch.next_state, heads)).amin(0)
            low = following.reshape(count, *self._shape).amax(-1).sigmoid()
            target = self._targets(batch, heads, low)
            if self._settings.action_gap:
                target = self._widened(target, states, index)
        used = len(self._space)
        logits = self.network(states).reshape(MEMBERS, count, *self._shape)
        taken = logits.gather(-1, index.expand(MEMBERS, -1, -1, -1))[..., 0]
        loss = functional.binary_cross_entropy_with_logits(
            taken[..., :used], target[None, :, :used].expand(MEMBERS, -1, -1), reduction="sum"
        ) / (count * used)
        self._descend(loss, learning_rate)

    def _targets(self, batch: Batch, heads: IntArray, next_values: Tensor) -> Tensor:
        """Return the targets `(n, slots)` of each row's head; see `goal_space` for the cases."""
        gamma, rows = self._settings.gamma, np.arange(len(heads))
        changed = self._space.changed(batch.slot, batch.next_slot)
        alive = ((changed & ~self._space.violations[heads]) == 0) & ~batch.ended
        shape = len(heads), self._shape[0], self._space.heads
        steps = batch.steps_to_goals.reshape(shape)[rows, :, heads].astype(np.float32)
        bound = np.where(steps > 0, np.power(gamma, steps - 1), 0).astype(np.float32)
        bound[rows, batch.next_slot] = 1.0
        goes_on = (np.float32(gamma) * alive)[:, None]
        if self.near_misses is not None:
            more = self.near_misses.steps_of(batch.next_state, batch.next_slot, heads)
            shrunk = np.power(np.float32(gamma), more.astype(np.float32))
            bound[rows, batch.next_slot] = shrunk[rows, batch.next_slot]
            goes_on = goes_on * shrunk
        target = next_values * self._tensor(goes_on)
        return torch.maximum(target.clamp(0, 1), self._tensor(bound))
