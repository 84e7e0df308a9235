"""Primitives from networks for continuous robots: one forward pass gives all goals their action.

Served in plain NumPy: torch is not imported, and a step takes a fraction of a millisecond.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.checkpoint import Card, WrongDomainError, expect_shape
from skm_primitives.deep.bodies import Body, GenericBody, body_for
from skm_primitives.deep.caution import Caution
from skm_primitives.deep.image_body import ImageBody
from skm_primitives.deep.relative_goals import RelativeGoals, goal_space
from skm_primitives.deep.relative_inputs import relative_inputs
from skm_primitives.deep.served_image import ServedImageNetwork
from skm_primitives.deep.served_network import ServedMLP
from skm_primitives.goals import Goal
from skm_primitives.primitives import AnyGoalValues, ContinuousGoalValues, GoalToGoal, GoalValues
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.domain import DomainSpec
from skm_sim.registry import get_domain

Arrays = Mapping[str, NDArray[Any]]
MANY_GOALS = 512
"""Above this, what lies behind goals is kept for each label set, not for each goal."""


class _Networks(Protocol):
    """What was learned, of either algorithm."""

    def __call__(
        self, features: Float32Array, chance: IntArray, wanted: BoolArray | None
    ) -> _Estimates:
        """Return what is thought of every goal, for features and a number of chance for each.

        Where goals are asked about one by one, those that are not `wanted` are worth nothing.
        """
        ...

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:
        """Return the logits of every goal and choice, `(2, n, goals, actions)`."""
        ...


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
        self.goal_seen: IntArray = arrays["goal_seen"]
        relative = bool(details.get("relative"))
        if relative and spec.things is None:
            raise WrongDomainError(f"the domain '{spec.name}' does not say any more what it sees.")
        self.space = goal_space(spec, details["slots"], relative)
        for bits in details["label_bits"][len(self.space) : self._known_sets(details)]:
            self.space.add(bits)
        self.goals: tuple[Goal, ...] = self.space.goals()
        self.gamma: float = details["gamma"]
        self.digest = card.digest
        self.hold = spec.hold
        """Steps for which a decision is held."""
        goals = len(self.goals)
        rows = self.space.served() // self.space.heads if goals > MANY_GOALS else None
        shape = goals if rows is None else len(self.space), goals
        behind = arrays.get("goal_to_goal", np.zeros(shape, np.float32))
        expect_shape("goal_seen", self.goal_seen, (goals,))
        expect_shape("goal_to_goal", behind, shape)
        self.behind_goals = GoalToGoal(behind, rows=rows)
        self._body = body_for(spec)
        if isinstance(self._body, GenericBody):
            self._body.restore(arrays)
        env = spec.make()
        self.action_space: Space[Any] = env.action_space
        env.close()
        self._networks: _Networks
        if isinstance(self.space, RelativeGoals):
            self._networks = _RelativeNetworks(arrays, self._body, self.space)
        else:
            caution = Caution(self.goals, self.constraints)
            networks = _NETWORKS[details["algorithm"]]
            self._networks = networks(arrays, self._body, len(self.goals), caution)
        self._served_heads = self.space.served() % self.space.heads
        self._power = np.log(self.gamma) / np.log(details["learning_gamma"])

    def _known_sets(self, details: Mapping[str, Any]) -> int:
        """Return how many label sets are served; more may have been seen since."""
        if isinstance(self.space, RelativeGoals):
            return len(details["label_bits"])
        return len(self.goal_seen) // self.space.heads

    def values(
        self, observation: NDArray[Any], violated: frozenset[str] = frozenset()
    ) -> AnyGoalValues:
        """Return every goal's best action and its value, with the constraints violated so far.

        A value is γ to the number of steps that the goal is away. Goals that forbid what has
        already happened are worth 0. Where actions are a choice, every one has a value.
        """
        return self._answer(observation, violated, None)

    def wanted_values(
        self, observation: NDArray[Any], violated: frozenset[str], wanted: BoolArray
    ) -> AnyGoalValues:
        """Return the same; goals that are not wanted may be left out, and worth nothing."""
        return self._answer(observation, violated, wanted[None])

    def _answer(
        self, observation: NDArray[Any], violated: frozenset[str], wanted: BoolArray | None
    ) -> AnyGoalValues:
        strange = sorted(violated.difference(self.constraints))
        if strange:
            raise SkmError(
                f"'{strange[0]}' is no constraint of '{self.domain}'"
                f"{did_you_mean(strange[0], self.constraints)}"
            )
        bits = np.array([sum(1 << self.propositions.index(name) for name in violated)])
        if isinstance(self.action_space, Discrete):
            return self._choices(np.asarray(observation)[None], bits)
        batch = self.batch_values(np.asarray(observation)[None], bits, wanted)
        return ContinuousGoalValues(
            batch.action[0], batch.value[0], batch.spread[0], batch.detour[0]
        )

    def possible(self, violated: IntArray) -> BoolArray:
        """Return which goals `(n, goals)` allow the constraints violated so far, bits `(n,)`."""
        possible: BoolArray = self.space.allowed(violated)[:, self._served_heads]
        return possible

    def _choices(self, observation: NDArray[Any], violated: IntArray) -> GoalValues:
        """Return the values of every choice. One nearer to 1 than to γ achieves the goal itself."""
        features = self._body.features(self._check(observation))
        log_value = -np.logaddexp(0, -self._networks.logits(features)[:, 0])
        value = np.exp(self._power * log_value.mean(0)).astype(np.float32)
        value[~self.possible(violated)[0]] = 0
        stop = np.where(value > (1 + self.gamma) / 2, value, np.float32(0))
        return GoalValues(np.minimum(value, np.float32(self.gamma)), stop)

    def commands(self, actions: Float32Array) -> NDArray[Any]:
        """Return actions of `batch_values` as the environment's batch takes them."""
        return self._body.commands(actions)

    def batch_values(
        self, observations: NDArray[Any], violated: IntArray, wanted: BoolArray | None = None
    ) -> ContinuousGoalValues:
        """Return the same for a batch `(n, …)`; `violated` are bits over the propositions.

        Goals that are not among the `wanted` ones `(n, goals)` may be left out, and worth nothing.
        """
        seen = self._check(observations)
        estimates = self._networks(self._body.features(seen), _chance(seen), wanted)
        log_value = -np.logaddexp(0, -estimates.logits)  # The logarithm of the sigmoid, exactly.
        value = np.exp(self._power * log_value.mean(0))
        gone = ~self.possible(violated)
        return ContinuousGoalValues(
            estimates.action,
            np.where(gone, np.float32(0), value).astype(np.float32),
            (self._power / 2 * np.abs(log_value[0] - log_value[1])).astype(np.float32),
            estimates.detour,
        )

    def _check(self, observations: NDArray[Any]) -> NDArray[Any]:
        if isinstance(self._body, ImageBody):
            return self._checked_pictures(np.asarray(observations), self._body.shape)
        seen = np.asarray(observations, np.float32)
        if seen.ndim != 2 or seen.shape[1] != self._body.observations:
            raise ObservationError(
                f"the observation has shape {seen.shape[1:]}, '{self.domain}' has"
                f" ({self._body.observations},)."
            )
        if not np.isfinite(seen).all():
            raise ObservationError("the observation holds a value that is not a finite number.")
        return seen

    def _checked_pictures(self, seen: NDArray[Any], shape: tuple[int, int, int]) -> NDArray[Any]:
        if seen.shape[1:] != shape or seen.dtype != np.uint8:
            raise ObservationError(
                f"the observation is {seen.dtype} {seen.shape[1:]}, '{self.domain}' has uint8 {shape}."
            )
        return seen


