"""The DQN of pictures: dearer networks, so that each is asked no more often than need be.

It differs from `Dqn` in two things. The gap between the best action and the others (`action_gap`) is
taken from what the trained networks just said of the state, not from the averaged ones, which would
have to be asked once more; what an action keeps at least of its value is `KEPT`, so that one which is
only slower still stands out from one that rules the goal out. And the networks may learn *onward* values
besides: what every goal will be worth where each label set is shown next, for planners that look ahead
(`planning.lookahead`). No mission is mentioned in them either:

    target of a label set = the values of the next state   if it is shown there
                          = its onward values there        otherwise

Where values are backed up through whole episodes (`episode_backup`), what an action is worth and its
*share* of what the best one is worth are outputs of their own, and the gap is widened in the shares
alone: with one output for both, not to be sure of the way makes a goal look farther away. How far a goal
is say the values, which way to go the shares.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from skm_primitives.deep.algorithm import goal_targets
from skm_primitives.deep.dqn import Dqn
from skm_primitives.deep.episode_backup import backed_up, episode_graph
from skm_primitives.deep.image_networks import ImageNetwork
from skm_primitives.deep.replay import Batch, Episodes
from skm_sim.arrays import BoolArray, Float32Array

TINY: Final = 1e-6
KEPT: Final = 0.1
"""What is left at least of an action's value when its disadvantage is taken off."""


class ImageDqn(Dqn):
    """See the module, and `Algorithm`."""

    network: ImageNetwork
    average: ImageNetwork

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:  # noqa: ARG002
        """Take one step of Adam on the cross-entropy of every goal's value and its target."""
        count = len(batch.slot)
        with torch.no_grad():
            following, beyond = self._asked(self.average, self._tensor(batch.next_state))
            low = following.amin(0).reshape(count, *self._shape).amax(-1).sigmoid()
        target = goal_targets(self._space, batch, low, self._settings.gamma)
        outputs, onward = self._asked(self.network, self._tensor(batch.state))
        logits = outputs.reshape(-1, count, *self._shape)
        index = self._tensor(batch.action.astype(np.int64))
        rows = torch.arange(count, device=self._device)
        if self._settings.action_gap:
            current = logits.detach().mean(0).sigmoid()
            gap = current.amax(-1) - current[rows, :, index]
            target = self._lowered(target, self._settings.action_gap * gap)
        loss = self._loss(logits[:, rows, :, index].transpose(0, 1), target)
        if onward is not None and beyond is not None:
            shown = self._onward_targets(batch, low, beyond.sigmoid())
            loss = loss + self._loss(onward[None], shown)
        self._descend(loss, learning_rate)

    def learn_episodes(self, episodes: Episodes, learning_rate: float) -> None:
        """Learn from all steps of whole episodes, values being backed up through them."""
        settings, graph = self._settings, episode_graph(self._space, episodes)
        states = self._tensor(graph.states)
        source, action = self._tensor(graph.source), self._tensor(graph.action)
        with torch.no_grad():
            said = self._split(self.average(states))[0].sigmoid().amin(0)
            values = backed_up(graph, said.transpose(1, 2), settings.gamma)
            best, taken = values.amax(1), values[source, action]
            # The fixed point of advantage learning: every disadvantage, over 1 - gap.
            lost = (best[source] - taken) * (settings.action_gap / (1 - settings.action_gap))
            share = self._lowered(taken, lost) / best[source].clamp(min=TINY)
        outputs, onward = self._asked(self.network, states)
        worth, shares = (
            part[:, source, :, action].transpose(0, 1) for part in self._split(outputs)
        )
        # Where no way leads to a goal, all actions are alike.
        loss = self._loss(worth, taken) + self._loss(shares, share, best[source] > 0)
        if onward is not None:
            state, slot, there = self._tensor(graph.shown.T)
            loss = loss + self._loss(onward[state, slot][None], best[there])
        self._descend(loss, learning_rate)

    def values(self, features: Float32Array) -> Float32Array:
        """Return the logits of the averaged networks' mean, `(n, slots, heads, actions)`."""
        if self._settings.backup != "episode":
            return super().values(features)
        with torch.no_grad():
            values = self._action_values(self.average(self._tensor(features))).mean(0)
        logits = torch.logit(values, TINY).reshape(
            len(features), -1, self._space.heads, self._shape[1]
        )
        shaped: Float32Array = logits.cpu().numpy()
        return shaped

    def shows(self, features: Float32Array) -> BoolArray:
        """Return which actions are thought to show a label in the very next state, `(n, actions)`."""
        labelled = np.array(self._space.label_bits) != 0
        values = self.values(features)[:, : len(labelled)][:, labelled]
        near = np.float32(np.log((1 + self._settings.gamma) / (1 - self._settings.gamma)))
        shown: BoolArray = values.max((1, 2), initial=-np.inf) > near
        return shown

    def _split(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of actions' values and shares, `(members, n, goals, actions)` each."""
        apart = outputs.reshape(*outputs.shape[:2], self._shape[0], 2, self._shape[1])
        return apart[..., 0, :], apart[..., 1, :]

    def _action_values(self, outputs: Tensor) -> Tensor:
        """Return what every goal is worth by each action, `(members, n, goals, actions)`."""
        worth, shares = (part.sigmoid() for part in self._split(outputs))
        return worth.amax(-1, keepdim=True) * shares / shares.amax(-1, keepdim=True)

    def _loss(self, logits: Tensor, target: Tensor, counts: Tensor | None = None) -> Tensor:
        """Return the cross-entropy of `(members, n, goals)` and targets, of goals that there are.

        Where something does not count, it is left out.
        """
        used = len(self._space) * self._space.heads
        said, meant = logits[..., :used], target[None, ..., :used]
        weight = None if counts is None else counts[None, ..., :used].float()
        total = functional.binary_cross_entropy_with_logits(
            said, meant.expand_as(said), weight, reduction="sum"
        )
        return total / meant.numel()

    def _asked(self, network: ImageNetwork, pixels: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what a network says of pictures: outputs, and onward logits if it has them."""
        return network.both(pixels) if self._settings.onward else (network(pixels), None)

    def _lowered(self, target: Tensor, lost: Tensor) -> Tensor:
        """Return the targets of actions less what they lose (`Dqn._widened`), if not all of it."""
        return torch.where(target == 1, target, torch.maximum(target - lost, KEPT * target))

    def _onward_targets(self, batch: Batch, values: Tensor, beyond: Tensor) -> Tensor:
        """Return what each goal is worth where each label set is shown next, `(n, sets, goals)`."""
        targets = beyond.clone()
        targets[torch.arange(len(values)), self._tensor(batch.next_slot)] = values
        targets[self._tensor(batch.ended)] = 0
        return targets
