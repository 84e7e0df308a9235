"""Network inference in plain NumPy: forward passes, and estimates of goals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives.skills.checkpoint import WrongDomainError
from skm_primitives.skills.encoders import ImageEncoder, ObservationEncoder, coarse_grid
from skm_primitives.skills.goal_encoding import (
    AnyAvoidEncoding,
    GoalEncoding,
    Questions,
    ReachAvoidInput,
    goal_encoding,
    questions_for,
)
from skm_primitives.skills.goal_space import STRICT, AnyAvoidGoals, GoalSpace
from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.spec import DomainSpec

# Inference without torch: the forward pass of an `EnsembleMLP` in plain NumPy.


class ServedMLP:
    """An `EnsembleMLP` in plain NumPy, for a few observations at a time."""

    def __init__(self, prefix: str, arrays: Mapping[str, Float32Array]) -> None:
        def part(kind: str) -> list[Float32Array]:
            names = sorted(
                (name for name in arrays if name.startswith(f"{prefix}.{kind}.")),
                key=lambda name: int(name.rsplit(".", 1)[1]),
            )
            return [np.ascontiguousarray(arrays[name], np.float32) for name in names]

        self._weights, self._biases = part("weights"), part("biases")
        self._scales, self._shifts = part("scales"), part("shifts")
        self.inputs = self._weights[0].shape[1]
        self.members = self._weights[0].shape[0]

    def __call__(self, inputs: Float32Array) -> Float32Array:
        """Return `(members, n, outputs)` for inputs `(n, inputs)` or `(members, n, inputs)`."""
        return self.outputs(self.hidden(inputs))

    def outputs(self, hidden: Float32Array) -> Float32Array:
        """Return the outputs from the last hidden layer."""
        outputs: Float32Array = hidden @ self._weights[-1] + self._biases[-1]
        return outputs

    def hidden(self, inputs: Float32Array) -> Float32Array:
        """Return the last hidden layer of every member."""
        hidden: Float32Array = inputs if inputs.ndim == 3 else inputs[None]
        for index, (scale, shift) in enumerate(zip(self._scales, self._shifts, strict=True)):
            hidden = hidden @ self._weights[index] + self._biases[index]
            hidden = hidden - hidden.mean(-1, keepdims=True)
            spread = np.sqrt(np.square(hidden).mean(-1, keepdims=True) + np.float32(1e-5))
            hidden = np.maximum(hidden / spread * scale + shift, np.float32(0))
        return hidden


# Inference of an `ImageNetwork` without torch, in plain NumPy.


class ServedImageNetwork:
    """The forward pass for a few pictures at a time."""

    def __init__(
        self, prefix: str, arrays: Mapping[str, Float32Array], encoder: ImageEncoder
    ) -> None:
        self._filters = _Filters(prefix, arrays)
        self._head = ServedMLP(f"{prefix}.head", arrays)
        # Files of 0.1 call it `onward`.
        name = "continuation" if f"{prefix}.continuation" in arrays else "onward"
        continuation = arrays.get(f"{prefix}.{name}")
        self._continuation: tuple[Float32Array, Float32Array] | None = None
        if continuation is not None:
            flat = continuation.reshape(-1, *continuation.shape[2:])
            self._continuation = flat, arrays[f"{prefix}.{name}_bias"]
        self._encoder = encoder
        self.inputs = encoder.inputs if self._filters.planes == encoder.planes else -1

    def __call__(self, pixels: NDArray[Any]) -> Float32Array:
        """Return `(members, n, outputs)` for bytes `(n, inputs)`."""
        return self._head.outputs(self._hidden(pixels))

    def continuation(self, pixels: NDArray[Any]) -> Float32Array | None:
        """Return continuation values `(n, label sets, goals)`, if they were learned."""
        if self._continuation is None:
            return None
        hidden = self._hidden(pixels)
        flat = hidden.transpose(1, 0, 2).reshape(len(pixels), -1) / len(hidden)
        weights, bias = self._continuation
        logits = (np.tensordot(flat, weights, 1) + bias).astype(np.float32)
        values: Float32Array = np.float32(1) / (np.float32(1) + np.exp(-logits))
        return values

    def _hidden(self, pixels: NDArray[Any]) -> Float32Array:
        seen = self._filters(image_planes(self._encoder, pixels))
        flat = seen.transpose(0, 3, 1, 2).reshape(len(seen), -1)
        return self._head.hidden(np.ascontiguousarray(flat))


class _Filters:
    """The layers of filters of an image network: convolutions that halve the sides, or patches."""

    def __init__(self, prefix: str, arrays: Mapping[str, Float32Array]) -> None:
        count = sum(name.startswith(f"{prefix}.filters.") for name in arrays)
        filters = [arrays[f"{prefix}.filters.{layer}"] for layer in range(count)]
        self._filters = [np.ascontiguousarray(some.reshape(len(some), -1).T) for some in filters]
        self._offsets = [arrays[f"{prefix}.offsets.{layer}"] for layer in range(count)]
        side = arrays.get(f"{prefix}.side")
        self._patch = 0 if side is None else int(side)
        """Pixels a side of the patches that lie side by side; 0: convolutions."""
        self.planes = filters[0].shape[1] if count else 0

    def __call__(self, seen: Float32Array) -> Float32Array:
        """Return what the last layer sees, `(n, height, width, planes)`."""
        for filters, offsets in zip(self._filters, self._offsets, strict=True):
            cut = _tiles(seen, self._patch) if self._patch else windows(_padded(seen), 3, 2)
            seen = np.maximum(cut @ filters + offsets, np.float32(0))
        return seen


def image_planes(encoder: ImageEncoder, pixels: NDArray[Any]) -> Float32Array:
    """Return the planes `(n, height, width, planes)` of bytes: codes or intensities."""
    picture = pixels.reshape(-1, *encoder.seen)
    if encoder.codes is None:
        scaled: Float32Array = (picture.astype(np.float32) - encoder.shift) * encoder.scale
        return scaled
    planes = np.zeros((*picture.shape[:3], encoder.planes), np.float32)
    index = encoder.codes[np.arange(encoder.seen[2]), picture]
    np.put_along_axis(planes, index, np.float32(1), axis=3)
    return planes


def _padded(picture: Float32Array) -> Float32Array:
    """Return pictures with a frame of zeros, one pixel wide."""
    return np.pad(picture, ((0, 0), (1, 1), (1, 1), (0, 0)))


def windows(picture: Float32Array, side: int, stride: int) -> Float32Array:
    """Return what square filters of a convolution see: `(n, height, width, planes · side²)`."""
    cut = sliding_window_view(picture, (side, side), axis=(1, 2))[:, ::stride, ::stride]
    seen: Float32Array = cut.reshape(*cut.shape[:3], -1)
    return seen


def _tiles(picture: Float32Array, side: int) -> Float32Array:
    """Return patches that lie side by side: `(n, rows, columns, planes · side²)`."""
    count, height, width, planes = picture.shape
    cut = picture.reshape(count, height // side, side, width // side, side, planes)
    tiles = cut.transpose(0, 1, 3, 5, 2, 4)
    seen: Float32Array = tiles.reshape(count, height // side, width // side, -1)
    return seen


# Caution: of actions that lead to a goal about as well, one that risks nothing that is forbidden.
#
# A skill ends where its goal is reached, and its values look no further: to a robot that stays
# there, as a recurring mission has it do, every action that shows the goal again in the next step is
# as good as any other, also one after which it can no longer stop before what is forbidden.
#
# How much an action risks is known all the same, from all goals together. A goal that allows the
# constraints V to be violated is worth at most what the same labels are worth where any may be;
# by how much less, after an action, is what avoiding the others costs from there on: nothing
# far from them, everything where they can't be avoided any more. That logarithm, on average over
# the labels that can be shown without touching them, is added to that of each action's value, for
# every goal that allows V, or that does once it is reached: where a goal itself shows
# constraints, it is the others that are risked.


CAUTION: Final = 1.0
"""How much the risk counts beside the value.

