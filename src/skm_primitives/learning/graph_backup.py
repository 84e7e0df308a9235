"""Values backed up through a whole graph of experience, not one step at a time.

A graph says where each action that was tried led. What a goal is worth along the ways in it follows
from what the network says of the actions that were not tried, and of these alone: value iteration
on the graph, until nothing changes. Two samplers make such graphs: whole episodes, where pictures
that are alike are one state (`episode_graph`), and sweeps of all transitions of a board. In a world
that chance rules, or where different states look alike, this would be too hopeful: there, targets
one step deep are the ones to take (`backup=step`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from skm_primitives.learning.replay import Episodes
from skm_primitives.skills.goal_space import GoalSpace
from skm_sim.arrays import BoolArray, IntArray

LONGEST: Final = 64
"""Sweeps of value iteration at most: the longest way that a batch makes known."""
ENOUGH: Final = 1e-3
"""Changes of values below which a sweep is the last."""


@dataclass(frozen=True)
class ExperienceGraph:
    """States, and the steps between them that were tried: `k` steps, of `n` states."""

    states: NDArray[Any]
    """`(n, …)`: each as its sampler has it: features, or states of a simulator."""
    source: IntArray
    """`(k,)`: the state that each step is from, …"""
    action: IntArray
    target: IntArray
    """… and the one that it led to."""
    achieved: BoolArray
    """`(k, goals)`: the goals that the step achieves, …"""
    alive: BoolArray
    """… and those that can be pursued further."""
    shown: IntArray
    """`(m, 3)`: state, slot of a label set that is shown next, and the state in which it is."""


def episode_graph(space: GoalSpace, episodes: Episodes) -> ExperienceGraph:
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
    return ExperienceGraph(
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


def backed_up(
    graph: ExperienceGraph, values: Tensor, gamma: float, enough: float = ENOUGH
) -> Tensor:
    """Return the values `(n, actions, goals)`, those of actions that were tried from where they led.

    `values` are what a network says of every action; those of actions that were not tried stay. It is
    done when no value changes by more than `enough`.
    """
    device = values.device
    source, action, target = (
        torch.from_numpy(part).to(device) for part in (graph.source, graph.action, graph.target)
    )
    achieved = torch.from_numpy(graph.achieved).to(device, values.dtype)
    further = torch.from_numpy(graph.alive & ~graph.achieved).to(device, values.dtype) * gamma
    values = values.clone()
    best = values.amax(1)
    for _ in range(LONGEST):
        values[source, action] = achieved + further * best[target]
        better = values.amax(1)
        if (better - best).abs().max() <= enough:
            break
        best = better
    return values


KEPT: Final = 0.1
"""What is left at least of an action's value when its disadvantage is taken off, so that one which is
only slower still stands out from one that rules the goal out."""


def widened(values: Tensor, best: Tensor, gap: float) -> Tensor:
    """Return the values of actions with a wider gap to the best.

    The fixed point of advantage learning (Bellemare et al., 2016), every disadvantage over 1 − gap.
    """
    return torch.maximum(best - (best - values) / (1 - gap), KEPT * values)
