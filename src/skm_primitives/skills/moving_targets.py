"""Skills of Moving Targets: from pictures by networks, or exact ones from the true state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills.checkpoint import Card, WrongDomainError, expect_shape
from skm_primitives.skills.encoders import averaging
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.network_skills import ObservationError
from skm_primitives.skills.networks import windows
from skm_primitives.skills.values import GoalToGoal, GoalValues
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import (
    AGENT,
    COLLECTED,
    KINDS,
    MOVES,
    NUM_CELLS,
    OBJECTS,
    PIXELS,
    TRANSITIONS,
    Frames,
    States,
    read_state,
    render,
)
from skm_sim.moving_targets.reference import UNREACHABLE, distances
from skm_sim.registry import get_domain
from skm_sim.spec import DomainSpec

# Goals of the learner from pixels: every kind of object, with what may be touched on the way.
#
# `Goal(labels=l, violated=V)` means: collect an object with exactly the labels l, with *at most*
# the constraints V violated before. Skills only ever ask that constraints be *not* violated, so a
# mask that admits V admits every smaller set. A few sets V will therefore do: all constraints
# (don't care), none (touch nothing else), and all but one. A mission that forbids more than one
# proposition at a time is served by "none", more careful than need be, and sound. Sets of all but
# two would more than double the heads; the one run that had them did worse, but it differed in
# other settings too, so what they cost is not known.
#
# What stopping would have given is known at every transition, for every goal at once:
#
#     target = 1                            if the object collected has the labels of the goal
#            = 0                            if it has a label that V does not allow
#            = γ · value of the next state  otherwise


class PixelGoals:
    """All goals, in the order of the networks' heads, and what each object touched means for them.

    `label_sets` are those of the objects, one each; one more index stands for touching nothing.
    """

    def __init__(self, constraints: tuple[str, ...], label_sets: Sequence[frozenset[str]]) -> None:
        self.label_sets = tuple(label_sets)
        self.allowances = _allowances(constraints)
        """The sets V."""
        self.goals = tuple(
            Goal(labels, violated) for labels in self.label_sets for violated in self.allowances
        )
        touched = [*self.label_sets, frozenset[str]()]
        self.achieved: BoolArray = np.array(
            [[bool(labels) and goal.labels == labels for goal in self.goals] for labels in touched]
        )
        """`achieved[touched, goal]`: touching that achieves the goal."""
        self.alive: BoolArray = ~self.achieved & np.array(
            [
                [labels & set(constraints) <= goal.violated for goal in self.goals]
                for labels in touched
            ]
        )
        """`alive[touched, goal]`: after touching that, the goal can still be achieved."""

    def __len__(self) -> int:
        return len(self.goals)

    def masked(self, violated: frozenset[str]) -> BoolArray:
        """Return which goals are still possible with these constraints violated."""
        return np.array([violated <= goal.violated for goal in self.goals])


def _allowances(constraints: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    everything = frozenset(constraints)
    candidates = [everything, frozenset[str](), *(everything - {name} for name in constraints)]
    return tuple(dict.fromkeys(candidates))


# Networks of the preset `cpu` get frames averaged from 84 × 84 to 30 × 30 and cut into patches of 3 × 3.


SMALL = 30
"""Pixels per direction after averaging."""
PATCH = 3
PATCHES = (SMALL // PATCH) ** 2
PATCH_INPUTS = PATCH * PATCH * 3


_DOWN = averaging(PIXELS, SMALL)
_ACROSS = np.kron(_DOWN.T, np.eye(3, dtype=np.float32))
"""Averages the columns of all three colours at once."""


def patches(frames: Frames) -> Float32Array:
    """Return the networks' inputs `(n, PATCHES, PATCH_INPUTS)` for frames `(n, 84, 84, 3)`.

    Colours are centred and scaled so that they are of the order of 1.
    """
    count = len(frames)
    rows = _DOWN @ frames.reshape(count, PIXELS, -1).astype(np.float32)
    small = rows.reshape(count * SMALL, -1) @ _ACROSS
    cut = small.reshape(count, SMALL // PATCH, PATCH, SMALL // PATCH, PATCH, 3)
    flat = cut.transpose(0, 1, 3, 2, 4, 5).reshape(count, PATCHES, PATCH_INPUTS)
    scaled: Float32Array = flat * np.float32(4 / 255) - np.float32(1)
    return scaled


# Primitives from pictures: one forward pass gives the values of all goals and actions.
#
# Networks of both presets are served in plain NumPy.


Arrays: TypeAlias = Mapping[str, NDArray[Any]]
OnFrames: TypeAlias = Callable[[Frames], tuple[Float32Array, Float32Array]]
"""Action values `(n, goals, actions)` and continuation values `(n, label sets, goals)` of frames
`(n, 84, 84, 3)`, in the discount of learning."""

_SHAPE = (PIXELS, PIXELS, 3)
NATURE_STRIDES = {0: 4, 2: 2, 4: 1}
"""Layers of the convolutions of Mnih et al. (2015), by their number among ReLUs: their strides."""
MEASURE_BOARDS = 100
"""Boards for each kind of object when goal-to-goal values are measured."""
_MEASURE_SEED = 90_002


class PixelPrimitives:
    """The skill primitives that `PixelLearner` learned; see `Primitives`."""

    def __init__(self, arrays: Arrays, card: Card, spec: DomainSpec | None = None) -> None:
        details = card.details
        spec = get_domain(card.domain) if spec is None else spec
        self.domain = card.domain
        self.propositions: tuple[str, ...] = tuple(details["propositions"])
        self.constraints: tuple[str, ...] = tuple(details["constraints"])
        if (self.propositions, self.constraints) != (spec.propositions, spec.constraints):
            raise WrongDomainError(
                f"the checkpoint is of another version of the domain '{spec.name}', with the"
                f" propositions {self.propositions} and constraints {self.constraints}; train anew."
            )
        self.goal_space = PixelGoals(self.constraints, [frozenset(kind) for kind in KINDS])
        self.goals: tuple[Goal, ...] = self.goal_space.goals
        if len(arrays["goal_seen"]) != len(self.goals):
            raise WrongDomainError(
                f"the checkpoint has {len(arrays['goal_seen'])} goals, this skm {len(self.goals)};"
                " it was written by another version, train anew."
            )
        self.gamma: float = details["gamma"]
        self.learning_gamma: float = details["learning_gamma"]
        self.digest = card.digest
        self.action_space: Space[Any] = Discrete(len(MOVES))
        self.goal_seen: IntArray = arrays["goal_seen"]
        expect_shape("goal_to_goal", arrays["goal_to_goal"], (len(self.goals), len(self.goals)))
        self.world_model = GoalToGoal(arrays["goal_to_goal"])
        try:
            self._network = on_frames(arrays, details, self.goal_space)
        except KeyError as error:
            raise WrongDomainError(
                f"the checkpoint has no {error}; it was written by another version, train anew."
            ) from None
        self._power = _power(details)
        self._nearer = np.float32((1 + self.gamma) / 2)
        self._possible: dict[frozenset[str], BoolArray] = {}

    def values(
        self, observation: NDArray[Any], violated: frozenset[str] = frozenset()
    ) -> GoalValues:
        """Return the values of every goal and action, with the constraints violated so far.

        A value is γ to the number of steps that the goal is away. The network gives the better of
        both terminate decisions: a value nearer to 1 than to γ means that the action itself achieves
        the goal (stop), any other that more moves follow. Goals that forbid what has already
        happened are worth 0.
        """
        values, continuation = self._network(self._check(observation)[None])
        best: Float32Array = values[0] ** self._power
        best[~self._still_possible(violated)] = 0
        stop = np.where(best > self._nearer, best, np.float32(0))
        move = np.minimum(best, np.float32(self.gamma))
        return GoalValues(move, stop, continuation[0] ** self._power)

    def action_values(self, frames: Frames) -> Float32Array:
        """Return the action values of many frames, `(n, goals, actions)`, as they were learned."""
        return self._network(frames)[0]

    def _still_possible(self, violated: frozenset[str]) -> BoolArray:
        if violated not in self._possible:
            strange = sorted(violated.difference(self.constraints))
            if strange:
                raise SkmError(
                    f"'{strange[0]}' is not a constraint of '{self.domain}'"
                    f"{did_you_mean(strange[0], self.constraints)}"
                )
            self._possible[violated] = self.goal_space.masked(violated)
        return self._possible[violated]

    def _check(self, observation: NDArray[Any]) -> Frames:
        seen = np.asarray(observation)
        if seen.shape != _SHAPE or seen.dtype != np.uint8:
            raise ObservationError(
                f"the observation is {seen.dtype} {seen.shape}, '{self.domain}' has uint8 {_SHAPE}."
            )
        return seen


def on_frames(arrays: Arrays, details: Mapping[str, Any], goals: PixelGoals) -> OnFrames:
    """Return the network of a checkpoint as a function of frames."""
    named: dict[str, Float32Array] = {
        name.removeprefix("network."): value.astype(np.float32)
        for name, value in arrays.items()
        if name.startswith("network.")
    }
    nature = details["network"] == "nature"
    # The first hidden layer of `tiles` comes before these: its inputs are arranged by patch.
    depth = len(details["hidden"]) + nature
    matrix = [np.ascontiguousarray(named[f"layers.{i}.weight"].T) for i in range(depth)]
    bias = [named[f"layers.{i}.bias"] for i in range(depth)]
    first = _convolutions(named) if nature else _first_of_tiles(named)
    ends = np.cumsum([len(goals), len(goals) * len(MOVES)])

    def outputs(frames: Frames) -> tuple[Float32Array, Float32Array]:
        hidden: NDArray[Any] = first(frames)
        for weight, shift in zip(matrix, bias, strict=True):
            hidden = np.maximum(hidden, np.float32(0)) @ weight + shift
        sigmoid = np.float32(1) / (np.float32(1) + np.exp(-hidden))
        values, shares, continuation = np.split(sigmoid, ends, axis=1)
        shares = shares.reshape(-1, len(goals), len(MOVES))
        best = values[:, :, None] / shares.max(axis=2, keepdims=True)
        return best * shares, continuation.reshape(len(frames), -1, len(goals))

    return outputs


def _first_of_tiles(named: Mapping[str, Float32Array]) -> Callable[[Frames], Float32Array]:
    """Return the first hidden layer of a `TileNetwork`, before its ReLU."""
    patch, patch_bias = np.ascontiguousarray(named["patch.weight"].T), named["patch.bias"]
    first, first_bias = named["first"], named["first_bias"]

    def hidden(frames: Frames) -> Float32Array:
        features = (patches(frames) @ patch + patch_bias).reshape(len(frames), -1)
        found: NDArray[Any] = features @ first + first_bias
        return found

    return hidden


def _convolutions(named: Mapping[str, Float32Array]) -> Callable[[Frames], Float32Array]:
    """Return the convolutions of a `NatureNetwork`, the last before its ReLU."""
    layers = []
    for number, stride in NATURE_STRIDES.items():
        filters = named[f"convolutions.{number}.weight"]
        flat = np.ascontiguousarray(filters.reshape(len(filters), -1).T)
        layers.append((flat, named[f"convolutions.{number}.bias"], filters.shape[-1], stride))

    def features(frames: Frames) -> Float32Array:
        seen: Float32Array = frames.astype(np.float32) * np.float32(4 / 255) - np.float32(1)
        for number, (filters, offsets, side, stride) in enumerate(layers):
            if number:
                seen = np.maximum(seen, np.float32(0))
            seen = windows(seen, side, stride) @ filters + offsets
        # The perceptron was trained on planes first, as torch flattens them.
        return seen.transpose(0, 3, 1, 2).reshape(len(frames), -1)

    return features


def _power(details: Mapping[str, Any]) -> np.float32:
    """Return the power that turns γ^k of the learning discount into that of the domain's."""
    return np.float32(np.log(details["gamma"]) / np.log(details["learning_gamma"]))