Of 2,000 runs of Safety's `no_other_button` 40 are lost with it, 33 with 0: docs/results/ablations.md."""


class _Kept(NamedTuple):
    """The goals at which the same constraints are still to be avoided."""

    cautious: BoolArray
    """Those goals: what they allow to be violated and what they show are the same set V together."""
    goals: IntArray
    """Of these, as indices, those that allow all of V and have a twin that allows all constraints."""
    free: IntArray
    """For each of these, that goal."""


def allowed_at(goal: Goal, constraints: frozenset[str]) -> frozenset[str]:
    """Return the constraints that may be violated once a goal is reached: its own, and V."""
    return goal.violated | (goal.labels & constraints)


class Caution:
    """Chooses actions for goals, by the values that each action has for all of them."""

    def __init__(self, goals: Sequence[Goal], constraints: Collection[str]) -> None:
        every = frozenset(constraints)
        free = {goal.labels: i for i, goal in enumerate(goals) if goal.violated == every}
        self._kept: list[_Kept] = []
        reached = [allowed_at(goal, every) for goal in goals]
        for allowed in sorted(set(reached) - {every}, key=sorted):
            cautious = np.array([some == allowed for some in reached])
            compared = [
                i
                for i in np.flatnonzero(cautious).tolist()
                if goals[i].violated == allowed and goals[i].labels in free
            ]
            if compared:
                twins = np.array([free[goals[i].labels] for i in compared])
                self._kept.append(_Kept(cautious, np.array(compared), twins))

    def best(self, logits: Float32Array) -> IntArray:
        """Return the best action of each goal `(n, goals)`.

        From the logits of two networks for every goal and action, `(2, n, goals, actions)`.
        """
        best: IntArray = logits.mean(0).argmax(-1)
        if not self._kept:
            return best
        log_value = (-np.logaddexp(0, -logits)).mean(0)
        for kept in self._kept:
            cost = log_value[:, kept.goals] - log_value[:, kept.free]
            risk = np.minimum(cost, 0).mean(axis=1)
            careful = (log_value + CAUTION * risk[:, None]).argmax(-1)
            best = np.where(kept.cautious, careful, best)
        return best


