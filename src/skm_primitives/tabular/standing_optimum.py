"""The most rounds of a standing order that any policy completes in a tabular world, exactly.

Backward induction over machine × states of the true world, hidden ones included. It knows when the time
is up, which no robot does, and shares nothing with the planner.
"""

from __future__ import annotations

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_sim.arrays import IntArray
from skm_sim.tabular.model import TabularModel


def most_rounds(machine: RewardMachine, model: TabularModel, steps: int) -> IntArray:
    """Return, for each start cell, the most rounds that can be completed within `steps` steps.

    Runs that fail, or break a promise, count for nothing from then on.
    """
    choices = 1 + max((len(machine.promises(u)) for u in range(machine.num_states)), default=0)
    lost = machine.num_states
    shape = machine.num_states, len(model.label_sets), choices
    target, reward = np.full(shape, lost), np.zeros(shape, np.int64)
    for state in range(machine.num_states):
        if state in machine.terminal:
            continue
        for index, labels in enumerate(model.label_sets):
            for choice, way in enumerate((state, *machine.promises(state))):
                outcome = machine.step(way, labels)
                if machine.keeps(way, outcome) and outcome.target not in machine.terminal:
                    target[state, index, choice] = outcome.target
                    reward[state, index, choice] = outcome.reward > 0
    entered = model.label_ids[model.transitions]  # [state, action]
    after, earned = target[:, entered], reward[:, entered]  # [u, state, action, choice]
    rounds = np.zeros((lost + 1, model.num_states), np.int64)
    world = model.transitions[None, :, :, None]
    for _ in range(steps):
        rounds[:lost] = (earned + rounds[after, world]).max(axis=(2, 3))
    most: IntArray = rounds[machine.initial, model.start_states]
    return most
