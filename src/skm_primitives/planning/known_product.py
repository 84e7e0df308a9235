"""The product of a mission's machine with a known world, solved exactly by sweeps backwards.

The value of a way is γ to its length, so the best ways are the shortest ones: what a state of the
product is worth is kept as its *length* D, with V = γ^D, and found as in Dijkstra's algorithm
(`reachability`). The cost is in proportion to machine states × cells.

Where a reward does not end the mission, its way leads on. Then sweeps are repeated, each with what the
ways of the last one are worth if they are kept to for ever (Howard's policy iteration).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.reachability import (
    Ways,
    reaching_rewards,
    rewarded_length,
    settle,
    solve_lengths,
)
from skm_primitives.skills.known_skills import Predecessors, expand
from skm_primitives.skills.values import KnownWorld
from skm_sim.arrays import BoolArray, FloatArray, IntArray

# A margin around what would fail a mission, where the robot may stray from the centre of its
# cell.
#
# A cell that comes close to a constraint (`KnownWorld.near`) is a risk in a machine state in
# which showing that constraint would fail the mission. Entering it counts as so many steps more:
# the robot makes a detour of that length rather than a risky step, and takes the step where there
# is no other way.


RISK_STEPS: Final = 40.0


def extra_lengths(
    machine: RewardMachine, world: KnownWorld, target: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return `[machine state, kind]`, how many steps more entering a cell counts; and cells' kinds."""
    if world.near is None or not world.near.any():
        return np.zeros((machine.num_states, 1)), np.zeros(len(world.label_ids), np.int64)
    pairs, kind = np.unique(
        np.stack([world.label_ids, world.near], axis=1), axis=0, return_inverse=True
    )
    extra = np.zeros((machine.num_states, len(pairs)))
    for index, (label, bits) in enumerate(pairs.tolist()):
        shown = world.label_sets[label]
        close = [name for i, name in enumerate(world.constraints) if bits >> i & 1]
        for state in range(machine.num_states):
            if not close or state in machine.terminal or target[state, label] in machine.failure:
                continue
            strayed = [shown | {name} for name in close] + [shown | set(close)]
            if any(machine.step(state, labels).target in machine.failure for labels in strayed):
                extra[state, index] = RISK_STEPS
    return extra, kind.reshape(-1)


MAX_STATES: Final = 40_000_000
"""The largest product of machine states and cells that is planned over."""