# Estimates of goals, in plain NumPy: one class for each algorithm.


Arrays = Mapping[str, NDArray[Any]]

NEAR_BEST_MARGIN = 0.3
"""How much smaller the logit of an action may be for it to count as nearly as good."""
UNASKED = -1e4
"""The logit of what was not asked about."""
_PRIME = 1_000_003
_SPREADING = 7919


class Networks(Protocol):
    """What was learned, of either algorithm."""

    def __call__(
        self,
        features: Float32Array,
        chance: IntArray,
        wanted: BoolArray | None,
        violated: IntArray,
    ) -> Estimates:
        """Return the estimates of every goal, for features and a random number for each.

        Where goals are asked about one by one, those that are not `wanted` are worth nothing. Where any
        avoid set can be asked for, strict goals are asked for with `violated` allowed, bits `(n,)`.
        """
        ...

    def logits(
        self,
        features: Float32Array,
        wanted: BoolArray | None = None,
        violated: IntArray | None = None,
    ) -> Float32Array:
        """Return the logits of every goal and choice, `(2, n, goals, actions)`."""
        ...

    def two_legs(
        self, features: Float32Array, wanted: BoolArray, violated: IntArray
    ) -> Float32Array | None:
        """Return the logits of goals and what to show afterwards, `(goals, label sets, actions)`.

        Of one state; None where that was not learned.
        """
        ...

    def continuation(self, features: Float32Array) -> Float32Array | None:
        """Return each goal's value where each label set is shown next, `(n, label sets, goals)`.

        None where that was not learned.
        """
        ...


@dataclass(frozen=True)
class Estimates:
    """For `n` states: best and near-best actions `(n, goals, dimensions)`, logits `(2, n, goals)`."""

    action: Float32Array
    near_best: Float32Array
    logits: Float32Array


class ServedGatedNetwork:
    """A `GatedImageNetwork` in plain NumPy."""

    def __init__(
        self, prefix: str, arrays: Mapping[str, Float32Array], encoder: ImageEncoder, task: int
    ) -> None:
        self._filters = _Filters(f"{prefix}.see", arrays)
        self._gates, self._bias = arrays[f"{prefix}.gates"], arrays[f"{prefix}.gate_bias"]
        self._head = ServedMLP(f"{prefix}.head", arrays)
        self._encoder, self._task = encoder, task
        fits = len(self._gates) == task and self._filters.planes in (0, encoder.planes)
        self.inputs = encoder.inputs + task if fits else -1

    def __call__(self, inputs: NDArray[Any]) -> Float32Array:
        """Return `(members, n, outputs)` for bytes of images and tasks."""
        task = inputs[:, -self._task :].astype(np.float32)
        seen = self._filters(image_planes(self._encoder, inputs[:, : -self._task]))
        seen = seen.reshape(len(seen), -1, seen.shape[-1])
        gates = (task @ self._gates + self._bias).reshape(len(task), -1, seen.shape[-1])
        picked = np.matmul(gates, seen.swapaxes(1, 2)).reshape(len(task), -1)
        return self._head(np.concatenate([picked, task], axis=1))