def goal_to_goal(arrays: Arrays, details: Mapping[str, Any], goals: PixelGoals) -> Float32Array:
    """Return `(goals, goals)`: the mean value of each goal where another has just been achieved.

    Measured with no constraint violated, by going for each kind of object on random boards with the
    network itself. How the way there was restricted does not matter for what comes after.
    """
    network = on_frames(arrays, details, goals)
    random = np.random.default_rng(_MEASURE_SEED)
    power = _power(details)
    result = np.zeros((len(goals), len(goals)), np.float32)
    for kind, labels in enumerate(goals.label_sets):
        rows = [index for index, goal in enumerate(goals.goals) if goal.labels == labels]
        free = max(rows, key=lambda index: len(goals.goals[index].violated))
        states = board.sample(random, MEASURE_BOARDS)
        arrived = []
        for _ in range(get_domain("moving_targets").primitive_steps):
            actions = network(render(states))[0][:, free].argmax(axis=1)
            states = board.step(states, actions, random)
            here = states[:, COLLECTED] == kind
            arrived.append(states[here])
            states = states[~here]
            if not len(states):
                break
        ends = np.concatenate(arrived)
        if len(ends):
            result[rows] = (network(render(ends))[0].max(axis=2) ** power).mean(axis=0)
    return result


def load(arrays: Arrays, card: Card, spec: DomainSpec | None) -> PixelPrimitives:
    """Return the primitives of a checkpoint; the entry in `skm_primitives.skills.loading`."""
    return PixelPrimitives(arrays, card, spec)


