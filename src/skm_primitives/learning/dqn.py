"""Goal-oriented double DQN over a few actions of a continuous robot, for all goals at once.

What is learned is the logit of Q_MAX(⟨s, c⟩, g, ⟨a, 0⟩), for every goal g and each of the body's
actions. Values are in [0, 1] (γ to the number of steps to go), so they are fitted by cross-entropy,
which tells small values apart as well as large ones. Two networks; the smaller value of the two
averaged copies bootstraps.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.learning.exploration import HeldExploration
from skm_primitives.learning.networks import (
    EnsembleMLP,
    ImageNetwork,
    blend,
    chosen_device,
    from_arrays,
    make_network,
    to_arrays,
)
from skm_primitives.learning.replay import Batch, Episodes
from skm_primitives.learning.settings import DeepSettings
from skm_primitives.skills.encoders import Body
from skm_primitives.skills.goal_space import GoalSpace, RelativeGoals
from skm_primitives.skills.networks import avoid_inputs, avoided_kinds, relative_inputs
from skm_sim.arrays import BoolArray, ByteArray, Float32Array, IntArray
from skm_sim.object_centric import ObjectKinds

# What a network algorithm offers to the learner: act, learn from a batch, be stored.


Arrays = dict[str, NDArray[Any]]


class Algorithm(Protocol):
    """One way to learn the values of all goals, and the actions that achieve them."""

    action_example: NDArray[Any]
    """An action as it is remembered, for its shape and type."""

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the best actions for the goals in the masks `(n, slots, heads)`, as remembered."""
        ...

    def explore(self, chosen: NDArray[Any], random: np.random.Generator, step: int) -> NDArray[Any]:
        """Return the actions with exploration added."""
        ...

    def to_environment(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return remembered actions as the environment takes them."""
        ...

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Learn from a batch, for all goals."""
        ...

    def served_arrays(self) -> Arrays:
        """Return the averaged networks."""
        ...

    def training_arrays(self) -> Arrays:
        """Return networks and optimisers."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `training_arrays` gave."""
        ...


def goal_targets(space: GoalSpace, batch: Batch, next_values: Tensor, gamma: float) -> Tensor:
    """Return the targets `(n, slots · heads)` of all goals, from the next state's values.

    See `goal_space` for the three cases. The steps in which a goal was really achieved later in the
    episode give a lower bound, and no value is outside of [0, 1].
    """
    achieved, alive = space.outcomes(batch.slot, batch.next_slot)
    alive &= ~batch.ended[:, None, None]
    count = len(batch.slot)
    device = next_values.device
    target = next_values * gamma * torch.from_numpy(alive.reshape(count, -1)).to(device)
    steps = torch.from_numpy(batch.steps_to_goals.astype(np.float32))
    bound = torch.where(steps > 0, torch.pow(torch.tensor(gamma), steps - 1), 0.0).to(device)
    target = torch.maximum(target.clamp(0, 1), bound)
    return torch.where(torch.from_numpy(achieved.reshape(count, -1)).to(device), 1.0, target)


def grown(old: Algorithm, new: Algorithm) -> Algorithm:
    """Return `new`, which has more goals, with what `old` knows; its optimisers begin anew."""
    arrays = new.training_arrays()
    for name, value in old.training_arrays().items():
        if name in arrays:
            arrays[name][tuple(slice(length) for length in value.shape)] = value
    new.restore(arrays)
    return new


def optimiser_arrays(prefix: str, optimiser: torch.optim.Optimizer) -> Arrays:
    """Return the state of an Adam optimiser as arrays."""
    arrays: Arrays = {}
    for index, state in optimiser.state_dict()["state"].items():
        for name, value in state.items():
            arrays[f"{prefix}.{index}.{name}"] = value.cpu().numpy().copy()
    return arrays


def restore_optimiser(
    prefix: str, optimiser: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Take back what `optimiser_arrays` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in arrays.items():
        if name.startswith(f"{prefix}."):
            index, _, entry = name.removeprefix(f"{prefix}.").partition(".")
            state.setdefault(int(index), {})[entry] = torch.from_numpy(np.array(value))
    if state:
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": state, "param_groups": groups})


# Values backed up through all that an episode showed, not one step at a time.
#
# Pictures of an episode that are alike are one state, so its steps make a graph: where each
# action that was tried led. What a goal is worth along the ways in it follows from what the
# network says of the actions that were not tried, and of these alone: value iteration on the
# graph, until nothing changes. Ways that were really walked to a goal are so known at once in all
# their states, and a turn that was wrong costs its detour. In a world that chance rules, or where
# different states look alike, this would be too hopeful: there, targets one step deep are the
# ones to take (`backup=step`).


LONGEST: Final = 64
"""Sweeps of value iteration at most: the longest way that a batch makes known."""
ENOUGH: Final = 1e-3
"""Changes of values below which a sweep is the last."""


@dataclass(frozen=True)
class EpisodeGraph:
    """The states of some episodes, and the steps between them: `k` steps, of `n` states."""

    states: NDArray[Any]
    """`(n, inputs)`: the features of each."""
    source: IntArray
    """`(k,)`: the state that each step is from, …"""
    action: IntArray
    target: IntArray
    """… and the one that it led to."""
    achieved: BoolArray
    """`(k, slots · heads)`: the goals that the step achieves, …"""
    alive: BoolArray
    """… and those that can be pursued further."""
    shown: IntArray
    """`(m, 3)`: state, slot of a label set that is shown next, and the state in which it is."""


def episode_graph(space: GoalSpace, episodes: Episodes) -> EpisodeGraph:
    """Return the graph of some episodes; each has states of its own."""
    count, steps = episodes.action.shape
    flat = episodes.states.reshape(count * (steps + 1), -1)
    keys: dict[tuple[int, bytes], int] = {}
    number = np.array(
        [
            keys.setdefault((row // (steps + 1), picture.tobytes()), len(keys))
            for row, picture in enumerate(flat)
        ]
    )
    first = np.full(len(keys), -1)
    first[number[::-1]] = np.arange(len(flat))[::-1]
    number = number.reshape(count, steps + 1)
    source, action = number[:, :-1].ravel(), episodes.action.astype(np.int64).ravel()
    real = np.flatnonzero(~episodes.between.ravel())
    once = _once(source[real], action[real])
    kept = real[once]
    achieved, alive = space.outcomes(
        episodes.slots[:, :-1].ravel()[kept], episodes.slots[:, 1:].ravel()[kept]
    )
    alive &= ~episodes.ended.ravel()[kept][:, None, None]
    goals = space.outputs
    return EpisodeGraph(
        flat[first],
        source[kept],
        action[kept],
        number[:, 1:].ravel()[kept],
        achieved.reshape(-1, goals),
        alive.reshape(-1, goals),
        _shown_next(space, episodes, number),
    )


def _shown_next(space: GoalSpace, episodes: Episodes, number: IntArray) -> IntArray:
    """Return the label sets that follow each state: that of the next one, and the next that is not ∅."""
    count, steps = episodes.action.shape
    empty = np.array(space.label_bits) == 0
    found = []
    later, where = np.full((2, count), -1)
    for step in reversed(range(steps)):
        following, there = episodes.slots[:, step + 1], number[:, step + 1]
        cut = episodes.between[:, step]
        later = np.where(empty[following], later, following)
        where = np.where(empty[following], where, there)
        known = ~cut & (later >= 0)
        found.append(np.stack([number[:, step], later, where], axis=1)[known])
        next_empty = ~cut & empty[following]
        found.append(np.stack([number[:, step], following, there], axis=1)[next_empty])
        later = np.where(cut, -1, later)
    rows = np.concatenate(found)
    return rows[_once(rows[:, 0], rows[:, 1])]


def _once(first: IntArray, second: IntArray) -> IntArray:
    """Return where each pair comes first, in order."""
    pairs = first * (int(second.max(initial=0)) + 1) + second
    index: IntArray = np.sort(np.unique(pairs, return_index=True)[1])
    return index


def backed_up(graph: EpisodeGraph, values: Tensor, gamma: float) -> Tensor:
    """Return the values `(n, actions, goals)`, those of actions that were tried from where they led.

    `values` are what a network says of every action; those of actions that were not tried stay.
    """
    device = values.device
    source, action, target = (
        torch.from_numpy(part).to(device) for part in (graph.source, graph.action, graph.target)
    )
    achieved = torch.from_numpy(graph.achieved).to(device, values.dtype)
    onward = torch.from_numpy(graph.alive & ~graph.achieved).to(device, values.dtype) * gamma
    values = values.clone()
    best = values.amax(1)
    for _ in range(LONGEST):
        values[source, action] = achieved + onward * best[target]
        better = values.amax(1)
        if (better - best).abs().max() < ENOUGH:
            break
        best = better
    return values


# Near misses: a step that ends close to what must be avoided counts as several.
#
# A value says that a goal is reached with nothing forbidden touched on the way, by a hand's
# breadth or by a hair. Learned values are not that exact, and a skill looks no further than its
# goal: a robot that arrives fast and close to something forbidden has done all that was asked,
# and touches it in the next step. So a body that sees things tells how near the robot came to
# touching each, in steps, and for every goal that has to avoid them a step there lasts so much
# longer. Values stay γ to a number of steps, targets and known lower bounds alike; nothing
# becomes impossible, but of two ways the wider one is the shorter.


class WaryBody(Protocol):
    """A body that knows how near things are, in an order that its domain's `ObjectKinds.shown` names."""

    def near_misses(self, features: Float32Array) -> ByteArray:
        """Return `(n, things)`: how many steps more a step to each state counts, for each thing."""
        ...


class NearMisses:
    """Which goals have to avoid what, in the goal space of a learner."""

    def __init__(self, body: WaryBody, space: GoalSpace, kinds: ObjectKinds) -> None:
        self._body = body
        self._space = space
        index = space.propositions.index
        self._shown = np.array([sum(1 << index(name) for name in some) for some in kinds.shown])
        self._table: BoolArray = np.zeros((0, 0, 0, 0), np.bool_)

    def steps(self, features: Float32Array, slots: IntArray) -> ByteArray:
        """Return `(n, capacity, heads)`: steps that a step to each state counts more for each goal."""
        near = self._body.near_misses(features)
        most: ByteArray = (self._matters()[slots] * near[:, None, None]).max(-1)
        return most

    def steps_of(self, features: Float32Array, slots: IntArray, heads: IntArray) -> ByteArray:
        """Return the same for the goals of one head each, `(n, capacity)`."""
        near = self._body.near_misses(features)
        most: ByteArray = (self._matters()[slots, :, heads] * near[:, None]).max(-1)
        return most

    def _matters(self) -> BoolArray:
        """Return `[slot, goal's slot, head, thing]`: whether touching a thing there would be a fault.

        It is if that shows something new which V does not allow, unless that is what the goal asks for.
        """
        if self._table.shape[1] != self._space.capacity or len(self._table) != len(self._space):
            labels = np.array(self._space.label_bits)
            here, then = labels[:, None, None, None], labels[None, :, None, None]
            allowed = self._space.violations[:, None]
            fault = (self._shown & ~(allowed | here)) != 0
            table = fault & ((here | self._shown) != then)
            more = self._space.capacity - len(labels)
            self._table = np.pad(table, [(0, 0), (0, more), (0, 0), (0, 0)])
        return self._table


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


# Double DQN relative to the goal: one network for all goals, asked about one at a time.
#
# As `dqn`, but what is to be reached and what is to be avoided is in the input
# (`relative_inputs`) instead of in the number of the output. Each transition of a batch teaches
# one goal, drawn at random: what is learned from it holds for all kinds of things.


class RelativeDqn(Dqn):
    """Networks, their averaged copies and the optimiser; see `Algorithm`."""

    def __init__(self, body: Body, space: RelativeGoals, settings: DeepSettings) -> None:
        self._goals = space
        super().__init__(body, space, settings)

    def _make_network(self, generator: torch.Generator) -> EnsembleMLP:
        """Return the network: what is relative to a goal in, an output for each action."""
        sizes = self._goals.objects.relative_inputs, self._settings.hidden, len(self._choices)
        return EnsembleMLP(*sizes, MEMBERS, generator)

    def _inputs(self, features: Float32Array, goals: IntArray) -> Tensor:
        """Return what the network sees of each row, for its goal: rows of `learned`."""
        avoided = self._goals.avoided(goals[:, 2])
        return self._tensor(relative_inputs(self._goals.objects, features, goals[:, 0], avoided))

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the action with the best value of any goal in the mask that is learned."""
        row, goal = np.nonzero(masks.reshape(len(features), -1)[:, self._goals.served()])
        best = np.full((len(features), len(self._choices)), -np.inf, np.float32)
        if len(row):
            with torch.no_grad():
                shown = self._inputs(features[row], self._goals.learned[goal])
                logits = self.average(shown).mean(0).cpu().numpy()
            np.maximum.at(best, row, logits)
        chosen: NDArray[Any] = best.argmax(1)
        return chosen

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Take one step of Adam on the cross-entropy of the values and targets of goals drawn."""
        count = len(batch.slot)
        goals = self._goals.learned[random.integers(len(self._goals.learned), size=count)]
        states = self._inputs(batch.state, goals)
        index = self._tensor(batch.action.astype(np.int64))[:, None]
        with torch.no_grad():
            low = self.average(self._inputs(batch.next_state, goals)).amin(0).amax(-1).sigmoid()
            target = self._targets(batch, goals, low)
            if self._settings.action_gap:  # See `Dqn`.
                current = self.average(states).mean(0).sigmoid()
                gap = current.amax(-1) - current.gather(-1, index)[:, 0]
                lowered = (target - self._settings.action_gap * gap).clamp(min=0)
                target = torch.where(target == 1, target, lowered)
        taken = self.network(states).gather(-1, index.expand(MEMBERS, -1, -1))[..., 0]
        loss = functional.binary_cross_entropy_with_logits(
            taken, target.expand(MEMBERS, -1), reduction="sum"
        )
        self._descend(loss / count, learning_rate)

    def _targets(self, batch: Batch, goals: IntArray, next_values: Tensor) -> Tensor:
        """Return the targets `(n,)` of the goals drawn; see `goal_space` for the cases."""
        assert batch.past is not None
        gamma = self._settings.gamma
        changed = self._goals.changed(batch.slot, batch.next_slot)
        alive = (changed & ~self._goals.violations[goals[:, 2]]) == 0
        alive &= ~batch.ended
        steps = self._goals.steps_to(goals, batch.past.slots, batch.past.between, batch.past.step)
        bound = np.where(steps > 0, np.power(gamma, steps - 1.0), 0.0).astype(np.float32)
        bound[batch.next_slot == goals[:, 1]] = 1.0
        target = next_values * gamma * self._tensor(alive)
        return torch.maximum(target.clamp(0, 1), self._tensor(bound))


# Double DQN relative to what is to be avoided: an output for every label set and action.
#
# As `dqn`, but what is allowed to be touched on the way, V, is in the input (`relative_inputs`)
# instead of in the number of the output: so that the cost does not grow with the number of sets
# V. Each transition of a batch teaches all label sets, for one set V that is drawn at random.


class AvoidDqn(Dqn):
    """Networks, their averaged copies and the optimiser; see `Algorithm`."""

    def __init__(
        self, body: Body, space: GoalSpace, kinds: ObjectKinds, settings: DeepSettings
    ) -> None:
        self._kinds = kinds
        self._avoided = avoided_kinds(kinds, space.propositions, space.violations)
        wary = bool(kinds.shown) and settings.near_misses
        self.near_misses = NearMisses(cast("WaryBody", body), space, kinds) if wary else None
        """What counts as more than a step, where the body tells."""
        super().__init__(body, space, settings)

    def _make_network(self, generator: torch.Generator) -> EnsembleMLP:
        """Return the network: what is relative to V in, an output for each label set and action."""
        self._shape = (self._space.capacity, len(self._choices))
        sizes = self._kinds.relative_inputs, self._settings.hidden, self._shape[0] * self._shape[1]
        return EnsembleMLP(*sizes, MEMBERS, generator)

    def _inputs(self, features: Float32Array, heads: IntArray) -> Tensor:
        """Return what the network sees of each row, with what its head avoids."""
        return self._tensor(avoid_inputs(self._kinds, features, self._avoided[heads]))

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the action with the best value of any goal in the mask."""
        row, head = np.nonzero(masks.any(1))
        best = np.full((len(features), len(self._choices)), -np.inf, np.float32)
        if len(row):
            with torch.no_grad():
                logits = self.average(self._inputs(features[row], head)).mean(0).cpu().numpy()
            wanted = masks[row, :, head][..., None]
            shaped = logits.reshape(len(row), *self._shape)
            np.maximum.at(best, row, np.where(wanted, shaped, -np.inf).max(1))
        chosen: NDArray[Any] = best.argmax(1)
        return chosen

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Take one step of Adam on the cross-entropy of the values and targets of all label sets."""
        count = len(batch.slot)
        heads = random.integers(self._space.heads, size=count)
        states = self._inputs(batch.state, heads)
        index = self._tensor(batch.action.astype(np.int64))[:, None, None]
        index = index.expand(count, self._shape[0], 1)
        with torch.no_grad():
            following = self.average(self._inputs(batch.next_state, heads)).amin(0)
            low = following.reshape(count, *self._shape).amax(-1).sigmoid()
            target = self._targets(batch, heads, low)
            if self._settings.action_gap:
                target = self._widened(target, states, index)
        used = len(self._space)
        logits = self.network(states).reshape(MEMBERS, count, *self._shape)
        taken = logits.gather(-1, index.expand(MEMBERS, -1, -1, -1))[..., 0]
        loss = functional.binary_cross_entropy_with_logits(
            taken[..., :used], target[None, :, :used].expand(MEMBERS, -1, -1), reduction="sum"
        ) / (count * used)
        self._descend(loss, learning_rate)

    def _targets(self, batch: Batch, heads: IntArray, next_values: Tensor) -> Tensor:
        """Return the targets `(n, slots)` of each row's head; see `goal_space` for the cases."""
        gamma, rows = self._settings.gamma, np.arange(len(heads))
        changed = self._space.changed(batch.slot, batch.next_slot)
        alive = ((changed & ~self._space.violations[heads]) == 0) & ~batch.ended
        shape = len(heads), self._shape[0], self._space.heads
        steps = batch.steps_to_goals.reshape(shape)[rows, :, heads].astype(np.float32)
        bound = np.where(steps > 0, np.power(gamma, steps - 1), 0).astype(np.float32)
        bound[rows, batch.next_slot] = 1.0
        goes_on = (np.float32(gamma) * alive)[:, None]
        if self.near_misses is not None:
            more = self.near_misses.steps_of(batch.next_state, batch.next_slot, heads)
            shrunk = np.power(np.float32(gamma), more.astype(np.float32))
            bound[rows, batch.next_slot] = shrunk[rows, batch.next_slot]
            goes_on = goes_on * shrunk
        target = next_values * self._tensor(goes_on)
        return torch.maximum(target.clamp(0, 1), self._tensor(bound))


# The DQN of pictures: dearer networks, so that each is asked no more often than need be.
#
# It differs from `Dqn` in two things. The gap between the best action and the others
# (`action_gap`) is taken from what the trained networks just said of the state, not from the
# averaged ones, which would have to be asked once more; what an action keeps at least of its
# value is `KEPT`, so that one which is only slower still stands out from one that rules the goal
# out. And the networks may learn *continuation* values besides: what every goal will be worth where
# each label set is shown next, for planners that look ahead (`planning.lookahead`). No mission is
# mentioned in them either:
#
#     target of a label set = the values of the next state   if it is shown there
#                           = its continuation values there        otherwise
#
# Where values are backed up through whole episodes (`episode_backup`), what an action is worth and
#   its
# *share* of what the best one is worth are outputs of their own, and the gap is widened in the
#   shares
# alone: with one output for both, not to be sure of the way makes a goal look farther away. How far
#   a goal
# is say the values, which way to go the shares.


TINY: Final = 1e-6
KEPT: Final = 0.1
"""What is left at least of an action's value when its disadvantage is taken off."""


class ImageDqn(Dqn):
    """See the module, and `Algorithm`."""

    network: ImageNetwork
    average: ImageNetwork

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:  # noqa: ARG002
        """Take one step of Adam on the cross-entropy of every goal's value and its target."""
        count = len(batch.slot)
        with torch.no_grad():
            following, beyond = self._asked(self.average, self._tensor(batch.next_state))
            low = following.amin(0).reshape(count, *self._shape).amax(-1).sigmoid()
        target = goal_targets(self._space, batch, low, self._settings.gamma)
        outputs, onward = self._asked(self.network, self._tensor(batch.state))
        logits = outputs.reshape(-1, count, *self._shape)
        index = self._tensor(batch.action.astype(np.int64))
        rows = torch.arange(count, device=self._device)
        if self._settings.action_gap:
            current = logits.detach().mean(0).sigmoid()
            gap = current.amax(-1) - current[rows, :, index]
            target = self._lowered(target, self._settings.action_gap * gap)
        loss = self._loss(logits[:, rows, :, index].transpose(0, 1), target)
        if onward is not None and beyond is not None:
            shown = self._onward_targets(batch, low, beyond.sigmoid())
            loss = loss + self._loss(onward[None], shown)
        self._descend(loss, learning_rate)

    def learn_episodes(self, episodes: Episodes, learning_rate: float) -> None:
        """Learn from all steps of whole episodes, values being backed up through them."""
        settings, graph = self._settings, episode_graph(self._space, episodes)
        states = self._tensor(graph.states)
        source, action = self._tensor(graph.source), self._tensor(graph.action)
        with torch.no_grad():
            said = self._split(self.average(states))[0].sigmoid().amin(0)
            values = backed_up(graph, said.transpose(1, 2), settings.gamma)
            best, taken = values.amax(1), values[source, action]
            # The fixed point of advantage learning: every disadvantage, over 1 - gap.
            lost = (best[source] - taken) * (settings.action_gap / (1 - settings.action_gap))
            share = self._lowered(taken, lost) / best[source].clamp(min=TINY)
        outputs, onward = self._asked(self.network, states)
        worth, shares = (
            part[:, source, :, action].transpose(0, 1) for part in self._split(outputs)
        )
        # Where no way leads to a goal, all actions are alike.
        loss = self._loss(worth, taken) + self._loss(shares, share, best[source] > 0)
        if onward is not None:
            state, slot, there = self._tensor(graph.shown.T)
            loss = loss + self._loss(onward[state, slot][None], best[there])
        self._descend(loss, learning_rate)

    def values(self, features: Float32Array) -> Float32Array:
        """Return the logits of the averaged networks' mean, `(n, slots, heads, actions)`."""
        if self._settings.backup != "episode":
            return super().values(features)
        with torch.no_grad():
            values = self._action_values(self.average(self._tensor(features))).mean(0)
        logits = torch.logit(values, TINY).reshape(
            len(features), -1, self._space.heads, self._shape[1]
        )
        shaped: Float32Array = logits.cpu().numpy()
        return shaped

    def shows(self, features: Float32Array) -> BoolArray:
        """Return which actions are thought to show a label in the very next state, `(n, actions)`."""
        labelled = np.array(self._space.label_bits) != 0
        values = self.values(features)[:, : len(labelled)][:, labelled]
        near = np.float32(np.log((1 + self._settings.gamma) / (1 - self._settings.gamma)))
        shown: BoolArray = values.max((1, 2), initial=-np.inf) > near
        return shown

    def _split(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of actions' values and shares, `(members, n, goals, actions)` each."""
        apart = outputs.reshape(*outputs.shape[:2], self._shape[0], 2, self._shape[1])
        return apart[..., 0, :], apart[..., 1, :]

    def _action_values(self, outputs: Tensor) -> Tensor:
        """Return what every goal is worth by each action, `(members, n, goals, actions)`."""
        worth, shares = (part.sigmoid() for part in self._split(outputs))
        return worth.amax(-1, keepdim=True) * shares / shares.amax(-1, keepdim=True)

    def _loss(self, logits: Tensor, target: Tensor, counts: Tensor | None = None) -> Tensor:
        """Return the cross-entropy of `(members, n, goals)` and targets, of goals that there are.

        Where something does not count, it is left out.
        """
        used = len(self._space) * self._space.heads
        said, meant = logits[..., :used], target[None, ..., :used]
        weight = None if counts is None else counts[None, ..., :used].float()
        total = functional.binary_cross_entropy_with_logits(
            said, meant.expand_as(said), weight, reduction="sum"
        )
        return total / meant.numel()

    def _asked(self, network: ImageNetwork, pixels: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what a network says of pictures: outputs, and continuation logits if it has them."""
        return network.both(pixels) if self._settings.onward else (network(pixels), None)

    def _lowered(self, target: Tensor, lost: Tensor) -> Tensor:
        """Return the targets of actions less what they lose (`Dqn._widened`), if not all of it."""
        return torch.where(target == 1, target, torch.maximum(target - lost, KEPT * target))

    def _onward_targets(self, batch: Batch, values: Tensor, beyond: Tensor) -> Tensor:
        """Return what each goal is worth where each label set is shown next, `(n, sets, goals)`."""
        targets = beyond.clone()
        targets[torch.arange(len(values)), self._tensor(batch.next_slot)] = values
        targets[self._tensor(batch.ended)] = 0
        return targets