class _Asking:
    """Which questions are put to a network, and which of the goals served they answer for."""

    def __init__(self, goals: GoalEncoding) -> None:
        self._encoding = goals
        space = goals.space
        position = np.full(space.capacity * space.heads, -1)
        position[space.served()] = np.arange(len(space.goals()))
        answers = position[goals.goals[:, : goals.used]]
        served = (answers >= 0).all(1)
        self.answers, self._listed = answers[served], goals.listed[np.flatnonzero(served)]
        """`[question, output]`: the goals that are answered, as they are numbered where served."""

    def inputs(
        self, features: Float32Array, wanted: BoolArray, violated: IntArray | None
    ) -> tuple[IntArray, IntArray, NDArray[Any]]:
        """Return which rows are asked which question for the goals wanted, and a network's inputs.

        Where any avoid set can be asked for, strict goals are those with `violated` allowed.
        """
        row, question = questions_for(wanted, self.answers)
        questions = self._told(row, question, violated)
        return row, question, self._encoding.shown(features[row], questions)

    def _told(self, row: IntArray, question: IntArray, violated: IntArray | None) -> Questions:
        questions = self._listed[question]
        if violated is not None and isinstance(self._encoding.space, AnyAvoidGoals):
            strict = questions.allowed == self._encoding.space.violations[STRICT]
            allowed = np.where(strict, violated[row], questions.allowed)
            questions = replace(questions, allowed=allowed)
        return questions

    def two_legs(
        self, features: Float32Array, wanted: BoolArray, violated: IntArray
    ) -> tuple[IntArray, IntArray, NDArray[Any]]:
        """Return the same for one state, each question once with every label set as a second leg.

        The first of the three is of the label sets: to show afterwards.
        """
        _, question = questions_for(wanted, self.answers)
        sets = len(self._encoding.space)
        question, then = np.repeat(question, sets), np.tile(np.arange(sets), len(question))
        row = np.zeros(len(question), np.int64)
        questions = replace(self._told(row, question, violated), then=then)
        return then, question, self._encoding.shown(features[row], questions)


