"""The product of a mission's machine with a world of places and visit counts, solved exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.reward_machine import RewardMachine
from skm_primitives.skills.known_skills import expand
from skm_primitives.skills.values import PlaceWorld
from skm_sim.arrays import BoolArray, FloatArray, IntArray

# Counters of visits, for places whose labels change with them: the mail is fetched, people leave.


@dataclass(frozen=True)
class VisitCounters:
    """Counts of the visits to those places whose labels change with them, as one number.

    Only places at which the machine can tell the difference are counted.
    """

    places: tuple[int, ...]
    """The places that are counted."""
    sizes: tuple[int, ...]
    """How many counts of each are told apart."""

    @property
    def combinations(self) -> int:
        """How many values the number takes."""
        return int(np.prod(self.sizes, initial=1))

    def after_visit(self, counter: int, place: int) -> int:
        """Return the number after one more visit to `place`."""
        if place not in self.places:
            return counter
        index = self.places.index(place)
        unit = int(np.prod(self.sizes[:index], initial=1))
        visits = counter // unit % self.sizes[index]
        return counter + unit if visits + 1 < self.sizes[index] else counter

    def visits(self, counter: int, place: int) -> int:
        """Return how often `place` was visited so far, as far as that is told apart."""
        if place not in self.places:
            return 0
        index = self.places.index(place)
        return counter // int(np.prod(self.sizes[:index], initial=1)) % self.sizes[index]


def visit_counters(world: PlaceWorld, machine: RewardMachine) -> VisitCounters:
    """Return the counters of the places at which the machine can tell one visit from another."""
    states = range(machine.num_states)
    counted = {
        place: len(labels)
        for place, labels in world.visit_labels.items()
        if len(labels) > 1
        and any(len({machine.step(u, shown) for shown in set(labels)}) > 1 for u in states)
    }
    return VisitCounters(tuple(counted), tuple(counted.values()))


# The product of a mission's machine with the world that the primitives imply, solved exactly.


MAX_STATES: Final = 5_000_000
"""The largest product of machine states, places and visit counts that is planned over."""

CONVERGED: Final = 1e-12
"""The change of a value that no longer counts. It decides nothing else: see `reachability`."""


@dataclass(frozen=True)
class MissionProduct:
    """What arriving at a place does to a mission; arrays are indexed by [u, place, counter]."""

    world: PlaceWorld
    counters: VisitCounters
    reward: FloatArray
    """The reward δ_r on arriving at the place in machine state u, with that many visits before."""
    machine_state: IntArray
    """The machine state δ_u after that arrival."""
    counter: IntArray
    """The counter after that arrival, `[place, counter]`."""
    labels: tuple[tuple[frozenset[str], ...], ...]
    """The labels that the arrival shows, `[place][counter]`."""
    kept: BoolArray
    """Whether the arrival breaks no commitment, and does not end the world before the mission is
    over."""
    commitments: tuple[tuple[int, tuple[int, ...]], ...]
    """The machine states in which commitments can be made, with the states under each."""
    allowed: BoolArray | None = None
    """`[u, place, action, counter]`: whether an action may be taken; None: all."""

    def options(self, arriving: FloatArray) -> FloatArray:
        """Return the value of each action, `[u, place, action, counter]`: −1 if it is not allowed."""
        chances = self.world.chances
        options = (
            arriving[:, self.world.successors] if chances is None else chances.expected(arriving)
        )
        return options if self.allowed is None else np.where(self.allowed, options, -1.0)

    def log_options(self, arriving: FloatArray, rows: Sequence[int] | slice) -> FloatArray:
        """Return the same of logarithms, in some machine states: −∞ if it is not allowed."""
        chances = self.world.chances
        options = (
            arriving[:, self.world.successors]
            if chances is None
            else chances.log_expected(arriving)
        )
        return options if self.allowed is None else np.where(self.allowed[rows], options, -np.inf)

    @property
    def positive(self) -> bool:
        """Whether no reward is below 0: then values have logarithms."""
        return bool((self.reward >= 0).all())

    def solve(self, gamma: float, slip: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return the value of being at, and the value of arriving at each [u, place, counter].

        Value iteration, for machines with rewards below 0: all others are solved in `reachability`,
        where no value is too small. With `slip`, a random action is taken that often instead of the
        best one.
        """
        value = np.zeros(self.reward.shape)
        while True:
            arriving = self.arriving(value, gamma)
            options = self.options(arriving)
            best = (1 - slip) * options.max(axis=2) + slip * options.mean(axis=2)
            if self.allowed is not None:
                best = np.where(self.allowed.any(axis=2), best, 0.0)
            change = float(np.abs(best - value).max(initial=0.0))
            value = best
            if change <= CONVERGED:
                return value, arriving

    def arriving_directly(self, value: FloatArray, gamma: float) -> FloatArray:
        """Return the value of arriving with no commitment made on arrival; nothing if one is broken."""
        place = np.arange(self.reward.shape[1])[:, None]
        after = self.reward + gamma * value[self.machine_state, place, self.counter]
        return after if self.kept.all() else np.where(self.kept, after, 0.0)

    def arriving(self, value: FloatArray, gamma: float) -> FloatArray:
        """Return the value of arriving, if `value` is that of being there."""
        arriving = self.arriving_directly(value, gamma)
        for state, ways in self.commitments:
            np.maximum(arriving[state], arriving[list(ways)].max(axis=0), out=arriving[state])
        return arriving

    def best_way(self, direct: FloatArray) -> IntArray:
        """Return, for each arrival, the state to read it from: its own, or one under a commitment."""
        way = np.zeros(direct.shape, np.int64) + np.arange(len(direct))[:, None, None]
        for state, ways in self.commitments:
            candidates = np.array([state, *ways])
            way[state] = candidates[direct[candidates].argmax(axis=0)]
        return way

    def following(self, action: IntArray, way: IntArray) -> tuple[IntArray, FloatArray]:
        """Return, for each [u, place, counter], the flat index of what follows, and the reward.

        A broken commitment leads nowhere, nor does an action that is not allowed: it follows upon
        itself.
        """
        u, place, counter = np.indices(self.reward.shape)
        reached = self.world.successors[place, action]
        read = way[u, reached, counter]
        after = self.machine_state[read, reached, counter]
        index = np.ravel_multi_index(
            (after, reached, self.counter[reached, counter]), self.reward.shape
        )
        kept = self.kept[read, reached, counter]
        if self.allowed is not None:
            kept = kept & self.allowed[u, place, action, counter]
        here = np.arange(self.reward.size).reshape(self.reward.shape)
        reward = np.where(kept, self.reward[read, reached, counter], 0.0)
        return np.where(kept, index, here), reward

    def shown_labels(self, initial: int) -> dict[int, set[frozenset[str]]]:
        """Return, for each machine state that any start leads to, the labels that can show in it."""
        reached = np.zeros(self.reward.shape, np.bool_)
        frontier = np.zeros_like(reached)
        frontier[initial, :, 0] = True
        shown: dict[int, set[frozenset[str]]] = {}
        world = self.world
        pair = np.arange(world.successors.size)
        leads_to = world.successors.reshape(-1)
        if world.chances is not None:
            pair, leads_to = world.chances.pair, world.chances.place
        if world.tried is not None:
            tried = world.tried.reshape(-1)[pair]
            pair, leads_to = pair[tried], leads_to[tried]
        source = pair // world.successors.shape[1]
        first = np.searchsorted(source, np.arange(len(world.places) + 1))
        while frontier.any():
            reached |= frontier
            state, place, counter = np.nonzero(frontier)
            arrival, owner = expand(first, leads_to, place)
            state, counter = state[owner], counter[owner]
            for u, s, k in np.unique(np.stack([state, arrival, counter], axis=1), axis=0).tolist():
                shown.setdefault(u, set()).add(self.labels[s][k])
            frontier = np.zeros_like(reached)
            if world.ended is not None:
                on = ~world.ended[arrival]
                for u in np.unique(self.machine_state[state, arrival, counter][~on]).tolist():
                    shown.setdefault(u, set())
                state, arrival, counter = state[on], arrival[on], counter[on]
            after = self.machine_state[state, arrival, counter]
            frontier[after, arrival, self.counter[arrival, counter]] = True
            frontier &= ~reached
        return shown

    def next_moves(self, action: IntArray, way: IntArray) -> tuple[IntArray, IntArray]:
        """Return, for each [u, place, counter], in how many steps the machine moves next, and where.

        Where is the flat index `place * counters + counter` of that arrival; both are −1 if never.
        """
        following, reward = self.following(action, way)
        u, place, counter = np.indices(self.reward.shape)
        target = following // (self.reward.shape[1] * self.reward.shape[2])
        moved = ((target != u) | (reward > 0)).reshape(-1)
        node = np.where(moved, np.arange(moved.size), following.reshape(-1))
        steps = np.where(moved, 0, 1)
        for _ in range(int(np.ceil(np.log2(max(2, moved.size)))) + 1):
            steps = steps + steps[node]
            node = node[node]
        reached = self.world.successors[place, action]
        arrival = (reached * self.reward.shape[2] + counter).reshape(-1)
        found = moved[node]
        steps = np.where(found, steps + 1, -1).reshape(self.reward.shape)
        return steps, np.where(found, arrival[node], -1).reshape(self.reward.shape)


