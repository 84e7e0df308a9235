"""A finite world: what each action may lead to and how likely, what is shown where, where it ends.

One type serves all finite worlds: the true one of a domain (`TabularModel.world`,
`skm_sim.exploration`), the places that were learned with their visits, and the cells of a map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Chances:
    """The outcomes of actions that are stochastic, by `pair` = state × actions + action, in order."""

    pair: IntArray
    place: IntArray
    """The state that the outcome leads to."""
    chance: FloatArray
    """How likely that is; those of a pair add up to 1. Learned ones are in single precision, so that
    they can be sent as they are."""

    @classmethod
    def counted(cls, counts: IntArray) -> Chances:
        """Return the chances from `counts[state, action, state]`; what was never tried leads nowhere."""
        states, actions, _ = counts.shape
        tried = counts.sum(axis=2)
        here, action = np.nonzero(tried == 0)
        known = counts.copy()
        known[here, action, here] = 1
        pair, place = np.nonzero(known.reshape(states * actions, -1))
        total = np.maximum(tried, 1).reshape(-1)[pair]
        share = known.reshape(states * actions, -1)[pair, place] / total
        return cls(pair, place, share.astype(np.float32).astype(np.float64))

    @classmethod
    def of_table(cls, table: Float32Array) -> Chances:
        """Return the chances of a table `[state, action, state]`, as `table` makes it."""
        rows = table.reshape(-1, table.shape[2])
        pair, place = np.nonzero(rows)
        return cls(pair, place, rows[pair, place].astype(np.float64))

    def table(self, states: int, actions: int) -> Float32Array:
        """Return `[state, action, state]`: how likely each action leads to each state."""
        table: Float32Array = np.zeros((states * actions, states), np.float32)
        table[self.pair, self.place] = self.chance
        return table.reshape(states, actions, states)

    @cached_property
    def _first(self) -> IntArray:
        """Where the outcomes of each pair begin."""
        first: IntArray = np.searchsorted(self.pair, np.arange(self.pair[-1] + 1))
        return first

    def expected(self, arriving: FloatArray) -> FloatArray:
        """Return `[u, state, action, …]`: the mean of `arriving[u, state, …]` over what follows."""
        weights = self.chance.reshape(-1, *(1,) * (arriving.ndim - 2))
        mean = np.add.reduceat(arriving[:, self.place] * weights, self._first, axis=1)
        shaped: FloatArray = mean.reshape(len(arriving), arriving.shape[1], -1, *arriving.shape[2:])
        return shaped

    def log_expected(self, arriving: FloatArray) -> FloatArray:
        """Return the same of logarithms: no mean is too small for a number."""
        chance = np.log(self.chance).reshape(-1, *(1,) * (arriving.ndim - 2))
        mean = np.logaddexp.reduceat(arriving[:, self.place] + chance, self._first, axis=1)
        shaped: FloatArray = mean.reshape(len(arriving), arriving.shape[1], -1, *arriving.shape[2:])
        return shaped


@dataclass(frozen=True, eq=False)
class FiniteWorld:
    """States `0 … n − 1` with what they show, and where actions lead; a planner needs no more."""

    successors: IntArray
    """`[state, action]`: the state that it leads to (the likeliest, where there are several); the same
    state where that is not known."""
    label_sets: tuple[frozenset[str], ...]
    label_ids: IntArray
    """`[state]`: the index in `label_sets` of what is shown there, at the first visit of an episode."""
    visits: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Of states that show something else from one visit to the next, what they show at the k-th; the
    last holds from then on."""
    state_of: Mapping[int, int] | None = None
    """The state in which an episode begins that starts with an observation; None: what is observed is
    the number of the state."""
    chances: Chances | None = None
    """Where actions lead to several states: to which, how often. None in a deterministic world."""
    tried: BoolArray | None = None
    """`[state, action]`: whether it is known where the action leads; None: everywhere."""
    ended: BoolArray | None = None
    """`[state]`: whether the world ends on arriving there (a run may begin there all the same); None: it
    ends nowhere."""
    constraints: tuple[str, ...] = ()
    near: IntArray | None = None
    """`[state]`: bits over `constraints` that it does not show but comes close to; None: none."""
    goal_probability: Float32Array | None = None
    """For each goal of the skills that know this world, the chance that arriving at its place shows its
    labels (1 as a rule); None where goals are label sets."""
    goal_values: Float32Array | None = None
    """`[g, h]`: the value of goal h at the place of goal g; None where it is not known."""
    exact: bool = True
    """Whether the chances are those of the world, not estimates."""

    @classmethod
    def showing(
        cls,
        places: Sequence[int],
        successors: IntArray,
        visit_labels: Mapping[int, Sequence[frozenset[str]]],
        **fields: Any,  # noqa: ANN401 - the other fields
    ) -> FiniteWorld:
        """Return a world from what is observed in each state, and what that shows at each visit."""
        numbers: dict[frozenset[str], int] = {}
        shown = [
            tuple(numbers.setdefault(labels, len(numbers)) for labels in visit_labels[place])
            for place in places
        ]
        number = {place: state for state, place in enumerate(places)}
        return cls(
            successors,
            tuple(numbers),
            np.array([row[0] for row in shown], np.int64),
            {state: row for state, row in enumerate(shown) if len(row) > 1},
            {place: number[place] for place in visit_labels},
            **fields,
        )

    @classmethod
    def any_order(cls, label_sets: Sequence[frozenset[str]]) -> FiniteWorld:
        """Return the world of who can show any of some label sets next: a state for each of them."""
        count = len(label_sets)
        return cls(np.tile(np.arange(count), (count, 1)), tuple(label_sets), np.arange(count))

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.label_ids)

    @property
    def actions(self) -> int:
        """The number of actions."""
        return int(self.successors.shape[1])

    @cached_property
    def deterministic(self) -> bool:
        """Whether every action has one outcome."""
        return self.chances is None or bool((np.diff(self.chances.pair) > 0).all())

    def state(self, observation: int, unknown: int = -1) -> int:
        """Return the state in which an episode begins that starts with an observation; or `unknown`."""
        if self.state_of is not None:
            return self.state_of.get(observation, unknown)
        return observation if 0 <= observation < self.states else unknown

    @cached_property
    def visit_labels(self) -> dict[int, tuple[frozenset[str], ...]]:
        """By what is observed: the labels at the k-th visit of an episode."""
        numbers = enumerate(range(self.states)) if self.state_of is None else self.state_of.items()
        return {
            observed: tuple(self.label_sets[index] for index in self.shown(state))
            for observed, state in numbers
        }

    def shown(self, state: int) -> tuple[int, ...]:
        """Return the label sets that a state shows at its first visit, its second, …"""
        return self.visits.get(state, (int(self.label_ids[state]),))

    @property
    def present(self) -> list[frozenset[str]]:
        """The label sets that some state shows."""
        found = set(self.label_ids.tolist()).union(*self.visits.values())
        return [self.label_sets[index] for index in sorted(found)]

    @cached_property
    def outcomes(self) -> Chances:
        """All that can follow on an action of which that is known."""
        known = self.chances
        if known is None:
            pair = np.arange(self.successors.size)
            known = Chances(pair, self.successors.reshape(-1), np.ones(len(pair)))
        if self.tried is None:
            return known
        there = self.tried.reshape(-1)[known.pair]
        return Chances(known.pair[there], known.place[there], known.chance[there])

    @cached_property
    def before(self) -> Predecessors:
        """Which actions lead where as a rule, backwards."""
        return Predecessors(self.successors)

    @cached_property
    def before_any_outcome(self) -> Predecessors:
        """Which actions may lead where, backwards."""
        if self.chances is None:
            return self.before
        return Predecessors(self.successors, (self.chances.pair, self.chances.place))


