"""What a network algorithm offers to the learner: act, learn from a batch, be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from skm_primitives.deep.goal_space import GoalSpace
from skm_primitives.deep.replay import Batch
from skm_sim.arrays import BoolArray, Float32Array

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
