"""The fewest steps that a mission takes in a tabular world: breadth-first on machine × states.

Nothing here is shared with any planner: the machine is stepped state by state, and the search goes level
by level over the edges of the product, backwards from success.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_sim.arrays import IntArray
from skm_sim.tabular.model import TabularModel

IMPOSSIBLE: Final = -1


def fewest_steps(model: TabularModel, machine: RewardMachine) -> IntArray:
    """Return for every start cell the fewest steps to the first reward; −1 where there is none."""
    world = model.num_states
    entered = model.label_ids[model.transitions]
    total = machine.num_states * world
    steps = np.full(total, IMPOSSIBLE)
    edge_from, edge_to, first = [], [], []
    here = np.repeat(np.arange(world), model.num_actions)
    for u in range(machine.num_states):
        if u in machine.terminal:
            continue
        outcomes = [machine.step(u, labels) for labels in model.label_sets]
        target = np.array([outcome.target for outcome in outcomes])[entered]
        pays = np.array([outcome.reward > 0 for outcome in outcomes])[entered]
        first.append(u * world + np.flatnonzero(pays.any(axis=1)))
        silent = ~pays.reshape(-1)
        edge_from.append((u * world + here)[silent])
        edge_to.append((target * world + model.transitions).reshape(-1)[silent])
    source, arrival = np.concatenate(edge_from), np.concatenate(edge_to)
    order = np.argsort(arrival, kind="stable")
    source = source[order]
    begins = np.searchsorted(arrival[order], np.arange(total + 1))
    level, frontier = 1, np.concatenate(first)
    while len(frontier):
        steps[frontier] = level
        level += 1
        pieces = [source[begins[node] : begins[node + 1]] for node in frontier.tolist()]
        reached = np.unique(np.concatenate(pieces)) if pieces else frontier[:0]
        frontier = reached[steps[reached] == IMPOSSIBLE]
    return steps[machine.initial * world + model.start_states]
