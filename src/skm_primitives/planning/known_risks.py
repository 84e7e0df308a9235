"""A margin around what would fail a mission, where the robot may stray from the centre of its cell.

A cell that comes close to a constraint (`KnownWorld.near`) is a risk in a machine state in which
showing that constraint would fail the mission. Entering it counts as so many steps more: the robot makes
a detour of that length rather than a risky step, and takes the step where there is no other way.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_primitives.primitives import KnownWorld
from skm_sim.arrays import FloatArray, IntArray

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