def mission_product(
    machine: RewardMachine,
    world: PlaceWorld,
    happening: frozenset[str] = frozenset(),
    *,
    always_paid: bool = False,
) -> MissionProduct:
    """Build the product of a reward machine with the implied world, while events are `happening`.

    `always_paid` makes a success count again in each step that follows it: then the best lasso is the
    shortest way to it.
    """
    counters = visit_counters(world, machine)
    shape = (machine.num_states, len(world.places), counters.combinations)
    if np.prod(shape) > MAX_STATES:
        raise SkmError(
            f"planning would take {shape[0]} machine states × {shape[1]} places × {shape[2]} visit "
            f"counts, more than {MAX_STATES} in all; use planner 'paper'"
        )
    labels = tuple(
        tuple(
            shown[min(counters.visits(counter, place), len(shown) - 1)]
            for counter in range(counters.combinations)
        )
        for place in world.places
        for shown in (world.visit_labels[place],)
    )
    counter = np.array(
        [[counters.after_visit(k, place) for k in range(shape[2])] for place in world.places],
        np.int64,
    )
    distinct = {
        found: index for index, found in enumerate(dict.fromkeys(x for row in labels for x in row))
    }
    label_ids = np.array([[distinct[found] for found in row] for row in labels], np.int64)
    target = np.zeros((shape[0], len(distinct)), np.int64)
    reward = np.zeros((shape[0], len(distinct)))
    for state in range(shape[0]):
        for found, index in distinct.items():
            running = state not in machine.terminal
            target[state, index], reward[state, index] = (
                machine.step(state, found | happening)
                if running
                else (state, float(always_paid and state not in machine.failure))
            )
    committed = np.array([state in machine.committed for state in range(shape[0])])
    kept = (~committed[:, None] | committed[target])[:, label_ids]
    if world.ended is not None:
        ends = np.isin(np.arange(shape[0]), sorted(machine.terminal))
        kept = kept & (~world.ended[:, None] | ends[target[:, label_ids]])
    commitments = tuple(
        (state, ways) for state in range(shape[0]) if (ways := machine.commitments(state))
    )
    allowed = None
    if world.tried is not None:
        allowed = np.broadcast_to(
            world.tried[None, :, :, None], (*shape[:2], world.tried.shape[1], shape[2])
        )
    return MissionProduct(
        world,
        counters,
        reward[:, label_ids],
        target[:, label_ids],
        counter,
        labels,
        kept,
        commitments,
        allowed,
    )