class _DqnNetworks:
    """Values of the best of a few actions; near-best is any that is nearly as good.

    Serves what `GoalConditionedDQN` learned: which part of a goal is asked for, and which part is an
    output, is defined by the same `GoalEncoding`.
    """

    def __init__(self, arrays: Arrays, encoder: ObservationEncoder, goals: GoalEncoding) -> None:
        self._network = _served("network", arrays, encoder, goals)
        self._actions: Float32Array = arrays["actions"]
        self._encoding, self._asking = goals, _Asking(goals)
        space = goals.space
        self._count, self._sets = len(space.goals()), len(space)
        self._caution: Caution | None = None
        self._risked: BoolArray | None = None
        if not goals.pessimistic:
            self._caution = Caution(space.goals(), space.constraints)
            self._risked = _risked(space) if len(self._asking.answers) > 1 else None
        if (self._network.inputs, encoder.inputs) != (goals.inputs, goals.features):
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def __call__(
        self,
        features: Float32Array,
        chance: IntArray,
        wanted: BoolArray | None,
        violated: IntArray,
    ) -> Estimates:
        logits = self.logits(features, wanted, violated)
        ranked = logits.min(0) if self._encoding.pessimistic else logits.mean(0)
        best = ranked.argmax(-1) if self._caution is None else self._caution.best(logits)
        near = ranked >= ranked.max(-1, keepdims=True) - NEAR_BEST_MARGIN
        goals, actions = ranked.shape[1:]
        turn = (chance[:, None, None] + 7 * np.arange(goals)[:, None] + 1) * _SPREADING
        order = np.where(near, (turn * (np.arange(actions) + 1)) % _PRIME, -1)
        chosen = np.take_along_axis(logits, best[None, ..., None], axis=-1)[..., 0]
        return Estimates(self._actions[best], self._actions[order.argmax(-1)], chosen)

    def logits(
        self,
        features: Float32Array,
        wanted: BoolArray | None = None,
        violated: IntArray | None = None,
    ) -> Float32Array:
        """Return those of every goal and action, `(2, n, goals, actions)`."""
        asked = np.ones((len(features), self._count), np.bool_) if wanted is None else wanted
        if wanted is not None and self._risked is not None:
            asked = wanted | (wanted @ self._risked)
        row, question, inputs = self._asking.inputs(features, asked, violated)
        answers = self._asking.answers
        outputs = self._network(inputs)
        size = self._encoding.outputs * len(self._actions)
        kinds = outputs.shape[-1] // size  # Two where actions' shares are outputs, too.
        shape = len(outputs), len(row), self._encoding.outputs, kinds, len(self._actions)
        parts = outputs.reshape(shape)[:, :, : answers.shape[1]]
        answered: Float32Array = parts[..., 0, :] if kinds == 1 else _of_shares(parts)
        if len(answered) != 2:
            answered = np.stack([answered.min(0), answered.max(0)])
        logits = np.full((2, *asked.shape, len(self._actions)), UNASKED, np.float32)
        logits[:, row[:, None], answers[question]] = answered
        return logits

    def two_legs(
        self, features: Float32Array, wanted: BoolArray, violated: IntArray
    ) -> Float32Array | None:
        """Return the logits of one state, `(goals, label sets, actions)`, if two legs were learned."""
        if not isinstance(self._encoding, AnyAvoidEncoding) or self._encoding.legs == 1:
            return None
        then, question, inputs = self._asking.two_legs(features, wanted, violated)
        answers, actions = self._asking.answers, len(self._actions)
        said = self._network(inputs).mean(0).reshape(len(then), -1, actions)
        logits = np.full((self._count, self._sets, actions), UNASKED, np.float32)
        logits[answers[question], then[:, None]] = said[:, : answers.shape[1]]
        return logits

    def continuation(self, features: Float32Array) -> Float32Array | None:
        """Return those of the network of images, if it learned them."""
        if not isinstance(self._network, ServedImageNetwork):
            return None
        found = self._network.continuation(features)
        return None if found is None else found[:, : self._sets, : self._count]


def _served(
    prefix: str, arrays: Arrays, encoder: ObservationEncoder, goals: GoalEncoding
) -> ServedMLP | ServedImageNetwork | ServedGatedNetwork:
    """Return the network that `learning.networks.make_network` would make."""
    if not isinstance(encoder, ImageEncoder):
        return ServedMLP(prefix, arrays)
    if isinstance(goals, ReachAvoidInput):
        return ServedGatedNetwork(prefix, arrays, encoder, goals.task_inputs)
    return ServedImageNetwork(prefix, arrays, encoder)


def _risked(space: GoalSpace) -> BoolArray:
    """Return `[goal, goal]`: the goals that tell what is risked where each is reached (`Caution`).

    All those that allow what may be violated there, and the freest, with which these are compared.
    """
    goals, every = space.goals(), frozenset(space.constraints)
    allowed = [goal.violated for goal in goals]
    rows = [[some in (allowed_at(goal, every), every) for some in allowed] for goal in goals]
    return np.array(rows, np.bool_).reshape(len(goals), len(goals))


def _of_shares(logits: Float32Array) -> Float32Array:
    """Return the logits of actions, from `(…, 2, actions)`: those of their values and shares."""
    log_value = -np.logaddexp(np.float32(0), -logits)
    best = log_value.max(-1, keepdims=True)
    total = best[..., 0, :] + log_value[..., 1, :] - best[..., 1, :]
    total = np.minimum(total, np.float32(-1e-6))
    found: Float32Array = total - np.log(-np.expm1(total))
    return found