class Predecessors:
    """The moves `state × actions + action` that lead to each state: one array, a slice for each."""

    def __init__(
        self, successors: IntArray, moves: tuple[IntArray, IntArray] | None = None
    ) -> None:
        """`successors[state, action]`; or `moves` and the state that each of them leads to.

        Where actions are stochastic, a move has several entries: one for each state that it may lead to.
        """
        states, self._actions = successors.shape
        pairs = np.arange(successors.size)
        target = successors.reshape(-1)
        if moves is not None:
            pairs, target = moves
        self._first, order = inverse(target, states)
        self._moves: IntArray = pairs[order]

    def of(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """Return the predecessors of some states, and for each of them the index of its state there."""
        moves, owner = self.moves_to(states)
        return moves // self._actions, owner

    def moves_to(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """Return the moves that lead to some states, and for each the index of its state there."""
        return expand(self._first, self._moves, states)


def inverse(targets: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return which entries lead to each target: where its slice begins, and all slices."""
    order = np.argsort(targets, kind="stable")
    counts = np.bincount(targets, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]), order


def expand(first: IntArray, values: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the slices `values[first[r]:first[r + 1]]` of some rows, joined; and whose each is."""
    counts = first[rows + 1] - first[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    before = np.cumsum(counts) - counts
    inside = np.arange(len(owner)) - before[owner]
    return values[first[rows][owner] + inside], owner
