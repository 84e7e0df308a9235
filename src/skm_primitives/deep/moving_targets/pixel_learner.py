"""Algorithm 1 with deep Q-learning, from pixels: the learner of Moving Targets.

What is as in the paper: goals are label sets with constraints, every goal is learned from every
transition, constraints that were violated rule goals out, and what is learned is a network on
84 × 84 × 3 pictures. What differs, and why it is sound:

- **The terminate action is not learned**: what it gives is known (`pixel_goals`). Q_MIN is 0 with
  r_min = 0, so it is not learned either.
- **No constraint history in the input.** What a violated constraint changes is which goals are still
  possible, and that is known: they are masked when acting.
- **Cross-entropy** on values in [0, 1] instead of squares, and γ = 0.9 while learning.
- **A wider gap** between the best action and the others (advantage learning: what an action loses
  against the best is taken off its target many times over), which leaves the values of the best actions
  as they are. The value and the actions' shares of it are outputs of their own: were they one, not to
  be sure of the way would make a goal look farther away.
- **Onward values** are learned besides: see `pixel_targets`.
- **Sweeps** (preset `cpu`) instead of one agent's life (preset `paper`): see `pixel_experience`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from skm_machine.errors import SkmError
from skm_primitives.checkpoint import Card
from skm_primitives.deep.algorithm import Arrays, optimiser_arrays, restore_optimiser
from skm_primitives.deep.moving_targets.experience import (
    SWEEP_STEPS,
    BoardSteps,
    StateReplay,
    sweep,
)
from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.deep.moving_targets.pixel_networks import (
    Heads,
    OnStates,
    make_network,
    set_weights,
    weights,
)
from skm_primitives.deep.moving_targets.pixel_settings import PixelSettings
from skm_primitives.deep.moving_targets.skill_tests import (
    VALIDATION_SEED,
    LogValues,
    group_scores,
    success,
)
from skm_primitives.deep.moving_targets.value_targets import PixelTargets, loss
from skm_primitives.deep.score_curve import ScoreCurve
from skm_primitives.deep.trainer import DeepLearner
from skm_sim.domain import DomainSpec
from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import COLLECTED, KINDS, MOVES, NOTHING, States
from skm_sim.moving_targets.single_skills import skill_tests

WARM_UP = 100
"""Updates over which the step size rises."""
LEAST_RATE = 0.02
"""What is left of the step size at the end of the run."""
CLIP = 1.0
"""The largest norm of a gradient."""


class PixelLearner(DeepLearner):
    """Learns the skill primitives of Moving Targets from its pictures."""

    learner = "pixel"
    settings_class = PixelSettings
    settings: PixelSettings

    def __init__(self, spec: DomainSpec, settings: PixelSettings) -> None:
        super().__init__(spec, settings)
        if spec.name != "moving_targets":
            raise SkmError(
                f"the learner from pixels draws the boards of Moving Targets itself; it does not"
                f" know how to draw '{spec.name}'."
            )
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.settings = settings
        self.goals = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
        heads = Heads(len(KINDS), len(self.goals), len(MOVES))
        self.network = make_network(self.options, heads)
        self.target = make_network(self.options, heads)
        self.target.load_state_dict(self.network.state_dict())
        self.target.requires_grad_(False)
        self._on_target: OnStates = self.target.on_states()
        self.optimiser = torch.optim.Adam(self.network.parameters(), fused=True)
        self.updates = 0
        self.replay = StateReplay(settings.replay if settings.experience == "replay" else 1)
        self.goal_seen = np.zeros(len(self.goals), np.int64)
        """How often each goal was achieved by a step that was learned from."""
        self.curve = ScoreCurve()
        self._targets = PixelTargets(self.goals, settings.gamma, settings.action_gap)

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> Self:
        """Return a learner that knows nothing yet."""
        return super().start(spec, PixelSettings.with_preset(options))

    @property
    def default_steps(self) -> int:
        """Environment steps that the run is planned for."""
        return self.settings.horizon

    @property
    def round_steps(self) -> int:
        """Environment steps of one round."""
        if self.settings.experience == "sweep":
            return self.settings.round_updates * self.settings.boards * SWEEP_STEPS
        return self.settings.agents * self.spec.primitive_steps

    def collect(self, random: np.random.Generator) -> None:
        """Replay: let every agent live one episode in pursuit of goals. Sweeps need nothing."""
        if self.settings.experience == "sweep":
            return
        agents = self.settings.agents
        on_states = self.network.on_states()
        states = board.sample(random, agents)
        pursued = random.integers(len(self.goals), size=agents)
        first, last = self.settings.epsilon
        epsilon = first + (last - first) * min(1.0, 2 * self.steps / self.settings.horizon)
        for _ in range(self.spec.primitive_steps):
            with torch.no_grad():
                shares = on_states(states).shares
            actions = shares[torch.arange(agents), torch.from_numpy(pursued)].argmax(dim=1).numpy()
            chance = random.random(agents) < epsilon
            actions = np.where(chance, random.integers(len(MOVES), size=agents), actions)
            after = board.step(states, actions, random)
            self.replay.add(states, actions, after)
            over = ~self.goals.alive[after[:, COLLECTED], pursued]
            pursued = np.where(over, random.integers(len(self.goals), size=agents), pursued)
            states = after

    def improve(self, random: np.random.Generator) -> None:
        """Update the network: a fixed number of times, or as often as the steps gathered allow."""
        settings = self.settings
        if settings.experience == "sweep":
            for _ in range(settings.round_updates):
                self._update(sweep(random, settings.boards))
            return
        # Rounding as a function of the steps so far, so that no remainder has to be remembered.
        owed = (self.steps + self.round_steps) // settings.update_every
        for _ in range(owed - self.steps // settings.update_every):
            self._update(self.replay.sample(random, settings.batch))

    def _update(self, batch: BoardSteps) -> None:
        """Learn all goals from a batch."""
        targets = self._targets.of(batch, self._on_target)
        error = loss(self.network.on_states()(batch.states), targets, batch)
        self.optimiser.zero_grad()
        (error * math.sqrt(len(self.goals))).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        for group in self.optimiser.param_groups:
            group["lr"] = self._learning_rate()
        self.optimiser.step()
        self.updates += 1
        counts = np.bincount(batch.touched.ravel(), minlength=NOTHING + 1)
        self.goal_seen += counts @ self.goals.achieved
        if self.updates % self.settings.copy_every == 0:
            self._copy()

    def _learning_rate(self) -> float:
        progress = self.steps / self.settings.horizon
        warm = min(1.0, (self.updates + 1) / WARM_UP)
        return (
            self.settings.learning_rate
            * warm
            * float(np.clip((1 - progress) / 0.75, LEAST_RATE, 1))
        )

    def _copy(self) -> None:
        self.target.load_state_dict(self.network.state_dict())
        self._on_target = self.target.on_states()

    def log_values(self) -> LogValues:
        """Return the logarithms of the action values of states, by the network as it is now."""
        with torch.no_grad():
            on_states = self.network.on_states()

        def values(states: States) -> np.ndarray[Any, np.dtype[np.float32]]:
            with torch.no_grad():
                return on_states(states).action_values().log().numpy()

        return values

    def validate(self) -> dict[str, float]:
        """Return the success of single skills on validation boards."""
        tests = skill_tests()
        boards = self.settings.validation_boards
        rates = success(self.log_values(), self.goals.goals, tests, boards, VALIDATION_SEED)
        scores = group_scores(tests, rates)
        self.curve.add(self.steps, scores)
        return scores

    def served_arrays(self) -> Arrays:
        """Return the network in half precision, and how often each goal was achieved."""
        half = {f"network.{k}": v.astype(np.float16) for k, v in weights(self.network).items()}
        return {**half, "goal_seen": self.goal_seen.copy()}

    def served_details(self) -> dict[str, Any]:
        """Return sizes, both discounts, and the learning curve."""
        return {
            "network": self.settings.network,
            "channels": self.settings.channels,
            "hidden": list(self.settings.hidden),
            "gamma": self.spec.gamma,
            "learning_gamma": self.settings.gamma,
            "updates": self.updates,
            **self.curve.details(),
        }

    def finish(self, arrays: Arrays, card: Card) -> Arrays:
        """Add the mean values of every goal from where every other has just been achieved."""
        if "goal_to_goal" in arrays:
            return arrays
        from skm_primitives.deep.moving_targets.pixel_primitives import goal_to_goal  # noqa: PLC0415

        return {**arrays, "goal_to_goal": goal_to_goal(arrays, card.details, self.goals)}

    def save(self, path: str | Path, command: str) -> Card:
        """Write the checkpoints, and the learning curve beside them as `NAME.curve.csv`."""
        card = super().save(path, command)
        self.curve.write(path)
        return card

    def training_arrays(self) -> Arrays:
        """Return both networks, the optimiser, the replay memory and the counts."""
        return {
            **{f"network.{name}": value for name, value in weights(self.network).items()},
            **{f"target.{name}": value for name, value in weights(self.target).items()},
            **optimiser_arrays("adam", self.optimiser),
            **self.replay.arrays(),
            "seen": self.goal_seen,
        }

    def restore(self, arrays: Arrays, details: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        for prefix, network in (("network.", self.network), ("target.", self.target)):
            named = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            set_weights(network, named)
        self._on_target = self.target.on_states()
        restore_optimiser("adam", self.optimiser, arrays)
        self.replay.restore(arrays)
        self.goal_seen = np.array(arrays["seen"])
        self.updates = details["updates"]
        self.curve.restore(details)