class _Td3Networks:
    """The best of a few controls for each goal, and what the critics think of it.

    Tried are the actor's controls for all goals, and a coarse grid. So a goal is not left to its own
    actor alone, which climbed the critics from where it was, and what an action risks is known
    (`caution`). The near-best action is the actor's control plus a random offset.
    """

    def __init__(self, arrays: Arrays, encoder: ObservationEncoder, goals: GoalEncoding) -> None:
        self._actor, self._critic = ServedMLP("actor", arrays), ServedMLP("critic", arrays)
        self._encoder, self._asking = encoder, _Asking(goals)
        space = goals.space
        self._goals = len(space.goals())
        self._caution = Caution(space.goals(), space.constraints)
        most = np.ones(encoder.actions.shape[1], np.float32)
        self._grid = coarse_grid(-most, most)
        if self._actor.inputs != goals.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def logits(
        self,
        features: Float32Array,  # noqa: ARG002
        wanted: BoolArray | None = None,  # noqa: ARG002
        violated: IntArray | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """There are none for each action: a choice is never learned by TD3."""
        raise SkmError("TD3 has no value for each of a choice of actions.")

    def two_legs(
        self,
        features: Float32Array,  # noqa: ARG002
        wanted: BoolArray,  # noqa: ARG002
        violated: IntArray,  # noqa: ARG002
    ) -> Float32Array | None:
        """Return None: it was not learned."""
        return None

    def continuation(self, features: Float32Array) -> Float32Array | None:  # noqa: ARG002
        """Return None: it was not learned."""
        return None

    def __call__(
        self,
        features: Float32Array,
        chance: IntArray,
        wanted: BoolArray | None,  # noqa: ARG002
        violated: IntArray,
    ) -> Estimates:
        count, goals, size = len(features), self._goals, self._encoder.actions.shape[1]
        answers = self._asking.answers
        every = np.ones((count, goals), np.bool_)
        inputs = self._asking.inputs(features, every, violated)[2]
        inputs = inputs.reshape(count, len(answers), inputs.shape[-1])
        said = np.tanh(self._actor(inputs.reshape(-1, inputs.shape[-1]))[0])
        own = np.empty((count, goals, size), np.float32)
        own[:, answers] = said.reshape(*inputs.shape[:2], -1, size)[:, :, : answers.shape[1]]
        grid = np.broadcast_to(self._grid, (count, *self._grid.shape))
        controls = np.concatenate([own, grid], axis=1)
        logits = self._judged(inputs, controls)
        best = self._caution.best(logits)
        sides = np.arange(size) + chance[:, None, None] * _SPREADING + np.arange(goals)[:, None]
        push = np.where(sides % 2 == 0, np.float32(1), np.float32(-1))
        pushed = np.clip(own + push, -1, 1)
        chosen = np.take_along_axis(controls, best[..., None], axis=1)
        act = self._encoder.action
        return Estimates(
            act(chosen.reshape(-1, size)).reshape(count, goals, -1),
            act(pushed.reshape(-1, size)).reshape(count, goals, -1),
            np.take_along_axis(logits, best[None, ..., None], axis=-1)[..., 0],
        )

    def _judged(self, inputs: Float32Array, controls: Float32Array) -> Float32Array:
        """Return what the critics think of controls `(n, k, …)`: logits `(2, n, goals, k)`.

        `inputs` are those of every question, `(n, questions, …)`.
        """
        (count, questions, width), tried = inputs.shape, controls.shape[1]
        shape = count, questions, tried
        pairs = np.concatenate(
            [
                np.broadcast_to(inputs[:, :, None], (*shape, width)),
                np.broadcast_to(controls[:, None], (*shape, controls.shape[-1])),
            ],
            axis=3,
        )
        answers = self._asking.answers
        said = self._critic(pairs.reshape(-1, pairs.shape[-1])).reshape(2, *shape, -1)
        judged = np.empty((2, count, self._goals, tried), np.float32)
        judged[:, :, answers] = said[..., : answers.shape[1]].swapaxes(3, 4)
        return judged


def served_networks(
    arrays: Arrays,
    algorithm: str,
    encoder: ObservationEncoder,
    space: GoalSpace,
    spec: DomainSpec,
    legs: int = 1,
) -> Networks:
    """Return what was learned, by the algorithm and by what the domain says of what it sees."""
    encoding = goal_encoding(spec, encoder, space, algorithm, legs)
    if algorithm == "td3":
        return _Td3Networks(arrays, encoder, encoding)
    if algorithm != "dqn":
        raise WrongDomainError(
            f"the checkpoint is of an algorithm '{algorithm}' that is not known."
        )
    return _DqnNetworks(arrays, encoder, encoding)
