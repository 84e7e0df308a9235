"""Networks at work in plain NumPy: forward passes, and what they say of goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives.skills.checkpoint import WrongDomainError
from skm_primitives.skills.encoders import Body, ImageBody, coarse_grid
from skm_primitives.skills.goal_space import GoalSpace, RelativeGoals
from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.object_centric import ObjectKinds, ObjectSets
from skm_sim.spec import DomainSpec

# Networks at work without torch: the forward pass of an `EnsembleMLP` in plain NumPy.


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


# An `ImageNetwork` at work without torch, in plain NumPy.


class ServedImageNetwork:
    """The forward pass for a few pictures at a time."""

    def __init__(self, prefix: str, arrays: Mapping[str, Float32Array], body: ImageBody) -> None:
        count = sum(name.startswith(f"{prefix}.filters.") for name in arrays)
        filters = [arrays[f"{prefix}.filters.{layer}"] for layer in range(count)]
        self._filters = [np.ascontiguousarray(some.reshape(len(some), -1).T) for some in filters]
        self._offsets = [arrays[f"{prefix}.offsets.{layer}"] for layer in range(count)]
        self._head = ServedMLP(f"{prefix}.head", arrays)
        side = arrays.get(f"{prefix}.side")
        self._patch = 0 if side is None else int(side)
        """Pixels a side of the patches that lie side by side; 0: convolutions."""
        continuation = arrays.get(f"{prefix}.onward")
        self._continuation: tuple[Float32Array, Float32Array] | None = None
        if continuation is not None:
            flat = continuation.reshape(-1, *continuation.shape[2:])
            self._continuation = flat, arrays[f"{prefix}.onward_bias"]
        self._body = body
        fits = count > 0 and filters[0].shape[1] == body.planes
        self.inputs = body.inputs if fits else -1

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
        seen = self._seen(pixels)
        for filters, offsets in zip(self._filters, self._offsets, strict=True):
            cut = _tiles(seen, self._patch) if self._patch else _windows(seen)
            seen = np.maximum(cut @ filters + offsets, np.float32(0))
        flat = seen.transpose(0, 3, 1, 2).reshape(len(seen), -1)
        return self._head.hidden(np.ascontiguousarray(flat))

    def _seen(self, pixels: NDArray[Any]) -> Float32Array:
        """Return the planes `(n, height, width, planes)` of bytes."""
        body = self._body
        picture = pixels.reshape(-1, *body.seen)
        if body.codes is None:
            scaled: Float32Array = (picture.astype(np.float32) - body.shift) * body.scale
            return scaled
        planes = np.zeros((*picture.shape[:3], body.planes), np.float32)
        index = body.codes[np.arange(body.seen[2]), picture]
        np.put_along_axis(planes, index, np.float32(1), axis=3)
        return planes


def _windows(picture: Float32Array) -> Float32Array:
    """Return what each filter of 3 × 3 sees, every second pixel: `(n, height, width, planes · 9)`."""
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    seen: Float32Array = windows.reshape(*windows.shape[:3], -1)
    return seen


def _tiles(picture: Float32Array, side: int) -> Float32Array:
    """Return patches that lie side by side: `(n, rows, columns, planes · side²)`."""
    count, height, width, planes = picture.shape
    cut = picture.reshape(count, height // side, side, width // side, side, planes)
    tiles = cut.transpose(0, 1, 3, 5, 2, 4)
    seen: Float32Array = tiles.reshape(count, height // side, width // side, -1)
    return seen


# What a network relative to a goal sees: the robot, the things to reach, those to avoid.
#
# The values of reaching one kind are those of any other with the kinds renamed. So the network is
# shown own motion, the things of the kind to reach, and the things of the kinds to avoid,
# nearest first, whatever kinds these are; what may be touched it does not see at all.


def relative_inputs(
    objects: ObjectSets, features: Float32Array, kind: IntArray, avoided: BoolArray
) -> Float32Array:
    """Return `(n, relative_inputs)` for features `(n, inputs)`, the kind to reach, and `(n, kinds)`."""
    count, kinds = avoided.shape
    rows = np.arange(count)
    seen = features[:, objects.own :].reshape(count, kinds, objects.each, objects.features)
    # All sizes are given: where no goal is asked about there are no rows to tell them from.
    wanted = seen[rows, kind].reshape(count, objects.each * objects.features)
    others = (seen * avoided[..., None, None]).reshape(
        count, kinds * objects.each, objects.features
    )
    order = np.argsort(-others[..., objects.nearness], axis=1, kind="stable")[:, : objects.avoided]
    nearest = np.take_along_axis(others, order[..., None], axis=1)
    nearest = nearest.reshape(count, order.shape[1] * objects.features)
    return np.concatenate([features[:, : objects.own], wanted, nearest], axis=1)


def avoid_inputs(kinds: ObjectKinds, features: Float32Array, avoided: BoolArray) -> Float32Array:
    """Return `(n, relative_inputs)` for features `(n, inputs)` and the kinds to avoid, `(n, kinds)`.

    All features, then the things of those kinds once more, then which kinds these are.
    """
    gate = avoided.astype(np.float32)
    objects = features[:, kinds.own :] * np.repeat(gate, widths(kinds), axis=1)
    return np.concatenate([features, objects, gate], axis=1)


def widths(kinds: ObjectKinds) -> list[int]:
    """Return how many features the things of each kind have."""
    return [each * kinds.features for each in kinds.each]


def avoided_kinds(
    kinds: ObjectKinds, propositions: tuple[str, ...], allowed: IntArray
) -> BoolArray:
    """Return `(n, kinds)`: which kinds are to be avoided where these bits `(n,)` may be touched."""
    bits = np.array([1 << propositions.index(kind) for kind in kinds.kinds])
    avoided: BoolArray = (allowed[:, None] & bits) == 0
    return avoided


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
"""How much the risk counts beside the value."""


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

        From what two networks think of every goal and action, as logits `(2, n, goals, actions)`.
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


# What networks say of goals, in plain NumPy: each algorithm has its own way to be asked.


Arrays = Mapping[str, NDArray[Any]]

DETOUR_MARGIN = 0.3
"""How much smaller the logit of an action may be for it to count as nearly as good."""
UNASKED = -1e4
"""The logit of what was not asked about."""
_PRIME = 1_000_003
_SPREADING = 7919


class Networks(Protocol):
    """What was learned, of either algorithm."""

    def __call__(
        self, features: Float32Array, chance: IntArray, wanted: BoolArray | None
    ) -> Estimates:
        """Return what is thought of every goal, for features and a number of chance for each.

        Where goals are asked about one by one, those that are not `wanted` are worth nothing.
        """
        ...

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:
        """Return the logits of every goal and choice, `(2, n, goals, actions)`."""
        ...

    def continuation(self, features: Float32Array) -> Float32Array | None:
        """Return each goal's value where each label set is shown next, `(n, label sets, goals)`.

        None where that was not learned.
        """
        ...


@dataclass(frozen=True)
class Estimates:
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

    def continuation(self, features: Float32Array) -> Float32Array | None:  # noqa: ARG002
        """Return None: it was not learned."""
        return None

    def ranked(self, logits: Float32Array) -> Float32Array:
        """Return by what actions are chosen: the mean of both networks."""
        mean: Float32Array = logits.mean(0)
        return mean

    def __call__(
        self, features: Float32Array, chance: IntArray, wanted: BoolArray | None
    ) -> Estimates:
        logits = self.logits(features, wanted)
        ranked = self.ranked(logits)
        best = self._best(logits)
        near = ranked >= ranked.max(-1, keepdims=True) - DETOUR_MARGIN
        goals, actions = ranked.shape[1:]
        turn = (chance[:, None, None] + 7 * np.arange(goals)[:, None] + 1) * _SPREADING
        order = np.where(near, (turn * (np.arange(actions) + 1)) % _PRIME, -1)
        chosen = np.take_along_axis(logits, best[None, ..., None], axis=-1)[..., 0]
        return Estimates(self._actions[best], self._actions[order.argmax(-1)], chosen)

    def _best(self, logits: Float32Array) -> IntArray:
        best: IntArray = self.ranked(logits).argmax(-1)
        return best


class _DqnNetworks(_Choosing):
    """An output for every goal and action, so that the risk of each action is known (`caution`)."""

    def __init__(self, arrays: Arrays, body: Body, space: GoalSpace) -> None:
        self._network = (
            ServedImageNetwork("network", arrays, body)
            if isinstance(body, ImageBody)
            else ServedMLP("network", arrays)
        )
        self._actions: Float32Array = arrays["actions"]
        self._outputs = space.outputs
        self._goals, self._sets = len(space.goals()), len(space)
        self._caution = Caution(space.goals(), space.constraints)
        if self._network.inputs != body.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def _best(self, logits: Float32Array) -> IntArray:
        return self._caution.best(logits)

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:  # noqa: ARG002
        """Return those of every goal and action, `(2, n, goals, actions)`."""
        outputs = self._network(features)
        shape = len(outputs), len(features), self._outputs, -1, len(self._actions)
        kinds = outputs.reshape(shape)[:, :, : self._goals]
        shaped: Float32Array = kinds[..., 0, :] if kinds.shape[3] == 1 else _of_shares(kinds)
        return shaped if len(outputs) == 2 else np.stack([shaped.min(0), shaped.max(0)])

    def continuation(self, features: Float32Array) -> Float32Array | None:
        """Return those of the network of pictures, if it learned them."""
        if not isinstance(self._network, ServedImageNetwork):
            return None
        found = self._network.continuation(features)
        return None if found is None else found[:, : self._sets, : self._goals]


def _of_shares(logits: Float32Array) -> Float32Array:
    """Return the logits of actions, from `(…, 2, actions)`: those of their values and shares."""
    log_value = -np.logaddexp(np.float32(0), -logits)
    best = log_value.max(-1, keepdims=True)
    total = best[..., 0, :] + log_value[..., 1, :] - best[..., 1, :]
    total = np.minimum(total, np.float32(-1e-6))
    found: Float32Array = total - np.log(-np.expm1(total))
    return found


class _RelativeNetworks(_Choosing):
    """One network that is asked about every goal."""

    def __init__(self, arrays: Arrays, body: Body, space: RelativeGoals) -> None:
        self._network = ServedMLP("network", arrays)
        self._actions = arrays["actions"]
        self._objects = space.objects
        self._kinds, self._avoided = space.learned[:, 0], space.avoided(space.learned[:, 2])
        fits = self._network.inputs == self._objects.relative_inputs
        if not fits or body.inputs != self._objects.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:
        """Return those of every goal and action, `(2, n, goals, actions)`."""
        asked = np.ones((len(features), len(self._kinds)), np.bool_) if wanted is None else wanted
        row, goal = np.nonzero(asked)
        kinds, avoided = self._kinds[goal], self._avoided[goal]
        shown = relative_inputs(self._objects, features[row], kinds, avoided)
        logits = np.full((2, *asked.shape, len(self._actions)), UNASKED, np.float32)
        logits[:, row, goal] = self._network(shown)
        return logits

    def ranked(self, logits: Float32Array) -> Float32Array:
        """Return the smaller of both, by which they were learned: one that sees a risk is enough."""
        smaller: Float32Array = logits.min(0)
        return smaller


class _AvoidNetworks(_Choosing):
    """One network that is asked about every set V, and answers for all label sets."""

    def __init__(self, arrays: Arrays, body: Body, space: GoalSpace, kinds: ObjectKinds) -> None:
        self._network = ServedMLP("network", arrays)
        self._actions = arrays["actions"]
        self._kinds = kinds
        self._caution = Caution(space.goals(), space.constraints)
        self._avoided = avoided_kinds(kinds, space.propositions, space.violations)
        self._shape = len(space), space.heads
        self._free = int(space.violations.argmax())
        every = frozenset(space.constraints)
        heads = {goal.violated: index % space.heads for index, goal in enumerate(space.goals())}
        own = (heads.get(allowed_at(goal, every), self._free) for goal in space.goals())
        self._risked = np.eye(space.heads, dtype=np.bool_)[list(own)]
        """`[goal, head]`: the head that tells what is risked where a goal is reached."""
        fits = self._network.inputs == kinds.relative_inputs
        if not fits or body.inputs != kinds.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def _best(self, logits: Float32Array) -> IntArray:
        return self._caution.best(logits)

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:
        """Return those of every goal and action, `(2, n, goals, actions)`."""
        sets, heads = self._shape
        asked: BoolArray = np.ones((len(features), heads), np.bool_)
        if wanted is not None:
            asked[:] = wanted.reshape(-1, sets, heads).any(1)
            asked |= wanted @ self._risked
            asked[:, self._free] = True  # What is risked is told by comparing with it.
        row, head = np.nonzero(asked)
        shown = avoid_inputs(self._kinds, features[row], self._avoided[head])
        actions = len(self._actions)
        logits = np.full((2, *asked.shape, sets, actions), UNASKED, np.float32)
        logits[:, row, head] = self._network(shown).reshape(2, len(row), -1, actions)[:, :, :sets]
        return logits.swapaxes(2, 3).reshape(2, len(features), -1, actions)


class _Td3Networks:
    """The best of a few controls for each goal, and what the critics think of it.

    Tried are the actor's controls for all goals, and a coarse grid. So a goal is not left to its own
    actor alone, which climbed the critics from where it was, and what an action risks is known
    (`caution`). A detour is the actor's control pushed off in a direction of chance.
    """

    def __init__(self, arrays: Arrays, body: Body, space: GoalSpace) -> None:
        self._actor, self._critic = ServedMLP("actor", arrays), ServedMLP("critic", arrays)
        self._body = body
        self._goals = len(space.goals())
        self._caution = Caution(space.goals(), space.constraints)
        most = np.ones(body.actions.shape[1], np.float32)
        self._grid = coarse_grid(-most, most)
        if self._actor.inputs != body.inputs:
            raise WrongDomainError("the checkpoint's networks do not fit the domain's features.")

    def logits(self, features: Float32Array, wanted: BoolArray | None = None) -> Float32Array:  # noqa: ARG002
        """There are none for each action: a choice is never learned by TD3."""
        raise SkmError("TD3 has no value for each of a choice of actions.")

    def continuation(self, features: Float32Array) -> Float32Array | None:  # noqa: ARG002
        """Return None: it was not learned."""
        return None

    def __call__(
        self,
        features: Float32Array,
        chance: IntArray,
        wanted: BoolArray | None,  # noqa: ARG002
    ) -> Estimates:
        count, goals, size = len(features), self._goals, self._body.actions.shape[1]
        own = np.tanh(self._actor(features)[0].reshape(count, -1, size)[:, :goals])
        grid = np.broadcast_to(self._grid, (count, *self._grid.shape))
        controls = np.concatenate([own, grid], axis=1)
        logits = self._judged(features, controls)
        best = self._caution.best(logits)
        sides = np.arange(size) + chance[:, None, None] * _SPREADING + np.arange(goals)[:, None]
        push = np.where(sides % 2 == 0, np.float32(1), np.float32(-1))
        pushed = np.clip(own + push, -1, 1)
        chosen = np.take_along_axis(controls, best[..., None], axis=1)
        act = self._body.action
        return Estimates(
            act(chosen.reshape(-1, size)).reshape(count, goals, -1),
            act(pushed.reshape(-1, size)).reshape(count, goals, -1),
            np.take_along_axis(logits, best[None, ..., None], axis=-1)[..., 0],
        )

    def _judged(self, features: Float32Array, controls: Float32Array) -> Float32Array:
        """Return what the critics think of controls `(n, k, …)`: logits `(2, n, goals, k)`."""
        count, tried = controls.shape[:2]
        rows = np.broadcast_to(features[:, None], (count, tried, features.shape[1]))
        inputs = np.concatenate([rows, controls], axis=2).reshape(count * tried, -1)
        estimates = self._critic(inputs).reshape(2, count, tried, -1)
        judged: Float32Array = estimates[..., : self._goals].swapaxes(2, 3)
        return judged


def served_networks(
    arrays: Arrays, algorithm: str, body: Body, space: GoalSpace, spec: DomainSpec
) -> Networks:
    """Return what was learned, by the algorithm and by what the domain says of what it sees."""
    if isinstance(space, RelativeGoals):
        return _RelativeNetworks(arrays, body, space)
    if algorithm == "td3":
        return _Td3Networks(arrays, body, space)
    if algorithm != "dqn":
        raise WrongDomainError(
            f"the checkpoint is of an algorithm '{algorithm}' that is not known."
        )
    if isinstance(spec.objects, ObjectKinds):
        return _AvoidNetworks(arrays, body, space, spec.objects)
    return _DqnNetworks(arrays, body, space)
