"""Primitives from networks for continuous robots: one forward pass gives all goals their action.

Served in plain NumPy: torch is not imported, and a step takes a fraction of a millisecond.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills.checkpoint import Card, WrongDomainError, expect_shape
from skm_primitives.skills.encoders import ImageEncoder, VectorEncoder, encoder_for
from skm_primitives.skills.goal_space import MANY_GOALS, AnyAvoidGoals, ObjectGoals, goal_space
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.networks import served_networks
from skm_primitives.skills.values import AnyGoalValues, ContinuousGoalValues, GoalToGoal, GoalValues
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.object_centric import ObjectKinds, ObjectSets
from skm_sim.registry import get_domain
from skm_sim.spec import DomainSpec

Arrays = Mapping[str, NDArray[Any]]


class ObservationError(SkmError):
    """An observation that cannot be acted on; callers stop the robot."""


class NetworkSkills:
    """The skill primitives that `GoalConditionedLearner` learned; see `Primitives`."""

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
        if relative and not isinstance(spec.objects, ObjectSets):
            raise WrongDomainError(f"the domain '{spec.name}' does not say any more what it sees.")
        meant = details.get("sets", "two"), details.get("momentary", False)
        self.space = goal_space(spec, details["slots"], relative, *meant)
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
        self.pursued = _pursued(spec, self.goals)
        """Which goals are worth going for: all but those that the domain calls unlikely."""
        ended = None
        if "goal_ends" in arrays:
            expect_shape("goal_ends", arrays["goal_ends"], (len(self.space),))
            ended = arrays["goal_ends"].astype(np.bool_)[self.space.served() // self.space.heads]
        avoiding = arrays.get("goal_to_goal_avoiding")
        if avoiding is not None:
            sets = len(self.space)
            expect_shape("goal_to_goal_avoiding", avoiding, (len(self.constraints), sets, sets))
        self.world_model = GoalToGoal(
            behind * self.pursued, rows=rows, ended=ended, avoiding=avoiding
        )
        self._encoder = encoder_for(spec)
        if isinstance(self._encoder, VectorEncoder):
            self._encoder.restore(arrays)
        env = spec.make()
        self.action_space: Space[Any] = env.action_space
        env.close()
        kind: str = details["algorithm"]
        legs = details.get("legs", 1)
        self._networks = served_networks(arrays, kind, self._encoder, self.space, spec, legs)
        self._served_heads = self.space.served() % self.space.heads
        self.learning_gamma: float = details["learning_gamma"]
        self._power = np.log(self.gamma) / np.log(self.learning_gamma)

    def _known_sets(self, details: Mapping[str, Any]) -> int:
        """Return how many label sets are served; more may have been seen since."""
        if isinstance(self.space, ObjectGoals):
            return len(details["label_bits"])
        return len(self.goal_seen) // self.space.served_heads

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
                f"'{strange[0]}' is not a constraint of '{self.domain}'"
                f"{did_you_mean(strange[0], self.constraints)}"
            )
        bits = np.array([sum(1 << self.propositions.index(name) for name in violated)])
        if isinstance(self.action_space, Discrete):
            return self._choices(np.asarray(observation)[None], bits, wanted)
        batch = self.batch_values(np.asarray(observation)[None], bits, wanted)
        return ContinuousGoalValues(
            batch.action[0], batch.value[0], batch.spread[0], batch.near_best[0]
        )

    def possible(self, violated: IntArray) -> BoolArray:
        """Return which goals `(n, goals)` allow the constraints violated so far, bits `(n,)`."""
        if isinstance(self.space, AnyAvoidGoals):  # A strict goal is one of at most these shown.
            return np.ones((len(violated), len(self.goals)), np.bool_)
        possible: BoolArray = self.space.allowed(violated)[:, self._served_heads]
        return possible

    def _choices(
        self, observation: NDArray[Any], violated: IntArray, wanted: BoolArray | None
    ) -> GoalValues:
        """Return the values of every choice. One nearer to 1 than to γ achieves the goal itself.

        Two legs are asked about where it is said which goals are wanted first, and else of all.
        """
        features = self._encoder.features(self._check(observation))
        logits = self._networks.logits(features, None, violated)[:, 0]
        log_value = -np.logaddexp(0, -logits)
        value = np.exp(self._power * log_value.mean(0)).astype(np.float32)
        value[~self.possible(violated)[0]] = 0
        stop = np.where(value > (1 + self.gamma) / 2, value, np.float32(0))
        continuation = self._networks.continuation(features)
        if continuation is not None:
            continuation = (continuation[0] ** self._power).astype(np.float32)
        every = np.ones((1, len(self.goals)), np.bool_) if wanted is None else wanted
        legs = self._networks.two_legs(features, every, violated)
        if legs is not None:
            legs = np.exp(-self._power * np.logaddexp(0, -legs)).astype(np.float32)
        return GoalValues(np.minimum(value, np.float32(self.gamma)), stop, continuation, legs)

    def action_values(self, pictures: NDArray[Any]) -> Float32Array:
        """Return the values of every goal and choice of action, `(n, goals, actions)`, as learned."""
        logits = self._networks.logits(self._encoder.features(self._check(pictures)))
        values: Float32Array = np.exp(-np.logaddexp(0, -logits).mean(0))
        return values

    def commands(self, actions: Float32Array) -> NDArray[Any]:
        """Return actions of `batch_values` as the environment's batch takes them."""
        return self._encoder.commands(actions)

    def batch_values(
        self, observations: NDArray[Any], violated: IntArray, wanted: BoolArray | None = None
    ) -> ContinuousGoalValues:
        """Return the same for a batch `(n, …)`; `violated` are bits over the propositions.

        Goals that are not among the `wanted` ones `(n, goals)` may be left out, and worth nothing.
        """
        seen = self._check(observations)
        estimates = self._networks(self._encoder.features(seen), _chance(seen), wanted, violated)
        log_value = -np.logaddexp(0, -estimates.logits)  # The logarithm of the sigmoid, exactly.
        value = np.exp(self._power * log_value.mean(0))
        gone = ~(self.possible(violated) & self.pursued)
        return ContinuousGoalValues(
            estimates.action,
            np.where(gone, np.float32(0), value).astype(np.float32),
            (self._power / 2 * np.abs(log_value[0] - log_value[1])).astype(np.float32),
            estimates.near_best,
        )

    def _check(self, observations: NDArray[Any]) -> NDArray[Any]:
        if isinstance(self._encoder, ImageEncoder):
            return self._checked_pictures(np.asarray(observations), self._encoder.shape)
        seen = np.asarray(observations, np.float32)
        if seen.ndim != 2 or seen.shape[1] != self._encoder.observations:
            raise ObservationError(
                f"the observation has shape {seen.shape[1:]}, '{self.domain}' has"
                f" ({self._encoder.observations},)."
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


def _pursued(spec: DomainSpec, goals: Sequence[Goal]) -> BoolArray:
    """Return which goals the domain does not call unlikely."""
    if not isinstance(spec.objects, ObjectKinds):
        return np.ones(len(goals), np.bool_)
    return np.array([spec.objects.pursued(goal.labels, goal.violated) for goal in goals], np.bool_)


def _chance(observations: NDArray[Any]) -> IntArray:
    """Return a number for each observation that is the same for the same one, and else arbitrary.

    So that serving has no state, and repeats itself exactly.
    """
    numbers = [zlib.crc32(row.tobytes()) % 1009 for row in observations]
    return np.array(numbers, np.int64)


def load(arrays: Arrays, card: Card, spec: DomainSpec | None) -> NetworkSkills:
    """Return the primitives of a checkpoint; the entry in `skm_primitives.skills.loading`."""
    return NetworkSkills(arrays, card, spec)
