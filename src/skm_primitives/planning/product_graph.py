"""Machine × places × visit counts backwards: what can be reached or forced, each arc looked at once.

To be somewhere is a *node* [u, place, counter]. An action leads from it to an *arrival* [u, place',
counter]. An arrival is *read* in u, or under a commitment that can be made in u, while some events
happen: each reading leads to one node. Regions are found by worklists over the arcs backwards, so the
cost is in proportion to the arcs, however far a region reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from skm_primitives.planning.product import MissionProduct
from skm_primitives.skills.known_skills import expand
from skm_sim.arrays import BoolArray, IntArray

FAR: Final = 1 << 30
"""More steps than any way has: there is none."""


class ProductGraph:
    """The arcs of one world under each choice of events (`products`), with the actions allowed."""

    def __init__(
        self,
        products: Sequence[MissionProduct],
        allowed: BoolArray | None = None,
        *,
        every_chance: bool = False,
    ) -> None:
        """With `every_chance`, an action leads wherever it may; else where it leads as a rule.

        The first is for what can be reached at all: not for what can be forced.
        """
        self.products = tuple(products)
        self.allowed = allowed
        first = self.products[0]
        self.shape: tuple[int, int, int] = first.reward.shape
        self.size = first.reward.size
        self.actions = first.world.successors.shape[1]
        place = np.arange(self.shape[1])[:, None]
        self.after: list[IntArray] = [
            (
                (product.machine_state * self.shape[1] + place) * self.shape[2] + product.counter
            ).reshape(-1)
            for product in self.products
        ]
        """For each choice of events and each reading, the node that it leads to."""
        self._readings = [_inverse(after, self.size) for after in self.after]
        self._pair_of: IntArray | None = None
        self._leads_to: IntArray = first.world.successors
        leads_to = self._leads_to.reshape(-1)
        if every_chance and first.world.chances is not None:
            leads_to, self._pair_of = first.world.chances.place, first.world.chances.pair
            self._leads_to = first.world.chances.reached(self.actions)
        self._pairs = _inverse(leads_to, self.shape[1])
        self._commitments = first.commitments
        readers = [[u] for u in range(self.shape[0])]
        for state, ways in self._commitments:
            for way in ways:
                readers[way].append(state)
        self._readers = (
            np.concatenate([[0], np.cumsum([len(some) for some in readers])]),
            np.array([u for some in readers for u in some], np.int64),
        )
        self._choices = np.ones(self.shape[0], np.int64)
        """For each machine state, the states in which an arrival in it can be read."""
        for state, ways in self._commitments:
            self._choices[state] += len(ways)

    def paid(self, region: BoolArray) -> list[BoolArray]:
        """Return, for each choice of events, the readings with a reward that lead to a region."""
        return [
            (product.reward > 0) & region.reshape(-1)[after].reshape(self.shape)
            for product, after in zip(self.products, self.after, strict=True)
        ]

    def reached(
        self,
        won: BoolArray,
        paid: Sequence[BoolArray] = (),
        among: BoolArray | None = None,
        *,
        every: bool = False,
        keeping: bool = True,
    ) -> tuple[IntArray, IntArray]:
        """Return in how many steps a node that is `won`, or a reading that is `paid`, can be reached.

        From being at a node, and from arriving there; `FAR` from where it cannot. With `every`, whatever
        events happen: then it is the number of steps at worst. Else events help. With `keeping`, what
        breaks a commitment leads nowhere. Nodes that are not `among` lead nowhere either.
        """
        steps, arriving = np.full(self.size, FAR), np.full(self.size, FAR)
        open_ways = np.full(self.size, len(self.products) if every else 1)
        answered = np.zeros((len(self.products), self.size), np.bool_)
        kept = [product.kept.reshape(-1) for product in self.products] if keeping else None
        allowed_among = None if among is None else among.reshape(-1)
        nodes, level = np.flatnonzero(won), 0
        steps[nodes] = 0
        rewarded = [np.flatnonzero(some) for some in paid]
        while len(nodes) or any(map(len, rewarded)):
            level += 1
            fresh = []
            for number in range(len(self.products)):
                readings = expand(*self._readings[number], nodes)[0]
                if rewarded:
                    readings = np.concatenate([readings, rewarded[number]])
                if kept is not None:
                    readings = readings[kept[number][readings]]
                arrivals = self._arrivals_of(readings)
                arrivals = np.unique(arrivals[~answered[number, arrivals]])
                answered[number, arrivals] = True
                open_ways[arrivals] -= 1
                fresh.append(arrivals[open_ways[arrivals] == 0])
            rewarded = []
            found = np.concatenate(fresh)
            arriving[found] = level
            nodes = self._before_arrivals(found)
            nodes = np.unique(nodes[steps[nodes] == FAR])
            if allowed_among is not None:
                nodes = nodes[allowed_among[nodes]]
            steps[nodes] = level
        return steps.reshape(self.shape), arriving.reshape(self.shape)

    def recurring(self) -> BoolArray:
        """Return from where rewards can be had for ever, if events help."""
        nowhere = np.zeros(self.shape, np.bool_)
        region = ~nowhere
        while True:
            found = self.reached(nowhere, self.paid(region))[0] < FAR
            if np.array_equal(found, region):
                return region
            region = found

    def without_commitments(self) -> ProductGraph:
        """Return the same arcs, where every arrival is read as it is."""
        if not self._commitments:
            return self
        plain = [replace(product, commitments=()) for product in self.products]
        return ProductGraph(plain, self.allowed, every_chance=self._pair_of is not None)

    def gone_through(self, begun: BoolArray, over: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Return the nodes that anything leads to from some, and the arrivals on the way.

        `over[u]` are the machine states in which nothing goes on.
        """
        _, places, counters = self.shape
        met, arrived = begun.reshape(-1).copy(), np.zeros(self.size, np.bool_)
        nodes = np.flatnonzero(met)
        while len(nodes):
            nodes = nodes[~over[nodes // (places * counters)]]
            state, rest = np.divmod(nodes, places * counters)
            place, counter = np.divmod(rest, counters)
            reached = self._leads_to[place]
            arrivals = ((state[:, None] * places + reached) * counters + counter[:, None]).ravel()
            arrivals = np.unique(arrivals[~arrived[arrivals]])
            arrived[arrivals] = True
            ways = [after[arrivals] for after in self.after]
            for promising, commitments in self._commitments:
                some = arrivals[arrivals // (places * counters) == promising]
                for commitment in commitments:
                    readings = some + (commitment - promising) * places * counters
                    ways += [
                        after[readings[product.kept.reshape(-1)[readings]]]
                        for product, after in zip(self.products, self.after, strict=True)
                    ]
            nodes = np.concatenate(ways)
            nodes = np.unique(nodes[~met[nodes]])
            met[nodes] = True
        return met.reshape(self.shape), arrived.reshape(self.shape)

    def onward(
        self,
        node: tuple[int, int, int],
        steps: IntArray,
        arriving: IntArray,
        paid: Sequence[BoolArray],
    ) -> list[tuple[int, int, tuple[int, int, int] | None]]:
        """Return the first steps of the shortest ways from a node, as `reached` has found them.

        Each is the place that it leads to, the number of the events that help, and the node after it;
        None for the last step, on a reading that is paid.
        """
        state, place, counter = node
        found: list[tuple[int, int, tuple[int, int, int] | None]] = []
        ways = (state, *dict(self._commitments).get(state, ()))
        permitted = None if self.allowed is None else self.allowed[state, place, :, counter]
        for arrival in self._places_from(place, permitted):
            if arriving[state, arrival, counter] != steps[node]:
                continue
            for number, product in enumerate(self.products):
                for way in ways:
                    reading = way, arrival, counter
                    after = (
                        int(product.machine_state[reading]),
                        arrival,
                        int(product.counter[arrival, counter]),
                    )
                    if paid and paid[number][reading] and product.kept[reading]:
                        if steps[node] == 1:
                            found.append((arrival, number, None))
                    elif steps[after] == steps[node] - 1 and (product.kept[reading] or not paid):
                        found.append((arrival, number, after))
        return found

    def _places_from(self, place: int, permitted: BoolArray | None) -> list[int]:
        """Return where the actions that are permitted lead."""
        actions = np.arange(self.actions) if permitted is None else np.flatnonzero(permitted)
        if self._pair_of is None:
            found = self.products[0].world.successors[place, actions]
        else:
            chances = self.products[0].world.chances
            assert chances is not None
            found = chances.place[np.isin(chances.pair, place * self.actions + actions)]
        return list(dict.fromkeys(found.tolist()))

    def doomed(self, failed: BoolArray, exempt: BoolArray) -> IntArray:
        """Return in how many steps at most events force their way to `failed`; `FAR` where they cannot.

        Whatever the robot does; nodes that are `exempt` are never lost.
        """
        level = np.where(failed.reshape(-1), 0, FAR)
        spared = exempt.reshape(-1)
        hopes = np.repeat(self._choices, self.shape[1] * self.shape[2])
        ways = [hopes.copy() for _ in self.products]  # readings of each arrival that are not lost
        lost_arrival = np.zeros(self.size, np.bool_)
        choices = np.full(self.size, self.actions)
        nodes, step = np.flatnonzero(failed), 0
        while len(nodes):
            step += 1
            fresh = []
            for number in range(len(self.products)):
                arrivals = self._arrivals_of(expand(*self._readings[number], nodes)[0])
                arrivals, count = np.unique(arrivals, return_counts=True)
                ways[number][arrivals] -= count
                fresh.append(arrivals[ways[number][arrivals] == 0])
            found = np.unique(np.concatenate(fresh))
            found = found[~lost_arrival[found]]
            lost_arrival[found] = True
            nodes, count = np.unique(self._before_arrivals(found), return_counts=True)
            choices[nodes] -= count
            nodes = nodes[(choices[nodes] == 0) & (level[nodes] == FAR) & ~spared[nodes]]
            level[nodes] = step
        return level.reshape(self.shape)

    def _arrivals_of(self, readings: IntArray) -> IntArray:
        """Return the arrivals that can be read so."""
        if not self._commitments:
            return readings
        per_state = self.shape[1] * self.shape[2]
        state, rest = np.divmod(readings, per_state)
        reader, owner = expand(*self._readers, state)
        return reader * per_state + rest[owner]

    def _before_arrivals(self, arrivals: IntArray) -> IntArray:
        """Return the nodes that some allowed action leads from to these arrivals, once for each."""
        _, places, counters = self.shape
        state, rest = np.divmod(arrivals, places * counters)
        place, counter = np.divmod(rest, counters)
        pair, owner = expand(*self._pairs, place)
        state, counter = state[owner], counter[owner]
        if self._pair_of is not None:
            pair = self._pair_of[pair]
        source, action = np.divmod(pair, self.actions)
        nodes: IntArray = (state * places + source) * counters + counter
        if self.allowed is not None:
            nodes = nodes[self.allowed[state, source, action, counter]]
        return nodes


def _inverse(targets: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return which entries lead to each target: where its slice begins, and all slices."""
    order = np.argsort(targets, kind="stable")
    counts = np.bincount(targets, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]), order
