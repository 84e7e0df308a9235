"""Goal-oriented double DQN over a few actions of a continuous robot, for all goals at once.

What is learned is the logit of Q_MAX(⟨s, c⟩, g, ⟨a, 0⟩), for every goal g and each of the body's
actions. Values are in [0, 1] (γ to the number of steps to go), so they are fitted by cross-entropy,
which tells small values apart as well as large ones. Two networks; the smaller value of the two
averaged copies bootstraps.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.deep.algorithm import (
    Arrays,
    goal_targets,
    optimiser_arrays,
    restore_optimiser,
)
from skm_primitives.deep.bodies import Body
from skm_primitives.deep.box_settings import DeepSettings
from skm_primitives.deep.exploration import HeldExploration
from skm_primitives.deep.goal_space import GoalSpace
from skm_primitives.deep.image_networks import ImageNetwork, make_network
from skm_primitives.deep.networks import EnsembleMLP, blend, chosen_device, from_arrays, to_arrays
from skm_primitives.deep.replay import Batch
from skm_sim.arrays import BoolArray, Float32Array

MEMBERS = 2


class Dqn:
    """Networks, their averaged copies and the optimiser; see `Algorithm`."""

    def __init__(self, body: Body, space: GoalSpace, settings: DeepSettings) -> None:
        self._space = space
        self._settings = settings
        self._body = body
        self._choices = body.actions
        few = len(body.actions) <= 256
        self.action_example: NDArray[Any] = np.zeros((), np.uint8 if few else np.int64)
        generator = torch.Generator().manual_seed(settings.seed)
        self._shape = (space.outputs, len(body.actions))
        self.network = self._make_network(generator)
        with torch.no_grad():
            self.network.biases[-1].fill_(-2.0)  # Unknown goals are taken for far, not half-way.
        self._device = chosen_device(settings.device)
        self.network.to(self._device)
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.optimiser = torch.optim.Adam(
            self.network.parameters(), settings.learning_rate, fused=True
        )
        self._exploration = HeldExploration(settings.agents, self.action_example, settings.explore)

    def _make_network(self, generator: torch.Generator) -> EnsembleMLP | ImageNetwork:
        """Return the network: an output for each goal and action."""
        sets = self._space.capacity
        return make_network(self._body, self._settings, self._shape[0], sets, generator)

    def values(self, features: Float32Array) -> Float32Array:
        """Return the logits of the averaged networks' mean, `(n, slots, heads, actions)`."""
        with torch.no_grad():
            logits = self.average(self._tensor(features)).mean(0)
        shape = len(features), -1, self._space.heads, self._shape[1]
        shaped: Float32Array = logits.reshape(shape).cpu().numpy()
        return shaped

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the action with the best value of any goal in the mask."""
        values = np.where(masks[..., None], self.values(features), -np.inf)
        best: NDArray[Any] = values.max((1, 2)).argmax(1)
        return best

    def explore(self, chosen: NDArray[Any], random: np.random.Generator, step: int) -> NDArray[Any]:
        """Let agents take random actions now and then, each held for a few steps."""
        candidates = random.integers(len(self._choices), size=len(chosen))
        return self._exploration.mix(chosen, candidates, random, step)

    def to_environment(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the body's actions of these indices."""
        return self._body.commands(self._choices[actions])

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:  # noqa: ARG002
        """Take one step of Adam on the cross-entropy of every goal's value and its target."""
        count, members = len(batch.slot), self._settings.members
        with torch.no_grad():
            following = self.average(self._tensor(batch.next_state))
            low = following.amin(0).reshape(count, *self._shape).amax(-1).sigmoid()
        states = self._tensor(batch.state)
        index = self._tensor(batch.action.astype(np.int64))[None, :, None, None]
        index = index.expand(members, count, self._shape[0], 1)
        target = goal_targets(self._space, batch, low, self._settings.gamma)
        if self._settings.action_gap:
            target = self._widened(target, states, index[0])
        logits = self.network(states).reshape(members, count, *self._shape)
        taken = logits.gather(-1, index)[..., 0]
        used = len(self._space) * self._space.heads
        loss = functional.binary_cross_entropy_with_logits(
            taken[..., :used], target[None, :, :used].expand(members, -1, -1), reduction="sum"
        ) / (count * used)
        self._descend(loss, learning_rate)

    def _descend(self, loss: Tensor, learning_rate: float) -> None:
        """Take one step downhill, and let the averaged networks follow."""
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate
        self.optimiser.step()
        blend(self.average, self.network, self._settings.average_rate)

    def _widened(self, target: Tensor, states: Tensor, taken: Tensor) -> Tensor:
        """Return targets with a wider gap between the best action and the others.

        With steps of 0.1 s one action more or less hardly matters, so small errors decide, and a
        robot dithers. Advantage learning (Bellemare et al., 2016) takes a share of V(s) − Q(s, a) off
        the target of every action: it leaves the best action's value and so the optimal policy as
        they are, and drives the others down. What achieves the goal is known to be best.
        """
        with torch.no_grad():
            current = self.average(states).mean(0).sigmoid().reshape(len(states), *self._shape)
            gap = current.amax(-1) - current.gather(-1, taken)[..., 0]
        lowered = (target - self._settings.action_gap * gap).clamp(min=0)
        return torch.where(target == 1, target, lowered)

    def served_arrays(self) -> Arrays:
        """Return the averaged networks and the actions that they choose among."""
        return {**to_arrays("network", self.average.state_dict()), "actions": self._choices.copy()}

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
