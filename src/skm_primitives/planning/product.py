"""The product of a mission's machine with a finite world and counters of visits, as a sparse graph.

To be somewhere is a *node* [u, place, counter]: the machine's state, the state of the world, and how
often the places were visited whose labels change with that. An action leads from it to an *arrival*
[u, place', counter]. An arrival is *read* in u, or in a state under a commitment that can be made in u,
while some events happen: each *reading* leads to one node, for a reward. A reading that breaks a
commitment, or ends the world before the mission is over, leads nowhere: it is not *kept*.

Nodes, arrivals and readings are numbers: `(u · places + place) · counters + counter`, and for readings
that plus `event choice · nodes`. What a reading does depends on the machine's table over the label sets
that the world shows, so nothing is stored for each node. The graph is walked backwards as arrays
(`before`, `sources`), which is all that the solvers need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.reward_machine import RewardMachine
from skm_sim.arrays import BoolArray, FloatArray, IntArray, distinct
from skm_sim.finite_world import FiniteWorld, Predecessors, expand, inverse

Node = tuple[int, int, int]
"""[u, place, counter]"""

MAX_NODES: Final = 40_000_000
"""The largest product that is planned over."""
MAX_DENSE: Final = 5_000_000
"""The largest one where plans need all actions of all nodes at once: recurrences, games, slipping."""
RISK_STEPS: Final = 40.0
"""How many steps more it counts to enter a cell that comes close to what would fail the mission, where
the robot may stray from the centre of its cell: it makes a detour of that length instead, and takes the
step where there is no other way."""


def machine_table(
    machine: RewardMachine, label_sets: Sequence[frozenset[str]]
) -> tuple[IntArray, FloatArray]:
    """Return δ_u and δ_r as arrays `[machine state, label set]`."""
    rows = machine.table(label_sets)
    shape = len(rows), len(label_sets)
    target = np.array([[o.target for o in row] for row in rows], np.int64).reshape(shape)
    reward = np.array([[o.reward for o in row] for row in rows], np.float64).reshape(shape)
    return target, reward


def members(states: int, some: frozenset[int]) -> BoolArray:
    """Return which machine states are among some."""
    found: BoolArray = np.zeros(states, np.bool_)
    found[sorted(some)] = True
    return found


@dataclass(frozen=True, eq=False)
class Product:
    """Machine × world × visits, under each of some choices of events; the first is that of no event."""

    machine: RewardMachine
    world: FiniteWorld
    happenings: tuple[frozenset[str], ...]
    target: IntArray
    """δ_u of each reading: `[choice of events, u, label set]`."""
    reward: FloatArray
    """δ_r of it."""
    label_ids: IntArray
    """`[place, counter]`: the label set that an arrival shows, with that many visits before it.

    A counter is how often each place was visited whose labels change with that, as one number; only
    places count at which the machine can tell the difference."""
    counter_after: IntArray
    """`[place, counter]`: the counter after it."""
    extra: FloatArray
    """`[u, kind of place]`: how many steps more it counts to enter such a place."""
    kind: IntArray
    """`[place]`"""
    allowed: BoolArray | None = None
    """`[u, place, action, counter]`: whether an action may be taken; None: all."""
    barred: BoolArray | None = None
    """`[u, place, counter]`: readings that lead nowhere besides those that are not kept; None: none."""
    commitments: tuple[tuple[int, tuple[int, ...]], ...] = field(default=())
    """The machine states in which commitments can be made, with the states under each."""

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Machine states, places, counters."""
        places, counters = self.label_ids.shape
        return self.target.shape[1], places, counters

    @cached_property
    def size(self) -> int:
        """The number of nodes."""
        return int(np.prod(self.shape))

    def labels(self, place: int, counter: int) -> frozenset[str]:
        """Return the labels that an arrival shows."""
        return self.world.label_sets[int(self.label_ids[place, counter])]

    def ways(self, state: int) -> tuple[int, ...]:
        """Return the machine states in which an arrival in `state` can be read: itself first."""
        return (state, *self._ways.get(state, ()))

    @cached_property
    def _ways(self) -> dict[int, tuple[int, ...]]:
        return dict(self.commitments)

    # One reading, or many at once.

    def reading(
        self, state: IntArray | int, place: IntArray | int, counter: IntArray | int
    ) -> IntArray:
        """Return the number of some readings with no event: it is that of the arrivals, and of nodes."""
        _, places, counters = self.shape
        number: IntArray = np.asarray((state * places + place) * counters + counter)
        return number

    def node(self, number: int) -> Node:
        """Return the node of a number."""
        state, rest = divmod(int(number), self.shape[1] * self.shape[2])
        return (state, *divmod(rest, self.shape[2]))

    def _parts(self, readings: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the choice of events × states + u, the place, the counter and the label set."""
        _, places, counters = self.shape
        row, rest = np.divmod(readings, places * counters)
        if counters == 1:
            return row, rest, rest, self._first_labels[rest]
        place, counter = np.divmod(rest, counters)
        return row, place, counter, self.label_ids[place, counter]

    @cached_property
    def _first_labels(self) -> IntArray:
        return np.ascontiguousarray(self.label_ids[:, 0])

    @cached_property
    def _targets(self) -> IntArray:
        return self.target.reshape(-1, self.target.shape[2])

    @cached_property
    def _rewards(self) -> FloatArray:
        return self.reward.reshape(self._targets.shape)

    @cached_property
    def _keeps(self) -> BoolArray:
        """`[choice of events × states + u, label set]`: whether that breaks no commitment."""
        committed = members(self.shape[0], self.machine.committed)
        source = np.tile(committed, len(self.happenings))[:, None]
        kept: BoolArray = ~source | committed[self._targets]
        return kept

    @cached_property
    def _over(self) -> BoolArray:
        return members(self.shape[0], self.machine.terminal)

    def read(self, readings: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the nodes that readings lead to, and the rewards for that."""
        _, places, counters = self.shape
        row, place, counter, label = self._parts(readings)
        lands: IntArray = (self._targets[row, label] * places + place) * counters
        if counters > 1:
            lands += self.counter_after[place, counter]
        return lands, self._rewards[row, label]

    def lands(self, readings: IntArray) -> IntArray:
        """Return the nodes that readings lead to."""
        return self.read(readings)[0]

    def pays(self, readings: IntArray) -> FloatArray:
        """Return the rewards of readings."""
        return self.read(readings)[1]

    def keeps(self, readings: IntArray) -> BoolArray:
        """Return which readings lead anywhere."""
        if self.all_kept:
            return np.ones(np.shape(readings), np.bool_)
        row, place, _, label = self._parts(readings)
        kept: BoolArray = self._keeps[row, label]
        if self.world.ended is not None:
            kept = kept & (~self.world.ended[place] | self._over[self._targets[row, label]])
        if self.barred is not None:
            kept = kept & ~self.barred.reshape(-1)[readings % self.size]
        return kept

    @cached_property
    def all_kept(self) -> bool:
        """Whether every reading leads somewhere."""
        return not self.machine.committed and self.world.ended is None and self.barred is None

    def added(self, readings: IntArray) -> FloatArray:
        """Return how many steps more each of them counts."""
        row, place, _, _ = self._parts(readings)
        found: FloatArray = self.extra[row % self.shape[0], self.kind[place]]
        return found

    @cached_property
    def has_extra_lengths(self) -> bool:
        """Whether some steps count as more than one."""
        return bool(self.extra.any())

    # Backwards.

    @cached_property
    def paid(self) -> IntArray:
        """All readings that are kept and have a reward above 0."""
        _, places, counters = self.shape
        first, shown = inverse(self.label_ids.reshape(-1), self.target.shape[2])
        row, label = np.nonzero(self._rewards > 0)
        rest, owner = expand(first, shown, label)
        readings = row[owner] * (places * counters) + rest
        return readings if self.all_kept else readings[self.keeps(readings)]

    @cached_property
    def _rows_before(self) -> tuple[IntArray, IntArray]:
        return self._rows_leading(np.ones(self._targets.shape, np.bool_))

    @cached_property
    def _unrewarded_before(self) -> tuple[IntArray, IntArray]:
        return self._rows_leading(self._rewards <= 0)

    def _rows_leading(self, some: BoolArray) -> tuple[IntArray, IntArray]:
        """Return for each `label set · states + u'` the rows of the table, of some, that lead there."""
        states, labels = self.shape[0], self.target.shape[2]
        row, label = np.nonzero(some)
        first, order = inverse(label * states + self._targets[row, label], states * labels)
        return first, row[order]

    @cached_property
    def _counters_before(self) -> tuple[IntArray, IntArray]:
        """For each `place · counters + counter'`, the counters before an arrival there."""
        _, places, counters = self.shape
        place = np.arange(places)[:, None] * counters
        first, order = inverse((place + self.counter_after).reshape(-1), places * counters)
        return first, order % counters

    def before(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Return the readings that lead to some nodes, and to which of them; kept or not."""
        row, place, counter, owner = self._leading(nodes, self._rows_before)
        return self.reading(row, place, counter), owner

    def _leading(
        self, nodes: IntArray, leading: tuple[IntArray, IntArray]
    ) -> tuple[IntArray, IntArray, IntArray | int, IntArray]:
        """Return the rows of the table, places and counters of readings that lead to some nodes."""
        states, places, counters = self.shape
        state, rest = np.divmod(nodes, places * counters)
        if counters == 1:
            row, owner = expand(*leading, self._first_labels[rest] * states + state)
            return row, rest[owner], 0, owner
        counter, mine = expand(*self._counters_before, rest)
        place, state = rest[mine] // counters, state[mine]
        row, owner = expand(*leading, self.label_ids[place, counter] * states + state)
        return row, place[owner], counter[owner], mine[owner]

    @cached_property
    def _readers(self) -> tuple[IntArray, IntArray]:
        """For each machine state, those whose arrivals can be read in it."""
        readers = [[u] for u in range(self.shape[0])]
        for state, ways in self.commitments:
            for way in ways:
                readers[way].append(state)
        first = np.concatenate([[0], np.cumsum([len(some) for some in readers])])
        return first, np.array([u for some in readers for u in some], np.int64)

    def arrivals(self, readings: IntArray) -> tuple[IntArray, IntArray]:
        """Return the arrivals that can be read so, plus `event choice · nodes`; and whose each is."""
        if not self.commitments:
            return readings, np.arange(len(readings))
        per_state = self.shape[1] * self.shape[2]
        row, rest = np.divmod(readings, per_state)
        event, state = np.divmod(row, self.shape[0])
        reader, owner = expand(*self._readers, state)
        return (event[owner] * self.shape[0] + reader) * per_state + rest[owner], owner

    def sources(self, arrivals: IntArray, *, any_outcome: bool) -> tuple[IntArray, IntArray]:
        """Return the nodes that an allowed action leads from to some arrivals, and to which of them.

        `any_outcome`: wherever an action may lead; else where it leads as a rule.
        """
        row, rest = np.divmod(arrivals, self.shape[1] * self.shape[2])
        place, counter = (rest, 0) if self.shape[2] == 1 else np.divmod(rest, self.shape[2])
        backwards = self.world.before_any_outcome if any_outcome else self.world.before
        return self._acting(row % self.shape[0], place, counter, backwards)

    def _acting(
        self, state: IntArray, place: IntArray, counter: IntArray | int, backwards: Predecessors
    ) -> tuple[IntArray, IntArray]:
        """Return the nodes from which an allowed action leads to arrivals, and to which of them."""
        if self.allowed is None:
            source, owner = backwards.of(place)
        else:
            move, owner = backwards.moves_to(place)
            source, action = np.divmod(move, self.world.actions)
            at = counter if isinstance(counter, int) else counter[owner]
            may = self.allowed[state[owner], source, action, at]
            source, owner = source[may], owner[may]
        at = counter if isinstance(counter, int) else counter[owner]
        return self.reading(state[owner], source, at), owner

    def one_step_before(self, nodes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return from where unrewarded steps may lead to some nodes; to which; and how long each is."""
        row, place, counter, landed = self._leading(nodes, self._unrewarded_before)
        if not self.all_kept:
            kept = np.flatnonzero(self.keeps(self.reading(row, place, counter)))
            row, place, landed = row[kept], place[kept], landed[kept]
            counter = counter if isinstance(counter, int) else counter[kept]
        state = row if len(self.happenings) == 1 else row % self.shape[0]
        length = 1.0 + self.extra[state, self.kind[place]] if self.has_extra_lengths else None
        if self.commitments:
            state, read = expand(*self._readers, state)
            place, landed = place[read], landed[read]
            counter = counter if isinstance(counter, int) else counter[read]
            length = None if length is None else length[read]
        sources, owner = self._acting(state, place, counter, self.world.before_any_outcome)
        return sources, landed[owner], np.ones(len(owner)) if length is None else length[owner]

    # Forwards.

    def gone_through(self, begun: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Return the nodes that anything may lead to from some, and the arrivals on the way.

        Nothing goes on where the mission is over, or the world.
        """
        _, places, counters = self.shape
        over = self._over | members(self.shape[0], self.machine.failure)
        outcomes = self.world.outcomes
        first, order = inverse(outcomes.pair // self.world.actions, places)
        leads = outcomes.place[order]
        met, arrived = begun.reshape(-1).copy(), np.zeros(self.size, np.bool_)
        nodes = np.flatnonzero(met)
        while len(nodes):
            nodes = nodes[~over[nodes // (places * counters)]]
            state, rest = np.divmod(nodes, places * counters)
            place, counter = np.divmod(rest, counters)
            reached, owner = expand(first, leads, place)
            arrivals = (state[owner] * places + reached) * counters + counter[owner]
            arrivals = distinct(arrivals[~arrived[arrivals]])
            arrived[arrivals] = True
            found = []
            for event in range(len(self.happenings)):
                read = [arrivals]
                for promising, ways in self.commitments:
                    some = arrivals[arrivals // (places * counters) == promising]
                    committed = [some + (way - promising) * places * counters for way in ways]
                    read += [each[self.keeps(event * self.size + each)] for each in committed]
                found += [self.lands(event * self.size + each) for each in read]
            nodes = distinct(np.concatenate(found))
            if self.world.ended is not None:
                ended = self.world.ended[nodes // counters % places]
                met[nodes[ended]] = True
                nodes = nodes[~ended]
            nodes = nodes[~met[nodes]]
            met[nodes] = True
        return met.reshape(self.shape), arrived.reshape(self.shape)

    def shown_labels(self) -> dict[int, set[frozenset[str]]]:
        """Return what can show in each machine state that any start leads to, without commitments."""
        begun: BoolArray = np.zeros(self.shape, np.bool_)
        begun[self.machine.initial, :, 0] = True
        nodes, arrivals = replace(self, commitments=()).gone_through(begun)
        return {
            state: {
                self.world.label_sets[index]
                for index in distinct(self.label_ids[arrivals[state]]).tolist()
            }
            for state in np.flatnonzero(nodes.any(axis=(1, 2))).tolist()
        }

    # All nodes at once, for plans that look at all actions of all nodes.

    def dense(self, event: int = 0) -> Dense:
        """Return what all readings under one choice of events do, as arrays."""
        return self._dense[event]

    @cached_property
    def _dense(self) -> tuple[Dense, ...]:
        if self.size > MAX_DENSE:
            raise _too_large(self.shape, MAX_DENSE)
        found = []
        for event in range(len(self.happenings)):
            readings = event * self.size + np.arange(self.size)
            found.append(
                Dense(
                    self.lands(readings).reshape(self.shape),
                    self.pays(readings).reshape(self.shape),
                    self.keeps(readings).reshape(self.shape),
                )
            )
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Dense:
    """What all readings do; arrays are indexed by [u, place, counter]."""

    lands: IntArray
    """The number of the node that it leads to."""
    reward: FloatArray
    kept: BoolArray


def _too_large(shape: tuple[int, int, int], most: int) -> SkmError:
    states, places, counters = shape
    # Counts multiply. Many of them mostly mean that labels depend on something that is not observed.
    remedy = (
        "labels that change with the visits are counted. Show what they depend on in the observation"
        if counters > 1
        else "make the cells larger"
    )
    return SkmError(
        f"planning would take {states:,} machine states × {places:,} places × {counters:,} visit counts,"
        f" more than {most:,} in all: {remedy}, or use planner 'paper'"
    )


def mission_product(
    machine: RewardMachine,
    world: FiniteWorld,
    happenings: Sequence[frozenset[str]] = (frozenset(),),
    *,
    always_paid: bool = False,
) -> Product:
    """Build the product, under each choice of events that may be `happening`.

    `always_paid` makes a success count again in each step that follows it: then a mission with an end is
    a recurrence, and the best lasso is the shortest way to it.
    """
    read = [labels | events for events in happenings for labels in world.label_sets]
    flat_target, flat_reward = machine_table(machine, read)
    if always_paid:
        flat_reward[sorted(machine.terminal - machine.failure)] = 1.0
    shape = machine.num_states, len(happenings), len(world.label_sets)
    target = np.ascontiguousarray(flat_target.reshape(shape).swapaxes(0, 1))
    reward = np.ascontiguousarray(flat_reward.reshape(shape).swapaxes(0, 1))
    counted = {
        place: shown
        for place, shown in world.visits.items()
        if len(shown) > 1 and _differ(target, reward, list(set(shown)))
    }
    sizes = [len(shown) for shown in counted.values()]
    counters = math.prod(sizes)
    # Before anything of that size is made.
    size = machine.num_states, world.states, counters
    if math.prod(size) > MAX_NODES:
        raise _too_large(size, MAX_NODES)
    visits = np.array(np.unravel_index(np.arange(counters), sizes or (1,)))
    label_ids = np.repeat(world.label_ids[:, None], counters, axis=1)
    counter_after = np.tile(np.arange(counters), (world.states, 1))
    for index, (place, shown) in enumerate(counted.items()):
        label_ids[place] = np.array(shown)[visits[index]]
        more = visits.copy()
        more[index] = np.minimum(more[index] + 1, sizes[index] - 1)
        counter_after[place] = np.ravel_multi_index(tuple(more), sizes)
    extra, kind = _extra_lengths(machine, world, target[0])
    allowed = None
    if world.tried is not None:
        dense = machine.num_states, *world.tried.shape, counters
        allowed = np.broadcast_to(world.tried[None, :, :, None], dense)
    commitments = tuple(
        (u, ways) for u in range(machine.num_states) if (ways := machine.commitments(u))
    )
    return Product(
        machine,
        world,
        tuple(happenings),
        target,
        reward,
        label_ids,
        counter_after,
        extra,
        kind,
        allowed,
        commitments=commitments,
    )


def _differ(target: IntArray, reward: FloatArray, labels: list[int]) -> bool:
    """Tell whether the machine can tell some label sets apart, in some state."""
    return any((table[:, :, labels] != table[:, :, labels[:1]]).any() for table in (target, reward))


def _extra_lengths(
    machine: RewardMachine, world: FiniteWorld, target: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return `[machine state, kind]`, how many steps more entering a place counts; and places' kinds.

    A place that comes close to a constraint (`FiniteWorld.near`) is a risk in a machine state in which
    showing that constraint would fail the mission.
    """
    if world.near is None or not world.near.any():
        return np.zeros((machine.num_states, 1)), np.zeros(world.states, np.int64)
    pairs, kind = np.unique(
        np.stack([world.label_ids, world.near], axis=1), axis=0, return_inverse=True
    )
    strayed: list[list[frozenset[str]]] = []
    for label, bits in pairs.tolist():
        shown = world.label_sets[label]
        close = frozenset(name for i, name in enumerate(world.constraints) if bits >> i & 1)
        strayed.append([shown | {name} for name in close] + [shown | close] if close else [])
    rows = [machine_table(machine, some)[0] for some in strayed]
    failure = members(machine.num_states, machine.failure)
    running = ~(failure | members(machine.num_states, machine.terminal))
    extra = np.zeros((machine.num_states, len(pairs)))
    for index, (label, _) in enumerate(pairs.tolist()):
        risky = failure[rows[index]].any(axis=1) & ~failure[target[:, label]] & running
        extra[risky, index] = RISK_STEPS
    return extra, kind.reshape(-1)
