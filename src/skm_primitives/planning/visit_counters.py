"""Counters of visits, for places whose labels change with them: the mail is fetched, people leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_primitives.primitives import PlaceWorld


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