class KnownProduct:
    """Machine × cells: what the machine does on arriving anywhere, and how long every way is."""

    def __init__(self, machine: RewardMachine, world: KnownWorld, gamma: float) -> None:
        cells = len(world.successors)
        if machine.num_states * cells > MAX_STATES:
            raise SkmError(
                f"planning would take {machine.num_states} machine states × {cells} cells, more than"
                f" {MAX_STATES:,} in all: make the cells larger, or use planner 'paper'"
            )
        self.world = world
        self.target, self.reward = machine_tables(machine, world.label_sets)
        if (self.reward < 0).any():
            raise SkmError("rewards below 0 cannot be planned for in a known world; use 'paper'")
        self._log_gamma = math.log(gamma)
        self._live: BoolArray = np.array(
            [
                u not in machine.terminal and u not in machine.failure
                for u in range(len(self.target))
            ]
        )
        self._before = Predecessors(world.successors)
        self._arrivals = _silent_arrivals(self.target, self.reward, self._live)
        self._extra, self._kind = extra_lengths(machine, world, self.target)
        self.length: FloatArray = np.full((machine.num_states, cells), np.inf)
        """`[u, cell]`: D; infinite where no reward can be had."""
        self._rewarding = [
            (u, label) for u, label in np.argwhere(self.reward > 0).tolist() if self._live[u]
        ]
        shown = world.label_ids.copy()
        if world.end is not None:
            shown[world.end] = -1  # Nobody arrives there, so no reward can be had by it.
        self._cells_of = [np.flatnonzero(shown == i) for i in range(len(world.label_sets))]
        self._lasting = self._lasting_nodes() if machine.endless else None
        self.length = solve_lengths(
            self._lands, self._rewards, self._sweep, self.length.size, self._log_gamma
        ).reshape(self.length.shape)

    def _lasting_nodes(self) -> BoolArray:
        """Return the states of the product from which rewards can be had without end, flat.

        A mission without end is worth nothing where they end, however many there were before.
        """
        cells = self.length.shape[1]
        paid = [u * cells + self._cells_of[label] for u, label in self._rewarding]

        def sources(arrivals: IntArray) -> IntArray:
            u, cell = np.divmod(arrivals, cells)
            source, owner = self._before.of(cell)
            found: IntArray = u[owner] * cells + source
            return found

        found, _ = reaching_rewards(
            np.concatenate([np.empty(0, np.int64), *paid]),
            self._lands,
            sources,
            self._one_step_before,
            self.length.size,
            endless=True,
        )
        return found

    def _lands(self, arrivals: IntArray) -> IntArray:
        """Return the states of the product that rewarded arrivals `u · cells + cell` lead to."""
        u, cell = np.divmod(arrivals, self.length.shape[1])
        landed: IntArray = self.target[u, self.world.label_ids[cell]] * self.length.shape[1] + cell
        return landed

    def _rewards(self, arrivals: IntArray) -> FloatArray:
        u, cell = np.divmod(arrivals, self.length.shape[1])
        found: FloatArray = self.reward[u, self.world.label_ids[cell]]
        return found

    def arrival_lengths(
        self, state: int, cells: IntArray, behind: FloatArray | None = None
    ) -> FloatArray:
        """Return how long the way is from arriving in each of these cells in a machine state, on."""
        label = self.world.label_ids[cells]
        after, reward = self.target[state, label], self.reward[state, label]
        continuation: FloatArray = (self.length if behind is None else behind)[after, cells] + 1
        paid = reward > 0
        if paid.any():
            found = rewarded_length(reward[paid], continuation[paid], self._log_gamma)
            if self._lasting is not None:
                lands = after[paid] * self.length.shape[1] + cells[paid]
                found = np.where(self._lasting[lands], found, np.inf)
            continuation[paid] = found
        continuation += self._extra[state, self._kind[cells]]
        if self.world.end is not None:
            continuation[cells == self.world.end] = np.inf
        return continuation

    def _sweep(self, behind: FloatArray) -> Ways:
        """Settle all lengths once; `behind` says what lies behind a reward."""
        states, cells = self.length.shape
        rewarded = []
        for u, label in self._rewarding:
            arrived = self._cells_of[label]
            source, owner = self._before.of(arrived)
            lengths = self.arrival_lengths(u, arrived, behind.reshape(states, cells))[owner]
            rewarded.append((u * cells + source, lengths, u * cells + arrived[owner]))
        return settle(states * cells, rewarded, self._one_step_before)

    def _one_step_before(self, nodes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return from where unrewarded steps lead to these states; whose each is; how long it is."""
        states, cells = self.length.shape
        u, cell = np.divmod(nodes, cells)
        first, earlier = self._arrivals
        came_from, owner = expand(first, earlier, self.world.label_ids[cell] * states + u)
        added = 1.0 + self._extra[came_from, self._kind[cell[owner]]]
        source, arrival = self._before.of(cell[owner])
        return came_from[arrival] * cells + source, owner[arrival], added[arrival]


def machine_tables(
    machine: RewardMachine, label_sets: tuple[frozenset[str], ...]
) -> tuple[IntArray, FloatArray]:
    """Return δ_u and δ_r as arrays `[machine state, label set]`; a terminal state stays as it is."""
    shape = machine.num_states, len(label_sets)
    target, reward = np.zeros(shape, np.int64), np.zeros(shape)
    for state in range(machine.num_states):
        for index, labels in enumerate(label_sets):
            if state in machine.terminal:
                target[state, index] = state
            else:
                target[state, index], reward[state, index] = machine.step(state, labels)
    return target, reward


def _silent_arrivals(
    target: IntArray, reward: FloatArray, live: BoolArray
) -> tuple[IntArray, IntArray]:
    """Return for each `label set · states + u'` the states from which it leads to u' unrewarded."""
    states, labels = target.shape
    source, label = np.nonzero(live[:, None] & (reward <= 0))
    key = label * states + target[source, label]
    order = np.argsort(key, kind="stable")
    counts = np.bincount(key, minlength=states * labels)
    return np.concatenate([[0], np.cumsum(counts)]), source[order]