@dataclass(frozen=True)
class _Estimates:
    """For `n` states: actions and detours `(n, goals, dimensions)`, logits `(2, n, goals)`."""

    action: Float32Array
    detour: Float32Array
    logits: Float32Array


class _Choosing(ABC):
    """Values of the best of a few actions; a detour is any that is nearly as good."""

    _actions: Float32Array

    @abstractmethod
    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:
        """Return those of every goal and action, `(2, n, goals, actions)`."""

    def ranked(self, logits: Float32Array) -> Float32Array:
        """Return by what actions are chosen: the mean of both networks."""
        mean: Float32Array = logits.mean(0)
        return mean

    def __call__(
        self, features: Float32Array, chance: IntArray, wanted: BoolArray | None
    ) -> _Estimates:
        logits = self.logits(features, wanted)
        ranked = self.ranked(logits)
        best = self._best(logits)
        near = ranked >= ranked.max(-1, keepdims=True) - DETOUR_MARGIN
        goals, actions = ranked.shape[1:]
        turn = (chance[:, None, None] + 7 * np.arange(goals)[:, None] + 1) * _SPREADING
        order = np.where(near, (turn * (np.arange(actions) + 1)) % _PRIME, -1)
        chosen = np.take_along_axis(logits, best[None, ..., None], axis=-1)[..., 0]
        return _Estimates(self._actions[best], self._actions[order.argmax(-1)], chosen)

    def _best(self, logits: Float32Array) -> IntArray:
        best: IntArray = self.ranked(logits).argmax(-1)
        return best


