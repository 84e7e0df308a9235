"""The values of one task, learned off-policy: Q(s, u, choice) by double, intra-option Q-learning.

A choice (the skill machine, or the skill of one goal) is an option in the sense of Sutton, Precup and
Singh (1999): it is left when the machine moves, else with the chance h = 1/`hold` a step. So

    Q(s, u, o) ← r + γ · [ max_o' Q(s', u', o')                              if the machine moved
                           (1 − h) · Q(s', u', o) + h · max_o' Q(s', u', o')  else ]

for every o that would have taken the action that was taken, whatever was meant. With hold = 1 that is
Algorithm 3's update, over the actions that skills propose. Q begins, for every choice, at what the skill
machine earns. Two networks; the smaller value of their
averaged copies bootstraps. Values are shares of the greatest return, fitted by cross-entropy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.deep.algorithm import Arrays, optimiser_arrays, restore_optimiser
from skm_primitives.deep.networks import EnsembleMLP, blend, from_arrays, to_arrays
from skm_primitives.deep.task_memory import TaskBatch
from skm_primitives.deep.task_settings import TaskSettings
from skm_sim.arrays import BoolArray

MEMBERS = 2


class TaskValues:
    """Networks, their averaged copies and the optimiser."""

    def __init__(
        self, inputs: int, offered: BoolArray, most: float, gamma: float, settings: TaskSettings
    ) -> None:
        """Make them; `offered` is `[machine state, choice]`, `most` the greatest return there is."""
        self._shape = offered.shape
        self._offered = torch.from_numpy(offered)
        self._most = most
        self._gamma = gamma
        self._settings = settings
        generator = torch.Generator().manual_seed(settings.seed)
        outputs = self._shape[0] * self._shape[1]
        self.network = EnsembleMLP(inputs, settings.hidden, outputs, MEMBERS, generator)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.network.parameters(), settings.learning_rate)

    def begin(self, batch: TaskBatch) -> None:
        """Learn what the skill machine earns, as the value of every choice: where all begin."""
        target = torch.from_numpy(batch.earned)[:, None] / self._most
        offered = self._offered[torch.from_numpy(batch.state)].float()
        self._fit(batch, target.clamp(0, 1).expand(-1, self._shape[1]), offered)

    def update(self, batch: TaskBatch) -> None:
        """Learn from steps, for every choice that would have taken them."""
        following, rows = torch.from_numpy(batch.next_state), torch.arange(len(batch.state))
        with torch.no_grad():
            low = self.average(torch.from_numpy(batch.next_inputs)).amin(0)
            after = low.reshape(len(rows), *self._shape)[rows, following].sigmoid()
            best = torch.where(self._offered[following], after, 0.0).amax(1, keepdim=True)
            leave = torch.from_numpy(batch.moved)[:, None].float()
            leave = leave + (1 - leave) / self._settings.hold
            after = self._gamma * ((1 - leave) * after + leave * best)
            after = torch.where(torch.from_numpy(batch.over)[:, None], 0.0, after)
            reward = torch.from_numpy(batch.reward)[:, None] / self._most
        self._fit(batch, (reward + after).clamp(0, 1), torch.from_numpy(batch.choices).float())

    def _fit(self, batch: TaskBatch, target: Tensor, weight: Tensor) -> None:
        """Take one step of Adam on the cross-entropy of values and targets `(n, choices)`."""
        count, rows = len(batch.state), torch.arange(len(batch.state))
        logits = self.network(torch.from_numpy(batch.inputs)).reshape(MEMBERS, count, *self._shape)
        loss = functional.binary_cross_entropy_with_logits(
            logits[:, rows, torch.from_numpy(batch.state)],
            target.expand(MEMBERS, -1, -1),
            weight=weight.expand(MEMBERS, -1, -1),
            reduction="sum",
        ) / weight.sum().clamp(min=1)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        blend(self.average, self.network, self._settings.average_rate)

    def served_arrays(self) -> Arrays:
        """Return the averaged networks."""
        return dict(to_arrays("network", self.average.state_dict()))

    def training_arrays(self) -> Arrays:
        """Return networks, averaged networks and the optimiser's moments."""
        return {
            **to_arrays("trained", self.network.state_dict()),
            **to_arrays("average", self.average.state_dict()),
            **optimiser_arrays("adam", self.optimiser),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `training_arrays` gave."""
        self.network.load_state_dict(from_arrays("trained", arrays))
        self.average.load_state_dict(from_arrays("average", arrays))
        restore_optimiser("adam", self.optimiser, arrays)
