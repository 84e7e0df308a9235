"""The best that any policy can do in a finite world: a search on the product of machine and world.

Nothing here is shared with any planner or learner: the machine is stepped state by state over the true
world (`skm_sim.tabular.finite_world`), which may be stochastic and may end. What ends before the mission
is accepted is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.tabular.finite_world import FiniteWorld
from skm_sim.tabular.model import TabularModel

IMPOSSIBLE: Final = -1
SETTLED: Final = 1e-9
"""The change of a probability at which iteration stops."""


@dataclass(frozen=True, eq=False)
class TrueProduct:
    """Machine × world: what each outcome of each action does to a mission, `[u, outcome]`."""

    world: FiniteWorld
    machine: RewardMachine

    @cached_property
    def _tables(self) -> tuple[IntArray, BoolArray]:
        world, machine = self.world, self.machine
        shape = machine.num_states, len(world.label_sets)
        target, pays = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        for u in range(machine.num_states):
            for index, labels in enumerate(world.label_sets):
                outcome = machine.step(u, labels)
                target[u, index] = outcome.target
                pays[u, index] = outcome.reward > 0 and u not in machine.terminal
        entered = world.label_ids[world.following]
        return target[:, entered], pays[:, entered]

    @property
    def target(self) -> IntArray:
        """`[u, outcome]`: the machine state that follows."""
        return self._tables[0]

    @property
    def pays(self) -> BoolArray:
        """`[u, outcome]`: whether the outcome is rewarded."""
        return self._tables[1]

    def fewest_steps(self) -> IntArray:
        """Return for every state of the world the fewest steps to the first reward, with the best luck.

        −1 where there is none: the mission is impossible from there. Breadth-first, backwards.
        """
        world, states = self.world, self.world.states
        here = world.pair // world.actions
        total = self.machine.num_states * states
        steps = np.full(total, IMPOSSIBLE)
        edge_from, edge_to, first = [], [], []
        for u in range(self.machine.num_states):
            if u in self.machine.terminal:
                continue
            pays = self.pays[u]
            first.append(u * states + here[pays])
            onward = ~pays & ~world.ends
            edge_from.append((u * states + here)[onward])
            edge_to.append((self.target[u] * states + world.following)[onward])
        if not first:
            return steps[:states]
        source, arrival = np.concatenate(edge_from), np.concatenate(edge_to)
        order = np.argsort(arrival, kind="stable")
        source = source[order]
        begins = np.searchsorted(arrival[order], np.arange(total + 1))
        level, frontier = 1, np.unique(np.concatenate(first))
        while len(frontier):
            steps[frontier] = level
            level += 1
            pieces = [source[begins[node] : begins[node + 1]] for node in frontier.tolist()]
            reached = np.unique(np.concatenate(pieces))
            frontier = reached[steps[reached] == IMPOSSIBLE]
        initial = self.machine.initial * states
        return steps[initial : initial + states]

    def best_success(self, max_steps: int, epsilon: float = 0.0) -> FloatArray:
        """Return the greatest probability of success within `max_steps` from every state of the world.

        By backward induction. With `epsilon`, that share of the actions is random.
        """
        world, states = self.world, self.world.states
        pairs, first = np.unique(world.pair, return_index=True)
        acting, first_pair = np.unique(pairs // world.actions, return_index=True)
        value = np.zeros((self.machine.num_states, states))
        goes_on = ~self.pays & ~world.ends
        for _ in range(max_steps):
            onward = value[self.target, world.following] * goes_on + self.pays
            options = np.add.reduceat(onward * world.chance, first, axis=1)
            better = np.maximum.reduceat(options, first_pair, axis=1)
            if epsilon:
                mean = np.add.reduceat(options, first_pair, axis=1) / world.actions
                better = (1 - epsilon) * better + epsilon * mean
            before = value[:, acting]
            value[:, acting] = better
            spreads = bool(((better > 0) & (before == 0)).any())  # a far start is not reached yet
            if not spreads and np.abs(better - before).max(initial=0.0) < SETTLED:
                break
        best: FloatArray = value[self.machine.initial]
        return best


def optimal_steps(model: TabularModel, machine: RewardMachine) -> IntArray:
    """Return the fewest steps to the first reward from every start cell; −1 where there is none."""
    found = TrueProduct(FiniteWorld.of_model(model), machine).fewest_steps()
    return found[model.start_states]


def best_success(
    model: TabularModel, machine: RewardMachine, epsilon: float, max_steps: int
) -> FloatArray:
    """Return the best chance of success from every start cell, if actions slip with `epsilon`."""
    found = TrueProduct(FiniteWorld.of_model(model), machine).best_success(max_steps, epsilon)
    return found[model.start_states]
