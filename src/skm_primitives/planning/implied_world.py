"""The world that place goals imply: where each action leads, and which labels each visit shows.

A world value function over places holds the dynamics: Q_MAX(⟨s,c⟩, g, ⟨a,1⟩) is positive for exactly
the place g that action a leads to. Nothing here was seen by a planner before; it is read off the
learned values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skm_machine.reward_machine import RewardMachine
from skm_primitives.primitives import GoalValues, Primitives

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class ImpliedWorld:
    """Places, the place that each action leads to, and the labels of each place by visit."""

    places: tuple[int, ...]
    successors: IntArray
    """`[place index, action]`: the index of the place reached; the same place where unknown."""
    visit_labels: Mapping[int, tuple[frozenset[str], ...]]


def implied_world(primitives: Primitives) -> ImpliedWorld:
    """Read the world off the primitives' values."""
    unviolated = [
        (index, goal.place)
        for index, goal in enumerate(primitives.goals)
        if goal.place is not None and not goal.violated
    ]
    places = tuple(sorted({place for _, place in unviolated}))
    number = {place: index for index, place in enumerate(places)}
    goals = np.array([index for index, _ in unviolated])
    goal_place = np.array([number[place] for _, place in unviolated])
    rows = []
    for place in places:
        values = primitives.values(place, frozenset())
        assert isinstance(values, GoalValues), "place goals go with discrete actions"
        stop = values.stop[goals]
        reached = goal_place[stop.argmax(axis=0)]
        rows.append(np.where(stop.max(axis=0) > 0, reached, number[place]))
    return ImpliedWorld(places, np.array(rows, np.int64), primitives.visit_labels)


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


def visit_counters(world: ImpliedWorld, machine: RewardMachine) -> VisitCounters:
    """Return the counters of the places at which the machine can tell one visit from another."""
    states = range(machine.num_states)
    counted = {
        place: len(labels)
        for place, labels in world.visit_labels.items()
        if len(labels) > 1
        and any(len({machine.step(u, shown) for shown in set(labels)}) > 1 for u in states)
    }
    return VisitCounters(tuple(counted), tuple(counted.values()))
