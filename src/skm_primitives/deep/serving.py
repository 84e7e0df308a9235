"""Primitives from networks for continuous robots: one forward pass gives all goals their action.

Served in plain NumPy: torch is not imported, and a step takes a fraction of a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.checkpoint import Card, WrongDomainError
from skm_primitives.deep.body import Body, body_for
from skm_primitives.deep.goal_space import GoalSpace
from skm_primitives.deep.served_network import ServedMLP
from skm_primitives.goals import Goal
from skm_primitives.primitives import ContinuousGoalValues
from skm_sim.domain import DomainSpec, get_domain

Floats = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]
_Judge = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""Features `(1, inputs)` to every goal's action, value and spread."""


class ObservationError(SkmError):
    """An observation that cannot be acted on; whoever gets this stops the robot."""


class BoxPrimitives:
    """The skill primitives that `BoxLearner` learned; see `Primitives`."""

    def __init__(self, arrays: Arrays, card: Card, spec: DomainSpec | None = None) -> None:
        details = card.details
        self.domain = card.domain
        self.propositions: tuple[str, ...] = tuple(details["propositions"])
        self.constraints: tuple[str, ...] = tuple(details["constraints"])
        spec = get_domain(card.domain) if spec is None else spec
        if (self.propositions, self.constraints) != (spec.propositions, spec.constraints):
            raise WrongDomainError(
                f"the checkpoint is of another version of the domain '{spec.name}', with the"
                f" propositions {self.propositions} and constraints {self.constraints}; train anew."
            )
        space = GoalSpace(
            self.propositions, self.constraints, details["slots"], details["label_bits"]
        )
        self.goals: tuple[Goal, ...] = space.goals()
        self.gamma: float = details["gamma"]
        self.digest = card.digest
        self.goal_probability: Floats = np.ones(len(self.goals), np.float32)
        self.visit_labels: dict[int, tuple[frozenset[str], ...]] = {}
        self.goal_seen: NDArray[np.int64] = arrays["goal_seen"]
        self.goal_to_goal: Floats = arrays.get(
            "goal_to_goal", np.zeros((len(self.goals), len(self.goals)), np.float32)
        )
        self._body = body_for(spec)
        env = gymnasium.make(spec.env_id)
        self.action_space: Space[Any] = env.action_space
        env.close()
        self._judge = _JUDGES[details["algorithm"]](arrays, self._body, len(self.goals))
        self._strict = np.array([not goal.violated for goal in self.goals])
        self._power = np.log(self.gamma) / np.log(details["learning_gamma"])

    def values(
        self, observation: NDArray[Any], violated: frozenset[str] = frozenset()
    ) -> ContinuousGoalValues:
        """Return every goal's best action and its value, with the constraints violated so far.

        A value is γ to the number of steps that the goal is away. Goals that forbid what has
        already happened are worth 0.
        """
        strange = sorted(violated.difference(self.constraints))
        if strange:
            raise SkmError(
                f"'{strange[0]}' is no constraint of '{self.domain}'"
                f"{did_you_mean(strange[0], self.constraints)}"
            )
        seen = self._check(observation)
        action, value, spread = self._judge(self._body.features(seen[None]))
        if violated:
            value = np.where(self._strict, np.float32(0), value)
        discounted: Floats = np.power(value, self._power, dtype=np.float32)
        return ContinuousGoalValues(action, discounted, spread)

    def _check(self, observation: NDArray[Any]) -> Floats:
        seen = np.asarray(observation, np.float32)
        if seen.shape != (self._body.observations,):
            raise ObservationError(
                f"the observation has shape {seen.shape}, '{self.domain}' has"
                f" ({self._body.observations},)."
            )
        if not np.isfinite(seen).all():
            raise ObservationError("the observation holds a value that is not a finite number.")
        return seen


class _DqnJudge:
    """Values of the best of a few actions."""

    def __init__(self, arrays: Arrays, body: Body, goals: int) -> None:
        self._network = ServedMLP("network", arrays)
        self._actions: Floats = arrays["actions"]
        self._goals = goals
        if self._network.inputs != body.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def __call__(self, features: Floats) -> tuple[Floats, Floats, Floats]:
        logits = self._network(features)[:, 0].reshape(2, -1, len(self._actions))[:, : self._goals]
        best = logits.mean(0).argmax(1)
        chosen = logits[:, np.arange(self._goals), best]
        value = _sigmoid(chosen.mean(0))
        return self._actions[best], value, np.abs(chosen[0] - chosen[1]) / 2


class _Td3Judge:
    """The actor's action for each goal, and what the critics think of it."""

    def __init__(self, arrays: Arrays, body: Body, goals: int) -> None:
        self._actor, self._critic = ServedMLP("actor", arrays), ServedMLP("critic", arrays)
        self._body = body
        self._goals = np.arange(goals)
        if self._actor.inputs != body.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def __call__(self, features: Floats) -> tuple[Floats, Floats, Floats]:
        goals = self._goals
        controls = np.tanh(self._actor(features)[0, 0].reshape(-1, self._body.actions.shape[1]))
        controls = controls[: len(goals)]
        rows = np.broadcast_to(features, (len(goals), features.shape[1]))
        logits = self._critic(np.concatenate([rows, controls], axis=1))[:, goals, goals]
        spread = np.abs(logits[0] - logits[1]) / 2
        return self._body.action(controls), _sigmoid(logits.mean(0)), spread


_JUDGES: dict[str, Callable[[Arrays, Body, int], _Judge]] = {"dqn": _DqnJudge, "td3": _Td3Judge}


def _sigmoid(logits: Floats) -> Floats:
    value: Floats = np.reciprocal(1 + np.exp(-logits))
    return value


def load(arrays: Arrays, card: Card, spec: DomainSpec | None) -> BoxPrimitives:
    """Return the primitives of a checkpoint; the entry in `skm_primitives.primitives.SERVERS`."""
    return BoxPrimitives(arrays, card, spec)
