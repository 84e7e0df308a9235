"""Goal-oriented TD3 (twin delayed DDPG, the paper's learner for continuous actions).

As in TD3: two critics whose smaller value bootstraps, averaged copies, noise on the next action in
targets, and an actor that is updated every other time. As in Algorithm 1: all goals learn from the
same transition. Which part of a goal is an input and which an output is defined by its encoding
(`skills.goal_encoding`), as for `dqn`: the actor answers with a control, a critic with the value of one
control, for each goal of a question. Values are logits fitted by cross-entropy.

A transition's own action is judged for all goals of a question in one pass. Targets need a pass for
each goal, the next action being the goal's own, so `goals_each` goals are drawn for each transition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.learning.dqn import Arrays, Asked, goal_targets
from skm_primitives.learning.exploration import HeldExploration
from skm_primitives.learning.networks import (
    EnsembleMLP,
    TrainedNetwork,
    chosen_device,
    to_arrays,
)
from skm_primitives.learning.replay import Batch
from skm_primitives.learning.settings import DeepSettings
from skm_primitives.skills.encoders import ObservationEncoder
from skm_primitives.skills.goal_encoding import GoalEncoding, questions_for
from skm_sim.arrays import BoolArray, Float32Array, FloatArray

CRITICS = 2
DELAY = 2
"""Critic updates to one actor update."""
NOISE_CLIP = 0.5


class Td3:
    """Actor, critics, their averaged copies and optimisers; see `Algorithm`."""

    def __init__(
        self, encoder: ObservationEncoder, goals: GoalEncoding, settings: DeepSettings
    ) -> None:
        self.goals = goals
        """Which part of a goal is an input."""
        self._settings = settings
        self._encoder = encoder
        self._controls = encoder.actions.shape[1]
        self.action_example: NDArray[Any] = np.zeros(self._controls, np.float32)
        generator = torch.Generator().manual_seed(settings.seed)
        count, size = goals.outputs, self._controls
        self.actor = EnsembleMLP(goals.inputs, settings.hidden, count * size, 1, generator)
        self.critic = EnsembleMLP(goals.inputs + size, settings.hidden, count, CRITICS, generator)
        with torch.no_grad():
            self.critic.biases[-1].fill_(settings.first_logit)
        self._device = chosen_device(settings.device)
        self.actor.to(self._device)
        self.critic.to(self._device)
        rate = settings.learning_rate
        self._trained = {
            name: TrainedNetwork(
                network, (name, f"average_{name}", f"{name}_adam"), lr=rate, fused=True
            )
            for name, network in (("actor", self.actor), ("critic", self.critic))
        }
        self.average_actor = self._trained["actor"].average
        self.average_critic = self._trained["critic"].average
        self._exploration = HeldExploration(settings.agents, self.action_example)
        self._updates = 0

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return, of the controls for the goals in the mask, the one with the best value."""
        used = self.goals.used
        wanted = masks.reshape(len(features), -1)
        row, question = questions_for(wanted, self.goals.goals)
        best: Float32Array = np.full(len(features), -np.inf, np.float32)
        chosen: NDArray[Any] = np.zeros((len(features), self._controls), np.float32)
        if not len(row):
            return chosen
        states = self._tensor(self.goals.shown(features[row], self.goals.listed[question]))
        with torch.no_grad():
            each = torch.arange(used, device=self._device).expand(len(row), used)
            controls = _pick(self._all_controls(self.average_actor, states), each)
            values = self._logits(self.average_critic, states, controls, each).mean(0).cpu().numpy()
        among = np.take_along_axis(wanted[row], self.goals.goals[question, :used], axis=1)
        values = np.where(among, values, -np.inf)
        goal = values.argmax(1)
        value = values[np.arange(len(row)), goal]
        np.maximum.at(best, row, value)
        first = np.flatnonzero(value == best[row])[::-1]  # Of equals, the first question's.
        chosen[row[first]] = controls.cpu().numpy()[first, goal[first]]
        return chosen

    def explore(
        self,
        chosen: NDArray[Any],
        random: np.random.Generator,
        step: int,
        shares: FloatArray | None = None,
    ) -> NDArray[Any]:
        """Add noise to all, and let agents hold a random control now and then."""
        noise = random.normal(0, self._settings.noise, chosen.shape)
        noisy = np.clip(chosen + noise, -1, 1).astype(np.float32)
        candidates = random.uniform(-1, 1, chosen.shape).astype(np.float32)
        return self._exploration.mix(noisy, candidates, random, step, shares)

    def to_environment(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return controls as the environment's actions."""
        return self._encoder.commands(self._encoder.action(actions))

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Update the critics, and every other time the actor and the averages."""
        used, count = self.goals.used, len(batch.slot)
        each = min(self._settings.goals_each, used)
        questions = self.goals.draw(random, batch.next_slot)
        drawn = random.random((count, used)).argpartition(each - 1, axis=1)[:, :each]
        slots, allowed = (
            np.take_along_axis(part, drawn, axis=1) for part in self.goals.answered(questions)
        )
        listed = None
        if questions.number is not None:
            listed = np.take_along_axis(self.goals.goals[questions.number], drawn, axis=1)
        goals = self._tensor(drawn)
        states = self._tensor(self.goals.shown(batch.state, questions))
        following = self._tensor(self.goals.shown(batch.next_state, questions))
        with torch.no_grad():
            controls = _pick(self._all_controls(self.average_actor, following), goals)
            noise = random.normal(0, self._settings.target_noise, controls.shape)
            noise = np.clip(noise, -NOISE_CLIP, NOISE_CLIP).astype(np.float32)
            controls = (controls + self._tensor(noise)).clamp(-1, 1)
            low = self._logits(self.average_critic, following, controls, goals).amin(0).sigmoid()
            asked = Asked(slots, allowed, listed)
            target = goal_targets(self.goals.space, batch, asked, low, self._settings.gamma)
            target = target.expand(CRITICS, -1, -1)
        taken = torch.cat([states, self._tensor(batch.action)], dim=1)
        logits = self.critic(taken).gather(2, goals.expand(CRITICS, -1, -1))
        loss = functional.binary_cross_entropy_with_logits(logits, target)
        self._trained["critic"].descend(loss, learning_rate)
        self._updates += 1
        if self._updates % DELAY == 0:
            self._improve_actor(states, goals, learning_rate)
            for trained in self._trained.values():
                trained.follow(self._settings.average_rate * DELAY)

    def _improve_actor(self, states: Tensor, goals: Tensor, learning_rate: float) -> None:
        """Move every goal's control uphill on the critics' values."""
        self.critic.requires_grad_(False)
        controls = _pick(self._all_controls(self.actor, states), goals)
        loss = -self._logits(self.critic, states, controls, goals).mean()
        self._trained["actor"].descend(loss, learning_rate)
        self.critic.requires_grad_(True)

    def _all_controls(self, actor: EnsembleMLP, states: Tensor) -> Tensor:
        """Return the control of every goal, `(n, heads, controls)`."""
        controls: Tensor = torch.tanh(actor(states)[0]).reshape(len(states), -1, self._controls)
        return controls

    def _logits(
        self, critic: EnsembleMLP, states: Tensor, controls: Tensor, goals: Tensor
    ) -> Tensor:
        """Return logits `(CRITICS, n, k)` of controls `(n, k, …)`, each for its goal `(n, k)`."""
        count, each = goals.shape
        rows = states[:, None].expand(-1, each, -1)
        inputs = torch.cat([rows, controls], dim=2).reshape(count * each, -1)
        index = goals.reshape(1, -1, 1).expand(CRITICS, -1, -1)
        logits: Tensor = critic(inputs).gather(2, index).reshape(CRITICS, count, each)
        return logits

    def served_arrays(self) -> Arrays:
        """Return the averaged actor and critics."""
        return {
            **to_arrays("actor", self.average_actor.state_dict()),
            **to_arrays("critic", self.average_critic.state_dict()),
        }

    def training_arrays(self) -> Arrays:
        """Return all four networks, the optimisers' moments and the count of updates."""
        actor, critic = (trained.arrays() for trained in self._trained.values())
        return {**actor, **critic, "updates": np.array(self._updates)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `training_arrays` gave."""
        for trained in self._trained.values():
            trained.restore(arrays)
        self._updates = int(arrays["updates"])


def _pick(controls: Tensor, goals: Tensor) -> Tensor:
    """Return the controls of the goals drawn: `(n, k, controls)`."""
    return controls.gather(1, goals[..., None].expand(-1, -1, controls.shape[-1]))
