"""What networks say of goals, in plain NumPy: each algorithm has its own way to be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives.checkpoint import WrongDomainError
from skm_primitives.deep.bodies import Body, coarse_grid
from skm_primitives.deep.caution import Caution, allowed_at
from skm_primitives.deep.goal_space import GoalSpace
from skm_primitives.deep.image_body import ImageBody
from skm_primitives.deep.relative_goals import RelativeGoals
from skm_primitives.deep.relative_inputs import kept_off_inputs, kinds_kept_off, relative_inputs
from skm_primitives.deep.served_image import ServedImageNetwork
from skm_primitives.deep.served_network import ServedMLP
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.domain import DomainSpec
from skm_sim.things import Kinds

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

    def onward(self, features: Float32Array) -> Float32Array | None:
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

    def onward(self, features: Float32Array) -> Float32Array | None:  # noqa: ARG002
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

    def onward(self, features: Float32Array) -> Float32Array | None:
        """Return those of the network of pictures, if it learned them."""
        if not isinstance(self._network, ServedImageNetwork):
            return None
        found = self._network.onward(features)
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


class _KeptOffNetworks(_Choosing):
    """One network that is asked about every set V, and answers for all label sets."""

    def __init__(self, arrays: Arrays, body: Body, space: GoalSpace, kinds: Kinds) -> None:
        self._network = ServedMLP("network", arrays)
        self._actions = arrays["actions"]
        self._kinds = kinds
        self._caution = Caution(space.goals(), space.constraints)
        self._kept_off = kinds_kept_off(kinds, space.propositions, space.violations)
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
        shown = kept_off_inputs(self._kinds, features[row], self._kept_off[head])
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

    def onward(self, features: Float32Array) -> Float32Array | None:  # noqa: ARG002
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
    if isinstance(spec.things, Kinds):
        return _KeptOffNetworks(arrays, body, space, spec.things)
    return _DqnNetworks(arrays, body, space)
