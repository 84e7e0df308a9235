"""What the labels of a place are, and how they change with the visits of an episode.

Some worlds count behind the agent's back: the mail is fetched, the people leave. The labels of a
place then depend on how often it was entered since the episode began. This model counts what was
seen, place by place and visit by visit, so that a planner can know what the next visit brings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skm_machine.errors import SkmError
from skm_sim.arrays import Float32Array, IntArray

COUNTED_VISITS = 32
"""Visits told apart; later ones are counted with the last."""


class VisitModel:
    """Counts of each *variant*, a label set seen at a place, by visit of the episode.

    A visit is a step that ends in the place; bumping into a wall there is one, starting is not.
    """

    def __init__(self, propositions: Sequence[str]) -> None:
        if len(propositions) > 40:
            raise SkmError(
                f"tabular domains have at most 40 propositions, not {len(propositions)}."
            )
        self.propositions = tuple(propositions)
        self.keys: IntArray = np.zeros(0, np.int64)
        """Each variant as `place << |P| | label bits`, in the order of discovery."""
        self.counts = np.zeros((0, COUNTED_VISITS), np.int32)
        """`counts[variant, visit]`."""

    @property
    def places(self) -> IntArray:
        """The place of each variant."""
        return self.keys >> len(self.propositions)

    @property
    def label_bits(self) -> IntArray:
        """The label set of each variant, as bits over the propositions."""
        return self.keys & ((1 << len(self.propositions)) - 1)

    @property
    def label_sets(self) -> list[frozenset[str]]:
        """The label set of each variant, as names."""
        return [
            frozenset(name for i, name in enumerate(self.propositions) if bits >> i & 1)
            for bits in self.label_bits.tolist()
        ]

    def record(self, places: IntArray, label_bits: IntArray, visits: IntArray) -> None:
        """Count arrivals, given in the order in which they happened; `visits` starts at 0."""
        keys = (places << len(self.propositions)) | label_bits
        seen, first = np.unique(keys, return_index=True)
        fresh = seen[np.argsort(first)]
        fresh = fresh[~np.isin(fresh, self.keys)]
        self.keys = np.concatenate([self.keys, fresh])
        self.counts = np.pad(self.counts, ((0, len(fresh)), (0, 0)))
        order = np.argsort(self.keys)
        variants = order[np.searchsorted(self.keys, keys, sorter=order)]
        np.add.at(self.counts, (variants, np.minimum(visits, COUNTED_VISITS - 1)), 1)

    def probability(self) -> Float32Array:
        """Return, for each variant, how often its place showed these labels: a sample mean."""
        if not len(self.keys):
            return np.zeros(0, np.float32)
        totals = self.counts.sum(axis=1, dtype=np.int64)
        of_place = np.bincount(self.places, weights=totals)[self.places]
        probability: Float32Array = (totals / of_place).astype(np.float32)
        return probability

    def visit_labels(self) -> dict[int, tuple[frozenset[str], ...]]:
        """Return, for each place, the labels to expect at the first visit, the second, and so on.

        Each is the majority of what was seen at that visit; the last one holds from then on.
        """
        places, label_sets = self.places, self.label_sets
        expected = {}
        for place in dict.fromkeys(places.tolist()):
            variants = np.flatnonzero(places == place)
            counts = self.counts[variants]
            seen = np.flatnonzero(counts.sum(axis=0))
            majority = [label_sets[variants[i]] for i in counts[:, seen].argmax(axis=0)]
            while len(majority) > 1 and majority[-1] == majority[-2]:
                majority.pop()
            expected[place] = tuple(majority)
        return expected