# Exact skills for Moving Targets: what perfect primitives would say, read off the true state.
#
# They tell what a planner alone can do, and so how much of a result comes from learning.
# Values are γ^(steps − 1) along shortest ways that touch nothing that the goal forbids.


AVERAGE_BOARDS = 200
_AVERAGE_SEED = 90_003


class ExactPixelPrimitives:
    """Implements `skm_primitives.skills.values.Primitives` with true values."""

    def __init__(self, spec: DomainSpec) -> None:
        self.domain = spec.name
        self.propositions, self.constraints = spec.propositions, spec.constraints
        self.gamma = spec.gamma
        self.goal_space = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
        self.goals: tuple[Goal, ...] = self.goal_space.goals
        self.action_space: Space[Any] = Discrete(len(MOVES))
        self.digest = "exact"
        achieved, alive = self.goal_space.achieved[:-1], self.goal_space.alive[:-1]
        self._kind = achieved.argmax(axis=0)
        self._wanted, self._forbidden = achieved.T, (~achieved & ~alive).T

    def values(self, observation: Frames, violated: frozenset[str] = frozenset()) -> GoalValues:
        """Return the true values of every goal and action in the state that a frame shows."""
        state = read_state(observation)
        steps, wanted, forbidden = self._ways(state)
        entered = TRANSITIONS[state[AGENT]]
        move = np.where(forbidden, 0, self._discounted(steps + 1))[:, entered]
        stop = wanted[:, entered].astype(np.float32)
        move = np.where(stop > 0, np.float32(self.gamma), move)
        possible = self.goal_space.masked(violated)[:, None]
        continuation = self._continuation(state, steps)
        return GoalValues((move * possible).astype(np.float32), stop * possible, continuation)

    def _ways(self, state: States) -> tuple[IntArray, BoolArray, BoolArray]:
        """Return `(goals, cells)`: the steps to each goal, and where it is achieved and ruled out."""
        wanted = np.zeros((len(self.goals), NUM_CELLS), np.bool_)
        forbidden = np.zeros_like(wanted)
        for kind, cell in enumerate(state[OBJECTS].tolist()):
            wanted[:, cell], forbidden[:, cell] = self._wanted[:, kind], self._forbidden[:, kind]
        return distances(wanted, forbidden).astype(np.int64), wanted, forbidden

    def _discounted(self, steps: IntArray) -> FloatArray:
        return np.where(steps >= UNREACHABLE, 0.0, self.gamma ** (steps - 1.0))

    def _continuation(self, state: States, steps: IntArray) -> Float32Array:
        """Return `(kinds, goals)`: the values where each kind is; its own, as it respawns: the mean."""
        there = self._discounted(steps[:, state[OBJECTS]]).T
        again = self._kind[None, :] == np.arange(len(KINDS))[:, None]
        return np.where(again, self._mean_of_goals, there).astype(np.float32)

    @cached_property
    def _mean_of_goals(self) -> Float32Array:
        """The mean value of each goal over random boards, `(goals,)`."""
        states = board.sample(np.random.default_rng(_AVERAGE_SEED), AVERAGE_BOARDS)
        found = [self._discounted(self._ways(state)[0][:, state[AGENT]]) for state in states]
        mean: Float32Array = np.mean(found, axis=0, dtype=np.float32)
        return mean

    @cached_property
    def world_model(self) -> GoalToGoal:
        """The mean value of each goal: where another was achieved is as good a place as any."""
        return GoalToGoal(np.tile(self._mean_of_goals, (len(self.goals), 1)))