class _DqnNetworks(_Choosing):
    """An output for every goal and action, so that the risk of each action is known (`caution`)."""

    def __init__(self, arrays: Arrays, body: Body, goals: int, caution: Caution) -> None:
        self._network = (
            ServedImageNetwork("network", arrays, body)
            if isinstance(body, ImageBody)
            else ServedMLP("network", arrays)
        )
        self._actions: Float32Array = arrays["actions"]
        self._goals = goals
        self._caution = caution
        if self._network.inputs != body.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def _best(self, logits: Float32Array) -> IntArray:
        return self._caution.best(logits)

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:  # noqa: ARG002
        """Return those of every goal and action, `(2, n, goals, actions)`."""
        shape = 2, len(features), -1, len(self._actions)
        shaped: Float32Array = self._network(features).reshape(shape)[:, :, : self._goals]
        return shaped


class _RelativeNetworks(_Choosing):
    """One network that is asked about every goal."""

    def __init__(self, arrays: Arrays, body: Body, space: RelativeGoals) -> None:
        self._network = ServedMLP("network", arrays)
        self._actions = arrays["actions"]
        self._things = space.things
        self._kinds, self._kept_off = space.learned[:, 0], space.kept_off(space.learned[:, 2])
        fits = self._network.inputs == self._things.relative_inputs
        if not fits or body.inputs != self._things.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:
        """Return those of every goal and action, `(2, n, goals, actions)`."""
        asked = np.ones((len(features), len(self._kinds)), np.bool_) if wanted is None else wanted
        row, goal = np.nonzero(asked)
        kinds, kept_off = self._kinds[goal], self._kept_off[goal]
        shown = relative_inputs(self._things, features[row], kinds, kept_off)
        logits = np.full((2, *asked.shape, len(self._actions)), UNASKED, np.float32)
        logits[:, row, goal] = self._network(shown)
        return logits

    def ranked(self, logits: Float32Array) -> Float32Array:
        """Return the smaller of both, by which they were learned: one that sees a risk is enough."""
        smaller: Float32Array = logits.min(0)
        return smaller


class _Td3Networks:
    """The actor's action for each goal, and what the critics think of it.

    A detour is the actor's control pushed off in a direction of chance.
    """

    def __init__(self, arrays: Arrays, body: Body, goals: int, caution: Caution) -> None:  # noqa: ARG002
        self._actor, self._critic = ServedMLP("actor", arrays), ServedMLP("critic", arrays)
        self._body = body
        self._goals = goals
        if self._actor.inputs != body.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:  # noqa: ARG002
        """There are none for each action: a choice is never learned by TD3."""
        raise SkmError("TD3 has no value for each of a choice of actions.")

    def __call__(
        self,
        features: Float32Array,
        chance: IntArray,
        wanted: BoolArray | None,  # noqa: ARG002
    ) -> _Estimates:
        count, goals, size = len(features), self._goals, self._body.actions.shape[1]
        controls = np.tanh(self._actor(features)[0].reshape(count, -1, size)[:, :goals])
        rows = np.broadcast_to(features[:, None], (count, goals, features.shape[1]))
        inputs = np.concatenate([rows, controls], axis=2).reshape(count * goals, -1)
        estimates = self._critic(inputs).reshape(2, count, goals, -1)
        logits = np.diagonal(estimates[..., :goals], axis1=2, axis2=3)
        sides = np.arange(size) + chance[:, None, None] * _SPREADING + np.arange(goals)[:, None]
        push = np.where(sides % 2 == 0, np.float32(1), np.float32(-1))
        pushed = np.clip(controls + push, -1, 1)
        act = self._body.action
        return _Estimates(
            act(controls.reshape(-1, size)).reshape(count, goals, -1),
            act(pushed.reshape(-1, size)).reshape(count, goals, -1),
            logits,
        )


DETOUR_MARGIN = 0.3
"""How much smaller the logit of an action may be for it to count as nearly as good."""
UNASKED = -1e4
"""The logit of what was not asked about."""
_PRIME = 1_000_003
_SPREADING = 7919

_NETWORKS: dict[str, Callable[[Arrays, Body, int, Caution], _Networks]] = {
    "dqn": _DqnNetworks,
    "td3": _Td3Networks,
}


def _chance(observations: NDArray[Any]) -> IntArray:
    """Return a number for each observation that is the same for the same one, and else arbitrary.

    So that serving has no state, and repeats itself exactly.
    """
    numbers = [zlib.crc32(row.tobytes()) % 1009 for row in observations]
    return np.array(numbers, np.int64)


def load(arrays: Arrays, card: Card, spec: DomainSpec | None) -> BoxPrimitives:
    """Return the primitives of a checkpoint; the entry in `skm_primitives.loading`."""
    return BoxPrimitives(arrays, card, spec)
