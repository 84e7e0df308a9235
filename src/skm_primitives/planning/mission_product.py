"""The product of a mission's machine with the world that the primitives imply, solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.visit_counters import VisitCounters, visit_counters
from skm_primitives.primitives import PlaceWorld
from skm_sim.arrays import FloatArray, IntArray

MAX_STATES: Final = 5_000_000
"""The largest product of machine states, places and visit counts that is planned over."""

CONVERGED: Final = 1e-12


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

    def solve(self, gamma: float, slip: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return the value of being at, and the value of arriving at each [u, place, counter].

        Value iteration; with `slip`, a random action is taken that often instead of the best one.
        """
        place = np.arange(self.reward.shape[1])[:, None]
        value = np.zeros(self.reward.shape)
        while True:
            arriving = self.reward + gamma * value[self.machine_state, place, self.counter]
            options = arriving[:, self.world.successors]  # [u, place, action, counter]
            best = (1 - slip) * options.max(axis=2) + slip * options.mean(axis=2)
            change = float(np.abs(best - value).max(initial=0.0))
            value = best
            if change <= CONVERGED:
                return value, arriving

    def shown_labels(self, initial: int) -> dict[int, set[frozenset[str]]]:
        """Return, for each machine state that any start leads to, the labels that can show in it."""
        reached = np.zeros(self.reward.shape, np.bool_)
        frontier = np.zeros_like(reached)
        frontier[initial, :, 0] = True
        shown: dict[int, set[frozenset[str]]] = {}
        while frontier.any():
            reached |= frontier
            state, place, counter = np.nonzero(frontier)
            arrival = self.world.successors[place]
            state, counter = state[:, None], counter[:, None]
            triples = np.stack(np.broadcast_arrays(state, arrival, counter), axis=-1).reshape(-1, 3)
            for u, s, k in np.unique(triples, axis=0).tolist():
                shown.setdefault(u, set()).add(self.labels[s][k])
            frontier = np.zeros_like(reached)
            after = self.machine_state[state, arrival, counter]
            frontier[after, arrival, self.counter[arrival, counter]] = True
            frontier &= ~reached
        return shown

    def destinations(self, arriving: FloatArray) -> IntArray:
        """Return, for each [u, place, counter], where the best actions next move the machine.

        As the flat index `place * counters + counter` of that arrival; −1 if they never do.
        """
        machine_states, places, combinations = self.reward.shape
        u, s, k = np.indices(self.reward.shape)
        options = arriving[:, self.world.successors]
        action = options.argmax(axis=2)
        reached = self.world.successors[s, action]
        after = self.machine_state[u, reached, k]
        moved = (after != u) | (self.reward[u, reached, k] > 0)
        index = np.arange(self.reward.size).reshape(self.reward.shape)
        following = (after * places + reached) * combinations + self.counter[reached, k]
        jump = np.where(moved, index, following).reshape(-1)
        for _ in range(int(np.ceil(np.log2(max(2, jump.size)))) + 1):
            jump = jump[jump]
        flat_moved, arrival = moved.reshape(-1), (reached * combinations + k).reshape(-1)
        found = np.where(flat_moved[jump], arrival[jump], -1)
        return found.reshape(machine_states, places, combinations)


def mission_product(machine: RewardMachine, world: PlaceWorld) -> MissionProduct:
    """Build the product of a reward machine with the implied world."""
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
                machine.step(state, found) if running else (state, 0.0)
            )
    return MissionProduct(
        world, counters, reward[:, label_ids], target[:, label_ids], counter, labels
    )
